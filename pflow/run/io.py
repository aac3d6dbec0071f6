"""What comes into a run (flags, answers, the store and bytes on stdin), and the document that it hands on."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import Constant, PathSource, TemplateSource, find
from pflow.binding.store import REMOVED, NodeStore
from pflow.errors import BAD_STDIN, PflowError
from pflow.interface import fresh
from pflow.paths import meet, parse_path, write_path
from pflow.run.engine.subflow import outputs_of
from pflow.run.flags import DATA, INPUT, OPEN, PARAM
from pflow.stage.document import EMPTY, RAW, empty_pipe
from pflow.stage.trace import add_step, step_id

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path
    from pflow.run.flags import Target
    from pflow.stage.document import Document, Intake

    Store = dict[str, Any]


class RunInputs:
    """Values for the flow's inputs by name, and for params and own data of its steps by step and name."""

    def __init__(self, wired: WiredFlow, flags: list[tuple[Target, Any]]) -> None:
        self.wired = wired
        self.values: dict[str, Any] = {}
        self.params: dict[str, dict[str, Any]] = {}
        self.data: dict[str, dict[str, Any]] = {}
        for target, value in flags:
            self._set(target, value)

    def _set(self, target: Target, value: Any) -> None:
        if target.kind == INPUT:
            self.set_input(target.key, value)
        elif target.step:
            step = self.wired.steps[target.step]
            value = _as_whole(step, target.key, value)
            if target.kind in (DATA, OPEN):
                self.data.setdefault(step.id, {})[target.key] = value
            if target.kind in (PARAM, OPEN):
                self._set_param(step, target.key, value)
        else:
            self.values[target.key] = value
            for step in self.wired.steps.values():
                if step.interface.open:
                    self._set_param(step, target.key, value)

    def set_input(self, name: str, value: Any) -> None:
        """An input for one step alone is that step's data."""
        self.values[name] = value
        known = self.wired.inputs.get(name)
        if known is not None and known.step is not None:
            step, key = known.readers[0]
            self.data.setdefault(step, {})[key] = value

    def _set_param(self, step: WiredStep, key: str, value: Any) -> None:
        params = self.params.setdefault(step.id, {})
        params[key] = value
        config = params.get("config", step.step.params.get("config"))
        if isinstance(config, dict) and key in config:
            params["config"] = {**config, key: value}


def _as_whole(step: WiredStep, key: str, value: Any) -> Any:
    """An int where the flow has one, as long as the number is whole."""
    written = step.step.inputs.get(key, step.step.params.get(key))
    is_whole = isinstance(written, int) and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def check_stdin(wired: WiredFlow, intake: Intake, values: dict[str, Any], *, allow_empty: bool) -> None:
    """Refuse an empty pipe that the flow was to work on (66), and raw input that nothing in it takes (64; PF05)."""
    name = _pipe_input(wired)
    wants_pipe = (name is not None and name not in values) or _takes_pipe(wired, values)
    if intake.kind == EMPTY and wants_pipe and not allow_empty:
        raise empty_pipe()
    size = len(intake.data)
    if intake.kind == RAW and size and not (wants_pipe or _names_stdin(wired)):
        raise PflowError(
            f"cannot use stdin: no step takes its {size:,} bytes (PF05)",
            hint="-n leaves stdin to others; a mapping or a template with stdin takes it",
            exit=BAD_STDIN,
        )


def _pipe_input(wired: WiredFlow) -> str | None:
    return next((each.name for each in wired.inputs.values() if each.pipe and each.declared), None)


def _takes_pipe(wired: WiredFlow, values: dict[str, Any]) -> bool:
    """Whether the first step's `[pipe]` read is open to the pipe."""
    return wired.first_read is not None and wired.first_read[1] not in values


def _names_stdin(wired: WiredFlow) -> bool:
    steps = wired.steps.values()
    if any(step.interface.open or ("stdin" in step.interface.reads and "stdin" not in step.sources) for step in steps):
        return True
    return any(path[0] == "stdin" for source in wired.sources() for path in source.paths)


def carry_in(wired: WiredFlow, document: Document, values: dict[str, Any]) -> dict[str, str]:
    """Give what the pipe carries to the input marked for it, else to the first step's `[pipe]` read.

    Returns which of them takes it, with the place that it comes from. What a dry stage would have written is None.
    """
    last = document.header.get("last")
    name = _pipe_input(wired)
    if last is None or name in values:
        return {}
    if name is not None:
        values[name] = None if last in document.header.get("dry", []) else find(document, parse_path(last))
        return {name: last}
    if not _takes_pipe(wired, values):
        return {}
    assert wired.first_read is not None
    id, key = wired.first_read
    step = wired.steps[id]
    item = step.interface.reads[key]
    is_taken = not _is_in_template(step, parse_path(last))
    if is_taken:
        step.sources[key] = PathSource(parse_path(last))
    elif not item.required:
        step.sources[key] = Constant(fresh(item.default), key)
    else:
        return {}
    step.soft.discard(key)
    _forget_reader(wired, id, key)
    return {key: last} if is_taken else {}


def _is_in_template(step: WiredStep, carried: Path) -> bool:
    """Whether a template of the step uses the carried path, a part of it, or what holds it."""
    sources = [*step.sources.values(), *step.params.values()]
    return any(meet(path, carried) for each in sources if isinstance(each, TemplateSource) for path in each.paths)


def _forget_reader(wired: WiredFlow, id: str, key: str) -> None:
    """A read that the pipe fills asks for no input."""
    if key in wired.inputs:
        wired.inputs[key].readers = [each for each in wired.inputs[key].readers if each != (id, key)]
        if not wired.inputs[key].readers:
            del wired.inputs[key]


def used_keys(wired: WiredFlow) -> set[str] | None:
    """The top-level keys of a store that a flow may look at; None where that is not known: all of them."""
    keys = {str(path[0]) for source in wired.sources() for path in source.paths}
    for step in wired.steps.values():
        if step.interface.open:
            return None
        keys |= {step.id, *step.interface.reads}
        keys |= {str(step.place_of(key)[0]) for key in [*step.interface.writes, *step.targets]}
    return keys | {str(each.path[0]) for each in wired.inputs.values()}


def outputs(wired: WiredFlow, shared: NodeStore) -> Store:
    """What a flow changes of the store: its declared outputs by name, without any all that its steps changed."""
    return outputs_of(wired, shared) if wired.flow.outputs else shared.changes(lambda key: True)


def hand_on(document: Document, wired: WiredFlow, found: Store, carried: Path | None) -> None:
    """Put the outputs into a document, and say what the pipe carries: the only output, else what the steps do.

    Of several outputs, it is the one that is what the steps carry.
    """
    for key, value in found.items():
        try:
            if value is REMOVED:
                document.remove((key,))
            else:
                document.set(key, value)
        except PflowError as error:
            raise error.within(f"cannot store '{key}'") from None
    last = _output_of(wired, carried) if wired.flow.outputs else write_path(carried) if carried else None
    if last is not None and (last in found or not wired.flow.outputs):
        document.header["last"] = last


def _output_of(wired: WiredFlow, carried: Path | None) -> str | None:
    """The output that a pipe carries on."""
    if len(wired.flow.outputs) == 1:
        return next(iter(wired.flow.outputs))
    return next((name for name in wired.outputs if carried and _is_output(wired, name, carried)), None)


def _is_output(wired: WiredFlow, name: str, place: Path) -> bool:
    """Whether an output is what stands at a place, and nothing else."""
    source = wired.outputs[name]
    return isinstance(source, PathSource) and source.path == place


def add_entry(document: Document, name: str, run: str, reads: dict[str, str], found: Store, ms: int) -> None:
    """The one entry that a whole flow is in the trace of a pipe."""
    entry: dict[str, Any] = {"id": step_id(document, name, None), "node": f"flow:{name}", "run": run, "reads": reads}
    add_step(
        document, {**entry, "writes": {key: key for key, value in found.items() if value is not REMOVED}, "ms": ms}
    )


def shows(wired: WiredFlow, document: Document) -> bool:
    """Whether the flow itself makes what the pipe carries at its end."""
    if wired.flow.outputs:
        return document.header.get("last") in wired.flow.outputs
    return any(wired.steps[id].interface.pipe_write is not None for id in _ends(wired))


def streaming_step(wired: WiredFlow) -> str | None:
    """The step whose `[pipe]` write is what the flow hands on, where that is plain before it runs."""
    ends = _ends(wired)
    if len(ends) != 1 or wired.steps[ends[0]].step.batch or wired.graph.forks():
        return None
    last = wired.steps[ends[0]]
    if last.interface.pipe_write is None:
        return None
    place = last.place_of(last.interface.pipe_write.name)
    name = _output_of(wired, place)
    return last.id if not wired.flow.outputs or (name is not None and _is_output(wired, name, place)) else None


def _ends(wired: WiredFlow) -> list[str]:
    """The steps that no edge leaves."""
    return [id for id in wired.graph.order() if not wired.graph.after(id)]
