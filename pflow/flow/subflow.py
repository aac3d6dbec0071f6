"""Flows found by name: as nodes of other flows, with their inputs as reads, or as the argument of a command."""

from __future__ import annotations

import os
import sys
from copy import copy

from pflow import Any, Iterator, Sequence
from pflow.catalog.find import FLOW, Catalog, NodeType, find_type
from pflow.catalog.node_type import node_in
from pflow.catalog.packs import pack_of
from pflow.catalog.registry import flow_file, is_flow_type, own_flow, pack_flow, saved_flow, saved_flows
from pflow.errors import BAD_DATA, MISSING, NOT_FOUND, USAGE, PflowError, result_of
from pflow.flow.expressions import path_text
from pflow.flow.findings import refuse_errors
from pflow.flow.flow import INLINE, ITEM, FlowInput, FlowSpec, ItemNames, item_reader
from pflow.flow.load import load_file, load_text, read_text
from pflow.flow.pipe.carry import carried_out, endings
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import AS_IT_IS, FORMS, UNDECLARED, Field, Interface, spell_flag
from pflow.terminal.messages import say
from pflow.text.naming import guess
from pflow.values.types import Type

_CALLS, _CALLS_A_LEVEL = 1_000, 60
"""Python's own recursion limit, and what each nested flow needs beyond it, to be loaded and to run."""

CARRIED = "carried"
"""The mark of the additional write of a flow as a node: the value that the pipe carries at the end of the flow."""


class FlowCatalog(Catalog):
    """Finds nodes, saved flows (`flow:NAME`) and files of flows. A flow is loaded once, when it is first asked for.

    `loading` has the files of the flows around this one, which are still being loaded.
    """

    def __init__(self, directory: str = ".", loading: tuple[str, ...] = ()) -> None:
        super().__init__(directory)
        self.loading = loading
        self.node_types: dict[Any, NodeType] = {}

    def at(self, directory: str, *inner: str) -> FlowCatalog:
        catalog = copy(self)
        catalog.directory, catalog.loading = directory, (*self.loading, *inner)
        return catalog

    def find(self, type: str) -> NodeType | None:
        if not is_flow_type(type):
            return find_type(type)
        may_be_file = self.opens_files or bool(self.loading)
        file = flow_file(type, self.directory) if type.startswith("flow:") or may_be_file else None
        if file is None or not (type.startswith("flow:") or self._may_name(file)):
            return None
        if file in self.loading:  # the flow contains itself: `load` refuses it and names all files on the way
            return FlowType(type, file, self)
        if (type, file) not in self.node_types:
            self.node_types[type, file] = node_in(file) or FlowType(type, file, self)
        return self.node_types[type, file]

    def _may_name(self, file: str) -> bool:
        """Return False for a file outside the pack of the flow that names it: no user saw it at the install."""
        folder = os.path.abspath(self.directory)
        pack = pack_of(os.path.join(folder, ""))
        return pack is None or pack_of(file) is pack

    def inline(self, flow: FlowSpec, items: tuple[str, ...]) -> NodeType:
        if (flow, items) not in self.node_types:
            flow.catalog, flow.item_names = self, items
            self.node_types[flow, items] = node_type = FlowType(INLINE, "", self)
            node_type.spec = flow
        return self.node_types[flow, items]

    def load(self, file: str) -> WiredFlow:
        """Load and wire the flow in a file. Raises PflowError (65) if it has no flow, or one that contains itself."""
        from pflow.flow.wiring import wire

        if file in self.loading:
            way = " → ".join(map(os.path.basename, [*self.loading[self.loading.index(file) :], file]))
            raise PflowError(f"cannot load the flow '{file}': it contains itself: {way}", exit=BAD_DATA)
        inner = self.at(os.path.dirname(file), file)
        flow = wire(load_file(file, inner).usable())
        for wired in flow.steps.values():
            if wired.fault:
                raise PflowError(f"cannot load the flow '{file}': {wired.id}: {wired.fault}", exit=BAD_DATA)
        return flow


class FlowType(NodeType):
    """A flow as a node type. It comes from a file, or from its `spec` inside a step, and is wired when first used."""

    def __init__(self, type: str, file: str, catalog: FlowCatalog) -> None:
        super().__init__(type, FLOW, file)
        self.spec: FlowSpec | None = None
        self._catalog = catalog
        self._flow: WiredFlow | None = None

    @property
    def flow(self) -> WiredFlow:
        """The wired flow. Raises PflowError (65) if the file has no flow, or one that contains itself."""
        # Loading a flow loads the flows inside it, and running it runs them, one inside the other.
        levels = len(self._catalog.loading) + len((self.spec and self.spec.item_names) or ("",))
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS + _CALLS_A_LEVEL * levels))
        if self._flow is None and self.spec is not None:
            from pflow.flow.wiring import wire

            self._flow = flow = wire(self.spec)
            written = {write.key: write.target for id in flow.order for write in flow.writes[id] if write.field}
            is_chain = all([*next] in ([], ["default"]) for next in flow.graph.next.values())
            if is_chain and not self.spec.outputs and any(len(place) > 1 for place in written.values()):
                # With these outputs, a name means outside what it means inside: its latest write, even a moved one.
                spec = copy(self.spec)
                spec.outputs = {key: path_text(place) for key, place in written.items()}
                self._flow = wire(spec)
        elif self._flow is None:
            self._flow = self._catalog.load(self.file)
        return self._flow

    def _read_interface(self) -> Interface:
        return interface_of_flow(self.flow)

    def parts(self) -> list[NodeType]:
        return list(dict.fromkeys(wired.node_type for wired in self.flow.steps.values() if wired.node_type))

    def help_interface(self) -> Interface:
        told = copy(self.interface)
        told.reads = {**told.reads}
        for name, given in self.flow.inputs.items():
            default = self.flow.default_of(given)
            facts = {} if default is UNDECLARED else {"default": default}
            told.reads[name] = told.reads[name].but(typed=given.flag, **facts)
        return told


def interface_of_flow(flow: WiredFlow) -> Interface:
    """Make the interface that a flow has as a node."""
    interface = Interface()
    interface.open = has_open_steps(flow) and not (flow.flow.inputs and flow.flow.outputs)
    interface.summary = flow.flow.description
    first = flow.steps.get(flow.graph.first or "")
    reader = item_reader(first.interface) if first else None
    if first and reader and first.step.fills(reader.name):  # a read with a value takes no item
        reader = None
    for given in [*flow.inputs.values(), *_stdin_of(flow)]:
        field = given.as_field()
        field.type = flow.help_type(given)
        if given.has_default:  # PF13 reports a default that does not fit
            field.default = result_of(given.fitted, given.default, "", of=PflowError, otherwise=given.default)
        marks = {"pipe": given.pipe or flow.first_read in given.readers, "explicit": given.step is not None}
        marks["own"] = given.name == "stdin"
        takers = [flow.steps[id].interface.reads.get(key) for id, key in given.readers]
        marks["verbatim"] = any(taker is not None and taker.marks >= {"explicit", "verbatim"} for taker in takers)
        types = {str(taker.type) for taker in takers if taker is not None}
        marks[AS_IT_IS] = not given.declared and len(types) > 1  # each reader converts it to its own type
        marks[ITEM] = bool(first and reader and not marks["pipe"] and (first.id, reader.name) in given.readers)
        field.marks |= {mark for mark, is_so in marks.items() if is_so}
        is_named = given.flag == spell_flag(given.name)  # then help shows no other flag, nor does an outer flow's
        field.flags = [] if is_named else [flag for flag in given.flags if flag != given.name]
        interface.reads[given.name] = field
    for name, type in _outputs(flow).items():
        interface.writes[name] = Field("write", name, type)
    _mark_carried(flow, interface)
    ends = (action for id in flow.order for action in endings(flow, id))
    interface.actions = tuple(dict.fromkeys(["default", *ends]))
    interface.effects = tuple(dict.fromkeys(each for wired in flow.steps.values() for each in wired.interface.effects))
    interface.repeats = "yes" if all(map(repeats, flow.steps.values())) else "no"
    for wired in (each for each in flow.steps.values() if each.node_type is None or each.node_type.origin != FLOW):
        for name, field in wired.interface.params.items():
            kept, key = field.marks & {"secret", "verbatim", *FORMS}, f"{wired.id}.{name}"
            interface.params[key] = Field("param", key, field.type, doc=field.doc, default=None, marks=kept)
    return interface


def _stdin_of(flow: WiredFlow) -> Iterator[FlowInput]:
    """Yield an input for the paths to `stdin`. The pipe gives it only if the flow begins with a batch over `stdin`."""
    named = [each for each in flow.references if each.input == "stdin"]
    if named and "stdin" not in flow.inputs:
        given = FlowInput("stdin", ("stdin",), Type("any"), doc="the data from the pipe", pipe=flow.runs_over_pipe)
        given.required = any(each.expression.is_template or len(each.expression.paths) == 1 for each in named)
        given.secret = any(each.step in flow.steps and flow.steps[each.step].is_secret(each.key) for each in named)
        yield given


def repeats(wired: WiredStep) -> bool:
    """Return True if a step that was cut short may run again unasked. A flow may if each of its steps may."""
    if wired.subflow is not None:
        return wired.interface.repeats == "yes"
    return wired.may_repeat({**wired.interface.defaults(), **wired.step.params})


def has_open_steps(flow: WiredFlow) -> bool:
    return any(wired.interface.open for wired in flow.steps.values())


def _mark_carried(flow: WiredFlow, interface: Interface) -> None:
    """Mark the write that the pipe carries when the flow runs alone; if there is not exactly one, add `output`."""
    places, writes = set(map(flow.place_outside, carried_out(flow))), interface.writes
    if places <= {None}:
        return
    key = next((key for key in writes if places == {(key,)}), "")
    if not key:
        key = "output"
        while key in writes or key in interface.reads:
            key += "_of_flow"
        writes[key] = Field("write", key, Type("any"), doc="what it carries at its end", marks={CARRIED})
    writes[key].marks.add("pipe")


def _outputs(flow: WiredFlow) -> dict[str, Type]:
    """Return the types of a flow's outputs, or of all keys at the top of its store if it declares none."""
    if flow.flow.outputs:
        return {name: flow.output_type(name) for name in flow.flow.outputs}
    roots: dict[str, Type] = {}
    for id in flow.steps:
        for write in [write for write in flow.writes[id] if write.field]:
            roots[str(write.target[0])] = flow.write_type(write) if len(write.target) == 1 else Type("dict")
    return roots


def load_named(words: Sequence[str], *, is_run_here: bool = False, item_names: ItemNames | None = None) -> FlowSpec:
    """Load the flow that words name: `-` (stdin), a file, a saved flow or pipe syntax. Raises PflowError (2, 65, 66).

    Pipe syntax may use the names in `item_names`, as FlowSpec has them.
    """
    if not words:
        raise PflowError("cannot load a flow: none is named", hint="a file, a saved flow or 'a => b'", exit=USAGE)
    word = words[0]
    if is_stdin(words):
        return load_text(read_text(0, "the flow on stdin"), "stdin", FlowCatalog())
    if len(words) == 1 and (source := python_source(word)):
        from pflow.flow.load import load_python

        return load_python(*source, FlowCatalog(), is_run_here=is_run_here)
    file = find_file(word) if len(words) == 1 else None
    if file and node_in(file) is None:
        return load_file(file, FlowCatalog())
    from pflow.flow.pipe.read import parse_pipe
    from pflow.flow.pipe.scan import is_pipe

    looks_like_file = " " not in word and (word.endswith(".json") or "/" in word)
    if len(words) == 1 and looks_like_file and not file and not is_pipe(words):
        raise PflowError(f"cannot find the flow '{word}': no such file", exit=MISSING)
    return parse_pipe(words, FlowCatalog(), item_names)


def python_source(word: str) -> tuple[str, str] | None:
    """Split FILE.py or FILE.py:NAME into the file and the name, which may be empty; None for any other word."""
    file, _, name = word.rpartition(":") if ".py:" in word else (word, "", "")
    is_python = file.endswith(".py") and (name.isidentifier() or file == word) and FlowCatalog.opens_files
    return (file, name) if is_python and (not set(word) & set(" \t\n") or os.path.isfile(file)) else None


def is_stdin(words: Sequence[str]) -> bool:
    """Return True if a command's words name stdin as its flow."""
    return len(words) == 1 and words[0] in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def is_one_step(words: Sequence[str]) -> bool:
    """Return True if the words are a node and its flags: pipe syntax of one step, as a shell splits it."""
    if len(words) < 2 or set(words[0]) & set(" \t\n") or find_file(words[0]):
        return False
    from pflow.flow.pipe.scan import names_node

    return names_node(words[0])


def find_file(word: str) -> str | None:
    """Return the file of the flow that a word names: that of a saved flow, or the word itself.

    A word that is the name of a node or a saved flow never means a file here, as `./NAME` does.
    """
    if word.startswith("flow:") and not set(word) & set(" \t\n"):
        file = saved_flow(word.removeprefix("flow:"))
        if file is None:
            raise no_saved_flow(word.removeprefix("flow:"))
        return file
    if python_source(word):
        return None
    is_text = "\n" in word and not word.startswith(("/", "./", "../"))
    is_file = not is_text and FlowCatalog.opens_files and os.path.exists(word) and not os.path.isdir(word)
    if is_file and ("/" in word or word.endswith(".json")):  # bash turns `<(…)` into /dev/fd/63
        return word
    if (own := own_flow(word)) or find_type(word):  # no installed pack may take a name from a node or an own flow
        return own
    return pack_flow(word) or (word if is_file else None)


def no_saved_flow(name: str) -> PflowError:
    """Return the error (127) for a name that no saved flow has; it suggests the nearest names."""
    hint = guess(name, saved_flows(), "pflow list lists them", 2)
    return PflowError(f"cannot find the saved flow '{name}'", hint=hint, exit=NOT_FOUND)


MOST_WARNINGS = 5


def load_usable(words: list[str]) -> FlowSpec:
    """Load the flow that words name, for a command that runs it. Raises PflowError (65) for parts of a wrong shape."""
    if not words:
        hint = "pflow run FLOW.pflow.json, or pflow run 'a => b'"
        raise PflowError("cannot run: the flow is missing", hint=hint, exit=USAGE)
    flow = load_named(words, is_run_here=True)
    if words == [flow.file]:
        flow.name = flow.name or os.path.basename(flow.file).removesuffix(".json").removesuffix(".pflow")
    refuse_errors(flow.findings)
    return flow


def wire_and_check(flow: FlowSpec, act: str = "run", *, opens_files: bool = True) -> WiredFlow:
    """Wire and check a flow; print warnings that a run does not print. Raises PflowError (65) for errors."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    wired = wire(flow)
    wired.opens_files = opens_files and act in ("run", "map")
    findings = check(wired)
    refuse_errors(findings, act)
    is_pocketflow = all(step.made is not None for step in flow.steps)
    said_now = [str(finding) for finding in findings if act != "run" or not (is_pocketflow or finding.is_said_by_run)]
    warnings = [*(f"warning: {warning}" for warning in flow.warnings), *said_now]
    for warning in warnings[:MOST_WARNINGS]:
        say(f"pflow {act}", warning)
    if len(warnings) > MOST_WARNINGS:
        say(f"pflow {act}", f"{len(warnings) - MOST_WARNINGS:,} more warnings: pflow check lists them")
    return wired
