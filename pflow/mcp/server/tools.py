"""The server's tools: pflow's own six, and one for each offered node and saved flow, listed again when files change."""

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Annotated, Any

import mcp_types as types
import pydantic
from pydantic import BaseModel, ConfigDict, WithJsonSchema

from pflow.catalog.find import NodeType, forget_types, list_types, own_places
from pflow.catalog.lines import entry, find
from pflow.catalog.packs import lock_file
from pflow.catalog.registry import data_directory, saved_flows
from pflow.errors import NOT_FOUND, PflowError, result_of
from pflow.explain.pipe_form import pipe_of
from pflow.files.reading import file_state
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.subflow import CARRIED, FlowCatalog, FlowType, has_open_steps
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.interface.interface import COMMANDS, Field
from pflow.interface.source import in_words
from pflow.mcp.schema import ANYTHING, NO_LIST, input_schema, output_schema
from pflow.record.runs import find_run
from pflow.record.trace import trace_of_run
from pflow.record.trace_formats import public_members
from pflow.saved_flows.nearest import SearchTarget, nearest_by_words
from pflow.text.naming import guess
from pflow.values.paths import Path, are_nested

_GOOD_NAME = re.compile("[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class OfferedTool:
    """A node or a saved flow as a tool. `label` is its name in pflow, `tool` what a client sees, `flow` the wired flow.

    `inputs` are the reads and params that a client may set, `writes` the writes that it gets. None is a secret.
    """

    def __init__(self, node_type: NodeType, taken: Container[str]) -> None:
        """Raises PflowError if the node or flow cannot be a tool; the message is only the reason."""
        interface = node_type.help_interface()
        self.node_type, self.label = node_type, node_type.name
        self.flow = node_type.flow if isinstance(node_type, FlowType) else None
        if fault := next(_faults(node_type, self.flow), ""):
            raise PflowError(fault)
        reads = {**interface.params, **interface.reads}  # as in a stage, a read precedes a param of its name
        self.inputs = {name: field for name, field in reads.items() if not self._is_withheld(field)}
        secrets = _secrets_of(node_type)
        writes = {name: field for name, field in interface.writes.items() if CARRIED not in field.marks}
        self.writes = {name: field for name, field in writes.items() if name not in secrets}
        self.effects = ["anything"] if self.flow and has_open_steps(self.flow) else list(interface.effects)
        self.hints = _hints(self.effects, repeats=interface.repeats == "yes")
        text = "\n\n".join(filter(None, (interface.summary, interface.description)))
        self.description = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
        title = self.label.removeprefix("flow:")
        self.tool = types.Tool(
            name=_tool_name(self.label, taken),
            title=title,
            description=self.description,
            input_schema=input_schema(self.inputs, NO_LIST),
            output_schema=output_schema(self.writes.values(), ANYTHING),
            annotations=types.ToolAnnotations(title=title, **self.hints),
        )

    def _is_withheld(self, field: Field) -> bool:
        """Return True for items that a client must not set: secrets, and the commands of a saved flow."""
        names_command = field.kind == "param" and field.name.rpartition(".")[2] in COMMANDS
        return field.is_secret or (names_command and self.flow is not None)

    @property
    def is_read_only(self) -> bool:
        return self.hints["read_only_hint"]


def _tool_name(label: str, taken: Container[str]) -> str:
    """Return the name of a tool: NAME, or flow_NAME for a flow if a node has that name. Raises PflowError."""
    for name in (label.removeprefix("flow:"), label.replace(":", "_", 1)):
        if _GOOD_NAME.fullmatch(name) and name not in taken:
            return name
    raise PflowError("a tool's name has letters, digits, - and _, 64 at most, and belongs to one tool")


def _faults(node_type: NodeType, flow: WiredFlow | None) -> Iterator[str]:
    interface = node_type.interface
    if fault := interface.fault or node_type.class_fault or node_type.interpreter_fault:
        yield fault
    if flow is None and interface.open:
        yield "it declares no interface"
    if flow:
        yield from (f"there is no node '{step.step.type}'" for step in flow.steps.values() if step.node_type is None)
        if interface.open:
            yield "it has steps without an interface, and does not declare its inputs and outputs"
    for field in interface.reads.values():
        if field.is_secret and field.required:
            yield f"'{field.name}' is a secret, which clients must not give"


def _hints(effects: list[str], *, repeats: bool) -> dict[str, bool]:
    """Return MCP's annotations. A tool that only uses the network is not read-only, but has no destructive hint.

    A tool that uses the network is not idempotent: a node finds its earlier work, such as a comment on GitHub, by its
    step's key, which does not last from one call to the next.
    """
    changes = bool({"writes files", "runs commands", "anything"} & {*effects})
    uses_network = bool({"network", "anything"} & {*effects})
    hints = {"read_only_hint": not changes and not uses_network, "destructive_hint": changes}
    if uses_network and not changes:
        del hints["destructive_hint"]
    return {**hints, "idempotent_hint": repeats and not uses_network, "open_world_hint": uses_network}


def _secrets_of(node_type: NodeType) -> set[str]:
    """Return the names of secret writes; for a flow, of its outputs, or of keys of its store if it has no outputs."""
    if not isinstance(node_type, FlowType):
        return node_type.interface.secret_writes
    places = list(_secret_places(node_type.flow))
    if not node_type.flow.outputs:
        return {str(place[0]) for place in places}
    return {
        name
        for name, source in node_type.flow.outputs.items()
        if any(are_nested(path, place) for path in source.paths for place in places)
    }


def _secret_places(flow: WiredFlow) -> Iterator[Path]:
    for step in flow.steps.values():
        if step.node_type is not None:
            yield from (step.place_of(key) for key in _secrets_of(step.node_type))
    yield from (declared.path for declared in flow.inputs.values() if declared.secret)


State = dict[str, tuple[int, ...] | None]
"""Files and directories, each with numbers that change when it changes."""


class OfferedTools:
    """The nodes and saved flows that are offered as tools.

    By default they are the saved flows and the nodes that only read; names in `only` replace these. `is_all` also
    offers nodes that change things, `read_only` leaves out nodes and flows that do. `say` gets a line for each one that
    cannot be offered. `reserved` are the names of pflow's own tools.
    """

    def __init__(
        self,
        only: Sequence[str],
        *,
        is_all: bool,
        read_only: bool,
        reserved: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        """Raises PflowError (127) for an unknown name."""
        self.only = {_label(name) for name in only if name not in reserved} if only else None
        self.is_all = is_all
        self.read_only = read_only
        self.reserved = reserved
        self.say = say
        self._tools: dict[str, OfferedTool] = {}
        self._listed: State = {}
        self._said: set[str] = set()

    def tools(self) -> dict[str, OfferedTool]:
        """Return every offered tool by its name; read them again if a file has changed."""
        if (state := state_of_files()) != self._listed:
            forget_types()
            self._tools = {}
            catalog = FlowCatalog()
            flows = filter(None, [catalog.find(f"flow:{name}") for name in saved_flows()])
            for node_type in [*list_types(), *flows]:
                if self.only is None or node_type.name in self.only:
                    self._offer(node_type)
            self._listed = state
        return self._tools

    def _offer(self, node_type: NodeType) -> None:
        try:
            offered = OfferedTool(node_type, {*self.reserved, *self._tools})
        except (PflowError, OSError, ValueError, RecursionError, MemoryError) as error:
            why = error.message if isinstance(error, PflowError) else in_words(error)
            line = f"'{node_type.name}' is not offered: {why}"
            if line not in self._said:
                self._said.add(line)
                self.say(line)
            return
        is_chosen = self.is_all or self.only is not None or offered.flow is not None
        if offered.is_read_only or (is_chosen and not self.read_only):
            self._tools[offered.tool.name] = offered

    def find(self, name: str) -> OfferedTool:
        """Find a tool by its name or by its name in pflow. Raises PflowError (127) with the nearest names."""
        tools = {each.label.removeprefix("flow:"): each for each in self.tools().values()}
        tools |= {each.label: each for each in self.tools().values()} | self.tools()
        if name in tools:
            return tools[name]
        hint = guess(name, tools, "pflow_list lists all of them", 2)
        raise PflowError(f"cannot find '{name}': no such node or saved flow here", hint=hint, exit=NOT_FOUND)


def _label(name: str) -> str:
    """Return the label of the node or saved flow that a person names. Raises PflowError (127) for an unknown name."""
    if "/" in name:
        hint = "--only takes the names of nodes and saved flows"
        raise PflowError(f"cannot offer '{name}': it is a path", hint=hint, exit=NOT_FOUND)
    return find(name, FlowCatalog()).name


def state_of_files() -> State:
    """Return the state of the files that the tools depend on: a user's nodes, saved flows, packs, PATH."""
    folders = [*own_places(), data_directory("flows") or "."]
    listable = [folder for folder in folders if os.access(folder, os.R_OK) and os.path.isdir(folder)]
    paths = [os.path.join(folder, name) for folder in listable for name in os.listdir(folder)]
    places = [lock_file() or ".", *os.environ.get("PATH", "").split(os.pathsep)]
    return {path: file_state(path) for path in [*paths, *places]}


LIST, DESCRIBE, CHECK = "pflow_list", "pflow_describe", "pflow_check"
PLAN, RUN, TRACE = "pflow_plan", "pflow_run", "pflow_trace"
_NAME = pydantic.Field(
    min_length=1, max_length=300, description="the name of a node or a saved flow, as pflow_list has it"
)

_Object = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
"""An object without pydantic's `additionalProperties`, since clients that make schemas strict refuse a tool with it."""


class _Arguments(BaseModel):
    """The arguments of a tool; each docstring is the tool's description."""

    model_config = ConfigDict(extra="forbid")


class _List(_Arguments):
    """List the nodes and saved flows that can be run, each with its purpose and effects."""

    search: str = pydantic.Field("", max_length=1_000, description="only those about these words, best first")


class _Describe(_Arguments):
    """Describe what a node or a saved flow reads, writes, takes and touches; for a flow, its steps too."""

    name: str = _NAME


class _Check(_Arguments):
    """Check a flow against pflow's rules. It is neither run nor saved, and no file that it names is opened."""

    flow: str | _Object = pydantic.Field(
        description="pipe syntax, as `read-file --path=a.txt => llm --prompt='Sum up'`; or the flow's JSON"
    )


class _Plan(_Arguments):
    """Make a flow of a sentence, with the model that pflow is set up with, or of pipe syntax without one.

    The flow comes back as JSON (`ir`) and as pipe syntax (`pipe`). It is neither run nor saved: a person does that.
    """

    sentence: str = pydantic.Field(description="what the flow is to do, with its paths and values; or pipe syntax")


class _Run(_Arguments):
    """Run a node or a saved flow by its name.

    Inputs are values, never templates, flags or files; a flow's text is not accepted.
    """

    name: str = _NAME
    inputs: _Object = pydantic.Field({}, description="its inputs, as pflow_describe has their schema")


class _Trace(_Arguments):
    """Show what the steps of a run of a flow read from where, wrote and took, without values."""

    run: str = pydantic.Field("last", max_length=100, description="a run's id, or `last`, or `@2`: the one before")
    store: bool = pydantic.Field(False, description="add the keys, types and sizes of its store")


_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_TRIES = _READS.model_copy(update={"idempotent_hint": False})
_ASKS = _TRIES.model_copy(update={"open_world_hint": True})
_RUNS = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)

OWN_TOOLS: dict[str, tuple[type[_Arguments], types.ToolAnnotations]] = {
    LIST: (_List, _READS),
    DESCRIBE: (_Describe, _READS),
    CHECK: (_Check, _READS),
    PLAN: (_Plan, _ASKS),
    RUN: (_Run, _RUNS),
    TRACE: (_Trace, _READS),
}


def own_tools(only: Sequence[str], *, read_only: bool) -> dict[str, types.Tool]:
    """Return the offered ones of pflow's own tools, by name. `only` are the names that a person chose."""
    tools = {}
    for name, (arguments, hints) in OWN_TOOLS.items():
        if (only and name not in only) or (read_only and name == PLAN):  # planning sends text over the network
            continue
        schema = arguments.model_json_schema()
        description = schema.pop("description")
        hints = _TRIES if read_only and name == RUN else hints  # pflow_run then has only read-only tools to run
        tools[name] = types.Tool(name=name, description=description, input_schema=schema, annotations=hints)
    return tools


def own_result(name: str, offered_tools: OfferedTools, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool that needs no child. Raises PflowError: 127 and 66 for an unknown name or run."""
    if name == LIST:
        return {"tools": [_row(each) for each in _matching(offered_tools, arguments.get("search", ""))]}
    if name == DESCRIBE:
        return _described(offered_tools.find(arguments["name"]))
    run = find_run(arguments.get("run", "last"))
    about = public_members(trace_of_run(run, run.events()[0]), with_store=arguments.get("store", False))
    return {name: value for name, value in about.items() if name != "snapshot" and value is not None}


def _matching(offered_tools: OfferedTools, search: str) -> list[OfferedTool]:
    tools = {each.label: each for each in offered_tools.tools().values()}
    if not search:
        return [*tools.values()]
    abouts = [SearchTarget(each.label, each.description) for each in tools.values()]
    return [tools[name] for name in nearest_by_words(search, abouts)]


def _row(offered: OfferedTool) -> dict[str, Any]:
    return {
        "name": offered.label,
        "tool": offered.tool.name,
        "kind": "flow" if offered.flow else "node",
        "summary": offered.description.partition("\n")[0],
        "effects": offered.effects,
        "read_only": offered.is_read_only,
    }


def _described(offered: OfferedTool) -> dict[str, Any]:
    """Return the account of a node or flow without its file, the tool as a client sees it, and the text of a flow."""
    about = {name: value for name, value in entry(offered.node_type).items() if name not in ("file", "reads", "params")}
    about |= {**offered.tool.model_dump(exclude_none=True), "tool": offered.tool.name, "name": offered.label}
    return about | (_forms(offered.flow) if offered.flow else {})


def planned(ir: dict[str, Any]) -> dict[str, Any]:
    """Return the result of pflow_plan: the flow as JSON and as pipe syntax."""
    return _forms(wire(load_document(ir, "the flow", FlowCatalog()).usable()))


def _forms(wired: WiredFlow) -> dict[str, Any]:
    pipe = result_of(pipe_of, wired, of=PflowError, otherwise=None)  # pipe syntax cannot express every flow
    return {"ir": flow_to_ir(wired.flow), **({"pipe": pipe} if pipe else {})}
