"""The inputs of a run: values of flags, of the pipe, and of a person who is asked."""

from __future__ import annotations

import os
from copy import copy

from pflow import TYPE_CHECKING, Any, Callable, Collection, Iterator, Mapping, Sequence
from pflow.binding.flag_value import FlagValue
from pflow.binding.sources import Constant, PathSource, TemplateSource, assign, find, has, is_blank, without_newline
from pflow.engine.engine import set_defaults
from pflow.errors import BAD_STDIN, MISSING, PflowError
from pflow.flow.flags import DATA, INPUT, OPEN, PARAM, Target
from pflow.flow.flow import FlowInput
from pflow.flow.references import uses
from pflow.flow.rules.answers import passed_over
from pflow.flow.rules.paths import check_unfilled
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import fresh
from pflow.record.snapshot import Snapshot
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake, empty_pipe
from pflow.text.printable import clean
from pflow.values.paths import Path, are_nested, write_path

if TYPE_CHECKING:
    from pflow.terminal.ask import Terminal


class RunInputs:
    """The values of a run's inputs.

    `values` has those of the flow's inputs, by name; `params` and `data` have the params and data of single steps, by
    step and name. `origins` has the flag, or the place in the store, that each input came from.
    """

    def __init__(self, wired: WiredFlow, flags: Mapping[Target, Any] | None = None) -> None:
        self.wired = wired
        self.values: dict[str, Any] = {}
        self.params: dict[str, dict[str, Any]] = {}
        self.data: dict[str, dict[str, Any]] = {}
        self.origins: dict[str, str] = {}
        self.piped_path: Path | None = None
        """The path of the input that gets the value from the pipe."""
        self.confined = ""
        """The bounds of the run that is resumed or replayed, as JSON (pflow.files.beneath); else empty."""
        self.planned: list[dict[str, Any]] = []
        """The events of planning the flow, with its usage."""
        self.replayed: Snapshot | None = None
        """The snapshot of the run that this one replays."""
        self.reopened: Any = None
        """The run that is resumed with these inputs (pflow.driver.earlier_run.Reopened)."""
        for target, value in (flags or {}).items():
            self._set(target, value)

    def _set(self, target: Target, value: Any) -> None:
        kind, id, key = target
        if kind == INPUT:
            self.set_input(key, value)
            return
        if not id:
            self.values[key] = value
        for step in self.wired.steps.values():
            if step.id == id:
                value = _as_whole(step, key, value)
            if step.id == id and kind in (DATA, OPEN):
                self.data.setdefault(id, {})[key] = value
            if kind in (PARAM, OPEN) and (step.id == id or (not id and step.interface.open)):
                self.set_param(step, key, value)

    def set_input(self, name: str, value: Any) -> None:
        """Set an input; an input for a single step becomes that step's data."""
        self.values[name] = value
        known = self.wired.inputs.get(name) or self.wired.places[name]
        self.origins[name] = known.flag
        for id, _ in known.readers if is_blank(value) else ():
            self._allow_empty(id)  # a person wrote the empty value, so it is meant
        known.give(value, {}, self.data)  # a value for the store is not put there yet: `stored` returns it

    def set_param(self, step: WiredStep, key: str, value: Any) -> None:
        """Set a param of a step, and its copy in the step's param `config`, which some dialects have."""
        params = self.params.setdefault(step.id, {})
        params[key] = value
        config = params.get("config", step.step.params.get("config"))
        if isinstance(config, dict) and key in config:
            params["config"] = {**config, key: value}

    def _allow_empty(self, id: str) -> None:
        """Let a step, and the steps of its subflow, run on empty data."""
        step = self.wired.steps[id]
        for name in [name for name in step.interface.params if name.rpartition(".")[2] == ALLOW_EMPTY]:
            self.set_param(step, name, True)

    def stored(self) -> dict[Path, Any]:
        """Return the values that go into the store; a value for one step alone does not."""
        known = {**self.wired.places, **self.wired.inputs}
        common = {name: value for name, value in self.values.items() if name not in known or known[name].step is None}
        found = {known[name].path if name in known else (name,): value for name, value in common.items()}
        # An input goes before the places inside it: written later, it would overwrite them.
        return dict(sorted(found.items(), key=lambda each: len(each[0])))

    def stored_by_flags(self) -> dict[Path, Any]:
        """Return the values that go into the store, without the one from the pipe."""
        return {path: value for path, value in self.stored().items() if path != self.piped_path}

    def fill(self, store: Any, values: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """Put an item's `values` into the store of a run, then these inputs, then the defaults.

        Return the data of single steps, in which the item's values replace others.
        """
        data = {step: dict(given) for step, given in self.data.items()}
        for name, value in (values or {}).items():
            self.wired.inputs[name].give(value, store, data)
        for path, value in self.stored().items():
            if len(path) > 1:  # into a copy: others may share the object, and a store notices only a key that is set
                store[path[0]] = fresh(store[path[0]]) if path[0] in store else {}
            assign(store, path, value)
        self.fit(store, values or ())
        set_defaults(self.wired, store)
        return data

    def fit(self, store: Any, items: Collection[str] = ()) -> None:
        """Convert declared inputs in a store to their types; an item gave those in `items`. Raises PflowError (65)."""
        for name, given in self.wired.inputs.items():
            if given.declared and given.type.name != "any" and name in store:
                origin = "the item" if name in items else self.origins.get(name, "")
                fitted = given.fitted(value := store[name], origin)
                if fitted is not value:
                    store[name] = fitted

    def missing(self, document: Document) -> list[FlowInput]:
        """Return the required inputs that have no value from a flag, the store, or an earlier dry stage."""
        there = document.pretended
        return missing_inputs(
            self.wired, self.values, lambda path: has(document, path) or any(are_nested(path, place) for place in there)
        )

    def with_pipe(self, intake: Intake, *, allow_empty: bool) -> RunInputs:
        """Return a copy of these inputs with the data from stdin, and with the flow wired to that data.

        Raises PflowError: 66 if the flow needs piped data and the pipe is empty, 64 (PF05) for raw input that no step
        of the flow takes.
        """
        wired, document = self.wired, intake.document
        left = self._left_to_pipe()
        wants_pipe = self._pipe_input() is not None or left is not None or wired.runs_over_pipe
        if intake.kind == EMPTY and wants_pipe and not allow_empty:
            raise empty_pipe()
        if intake.kind == NOTHING and wired.runs_over_pipe:
            what = f"cannot run '{wired.graph.first}' for each item: nothing came through the pipe"
            raise PflowError(what, hint="--each=PATH names a list of the flow", exit=MISSING)
        if intake.kind in (NOTHING, STORE) and not document.carried and left:
            self._check_left(*left, document)
        size = len(intake.data)
        if intake.kind == RAW and size and not (wants_pipe or names_stdin(wired)):
            raise PflowError(
                f"cannot use stdin: no step takes its {size:,} bytes (PF05)",
                hint="-n leaves stdin to others; a mapping or a template with stdin takes it",
                exit=BAD_STDIN,
            )
        taken = copy(self)
        taken.values = self.values.copy()
        for id in wired.steps if allow_empty else ():
            taken._allow_empty(id)
        carried = taken._take_carried(document, document.carried) if document.carried else {}
        there = [each for each in taken.wired.inputs.values() if each.step is None and has(document, each.path)]
        taken.origins = {**{each.name: write_path(each.path) for each in there}, **carried, **self.origins}
        return taken

    def doubts(self, document: Document) -> Iterator[str]:
        """Yield a warning for each step that takes an input or a key of the store instead of an earlier result, and for
        each name in a `[verbatim]` value, which is no template.
        """
        first = self.wired.steps.get(self.wired.graph.first or "")
        places = (place for place, *_ in uses(self.wired))
        if first and (over := document.passed_over(first.interface, {*first.sources, *self.values}, places)):
            yield f"warning: '{first.id}' {over}"
        yield from map(str, passed_over(self.wired, {*self.values, *document}))
        yield from map(str, check_unfilled(self.wired, document))

    def _pipe_input(self) -> str | None:
        """Return the input that is marked for the pipe, unless a flag gives it."""
        marked = (each.name for each in self.wired.inputs.values() if each.pipe)
        return next((name for name in marked if name not in self.values), None)

    def _left_to_pipe(self) -> tuple[WiredStep, str] | None:
        """Return the first step and its `[pipe]` read if no input sets that; else None."""
        id, key = self.wired.first_read or ("", "")
        return (self.wired.steps[id], key) if id and key not in self.values else None

    def _check_left(self, step: WiredStep, key: str, document: Document) -> None:
        """Raise PflowError (66) if the first step needs data from the pipe, and no input of the flow has it."""
        field = step.interface.reads[key]
        is_needed = field.required and not step.interface.open and key not in step.step.params
        is_given = any((step.id, key) in each.readers for each in self.wired.inputs.values())
        if is_needed and not (is_given or has(document, (key,)) or document.pretended):
            about = f"'{key}'" + (f" ({field.doc})" if field.doc else "")
            what = f"cannot find {about} for {step.step.type}: nothing came through the pipe (PF03)"
            hint = f'"inputs": {{"{key}": {{"pipe": true}}}} in the flow gives it a flag too'
            raise PflowError(what, hint=hint, exit=MISSING)

    def _take_carried(self, document: Document, place: Path) -> dict[str, str]:
        """Set the input marked for the pipe, else the first step's `[pipe]` read, to the value that the pipe carries.

        Return that input or read, with the place of the value. A value that a dry stage would have written is None.
        """
        name = self._pipe_input()
        if name is not None:
            given = self.wired.inputs[name]
            value = None if place in document.pretended else find(document, place)
            self.values[name] = without_newline([place], value) if given.type.is_path else value
            self.piped_path = given.path
            return {name: write_path(place)}
        if self.wired.runs_over_pipe:
            self._own_step(next(iter(self.wired.steps))).over = PathSource(place)
            return {}
        left = self._left_to_pipe()
        if left is None or any(each.pipe for each in self.wired.inputs.values()):
            return {}
        step, key = left
        if document.carried_to(step.interface) is None:
            return {}
        field = step.interface.read_fed(place[-1]) or step.interface.reads[key]
        if field.name != key and (field.name in self.values or field.name in step.sources):
            return {}
        key = field.name
        sources = [*step.sources.values(), *step.params.values()]
        templates = [each for each in sources if isinstance(each, TemplateSource)]
        is_taken = not any(are_nested(path, place) for each in templates for path in each.paths)
        if not is_taken and field.required:
            return {}
        source = PathSource(place) if is_taken else Constant(fresh(field.default), key)
        self._own_step(step.id).sources = {**step.sources, key: source}
        if key in self.wired.inputs:
            other = self.wired.left_by_pipe(self.wired.inputs[key], (step.id, key))
            self.wired.inputs = {**self.wired.inputs, key: other}
            if not other.readers:
                del self.wired.inputs[key]
        return {key: write_path(place)} if is_taken else {}

    def _own_step(self, id: str) -> WiredStep:
        """Replace a step by a copy in the flow of this run, and return the copy."""
        self.wired, step = copy(self.wired), copy(self.wired.steps[id])
        self.wired.steps = {**self.wired.steps, id: step}
        return step


def missing_inputs(
    wired: WiredFlow, values: Mapping[str, Any], is_there: Callable[[Path], bool] = lambda path: False
) -> list[FlowInput]:  # fmt: skip
    """Return the required inputs that have no value; one input for each read that can take one of several places.

    `is_there` returns True for a path that the incoming store has.
    """

    def is_given(path: Path) -> bool:
        return write_path(path) in values or has(values, path) or is_there(path)

    def lacks(each: FlowInput) -> bool:
        return not (each.name in values or (each.step is None and is_given(each.path)))

    missing = [each for each in wired.asked() if each.required and not each.has_default and lacks(each)]
    for paths in wired.alternatives:
        if not any(map(is_given, paths)):
            last = [wired.inputs[str(path[0])] for path in paths if path[0] in wired.inputs][-1:]
            missing += [each for each in last if each not in missing and not each.has_default]
    return missing


def _as_whole(step: WiredStep, key: str, value: Any) -> Any:
    """Return a whole float as an int if the flow itself has an int there."""
    written = step.step.inputs.get(key, step.step.params.get(key))
    is_whole = isinstance(written, int) and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def names_stdin(wired: WiredFlow) -> bool:
    """Return True if a step may read the key `stdin`."""
    for step in wired.steps.values():
        if step.interface.may_take_stdin or ("stdin" in step.interface.reads and "stdin" not in step.sources):
            return True
    return wired.maps_stdin


_TEXTS = dict.fromkeys(("str", "url", "any", "bytes"), "")
_EXPECTED = {**_TEXTS, "bool": "y|n", "dict": "JSON object", "list": "an item, or a JSON list"}
"""The words in a question for the expected answer, by the type's name; for any other type, the type itself."""

_ANSWERS = {"y": "true", "yes": "true", "n": "false", "no": "false"}


def ask_for(wired: WiredFlow, missing: list[FlowInput], *, is_dry: bool = False) -> dict[str, Any]:
    """Ask a person at the terminal for missing inputs; return the answers.

    Raises PflowError (66) if stdin or stderr is not a terminal, in a dry run, at the end of input, and for a secret,
    which the terminal would show.
    """
    if not missing:
        return {}
    terminal = None if is_dry or any(each.secret for each in missing) else _open_terminal()
    if terminal is None:
        raise inputs_missing(wired, missing)
    with terminal:
        return {each.name: _ask(terminal, wired, each) for each in missing}


def _open_terminal() -> Terminal | None:
    from pflow.terminal.ask import open_terminal

    return open_terminal() if os.isatty(0) else None


def _ask(terminal: Terminal, wired: WiredFlow, wanted: FlowInput) -> Any:
    """Ask until an answer fits the type."""
    type = wanted.type
    is_path = wired.help_type(wanted).is_path
    about = f" ({wanted.doc})" if wanted.doc else ""
    expected = str(type) if type.choices else _EXPECTED.get(type.name, str(type))
    question = clean(f"{wired.reader_of(wanted)} needs {wanted.flag}{about}: {expected}") + ("? " if expected else "")
    while True:
        line = terminal.read_path(question) if is_path else terminal.read_line(question)
        if line is None:
            raise inputs_missing(wired, [wanted])
        try:
            text = _ANSWERS.get(line.casefold(), line) if type.name == "bool" else line
            if line:
                return FlagValue(wanted.flag, type, [text], verbatim=True).value
        except PflowError as error:
            terminal.say(clean(error.message) + "\n")


def inputs_missing(wired: WiredFlow, missing: list[FlowInput]) -> PflowError:
    """Return one error for all missing inputs (PF03)."""
    from pflow.flow.rules.answers import mapping_of
    from pflow.flow.rules.reads import sources_before

    shown = [each for each in missing if not each.secret]
    typed = [each for each in shown if not each.is_unflagged]
    hints = []
    readers = [(each.name, wired.steps[id], key) for each in typed for id, key in each.readers]
    for name, step, key in readers:
        is_named = key != name or step.subflow is not None
        if is_named and step.step.batch is not None and step.item_type.name == "dict":
            hints.append(f"${{{step.step.batch.item}.{name}}} names a member of the item")
    there = {at for each in typed for at in each.readers}
    hints += [f"or {mapping_of(wired, *at, source)}" for at, source in sources_before(wired).items() if at in there]
    if len(typed) < len(shown):
        hints.append("an input with the name of a flag of pflow run comes from the store, or needs another name")
    if len(shown) < len(missing):
        hints.append("a secret is never a flag; it comes from the store")
    return not_given({each: wired.reader_of(each) for each in missing}, typed, hints)


def not_given(readers: dict[FlowInput, str], typed: list[FlowInput], hints: Sequence[str] = ()) -> PflowError:
    """Return the error for inputs that have no value; the hint begins with the flags of the inputs in `typed`."""
    parts = [f"'{each.name}'{f' ({each.doc})' * bool(each.doc)} for {reader}" for each, reader in readers.items()]
    message = f"cannot find {', '.join(parts)}: nothing gives it (PF03)"
    about = [{"name": each.name, "flag": each.flag, "type": str(each.type), "doc": each.doc} for each in typed]
    hint = "; ".join(filter(None, [" ".join(map(_flag, typed)), *hints]))
    return PflowError(message, hint=hint, exit=MISSING, details={"missing": about})


def _flag(wanted: FlowInput) -> str:
    """Return `--issue=INT`, quoted as one word of a shell."""
    from shlex import quote

    type = wanted.type
    value = "|".join(type.choices) or {"any": "VALUE"}.get(type.name, type.name.upper())
    return quote(f"{wanted.flag}={value}")
