"""A flow in pipe syntax for people to read. It cannot declare inputs, so they become literal values."""

from copy import copy
from typing import Any

from pflow.errors import BAD_DATA, Attempt, PflowError
from pflow.flow.expressions import escape_dollars, literal, reference_text
from pflow.flow.flow import Batch, FlowSpec, Step
from pflow.flow.graph import END
from pflow.flow.ir import literal_secrets
from pflow.flow.pipe.write import is_moved, write_pipe
from pflow.flow.references import uses
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.values.jsontext import change_texts, text_of
from pflow.values.paths import Path, look_up, parse_path, write_path
from pflow.values.templates import TEMPLATE, expand, parse_template


def pipe_of(wired: WiredFlow, values: dict[str, Any] | None = None) -> str:
    """Write a flow in pipe syntax, with its inputs as literals and its outputs as a comment.

    Raises PflowError (65) if pipe syntax cannot express it, or if a secret is in it.
    """
    if any(literal_secrets(wired)):
        raise _no_pipe("a secret stands in it, and a secret is never a flag")
    # ValueError: a mapping is no path. It can happen, since flows with findings are explained too.
    with Attempt("", lambda act, error: _no_pipe(str(error)), of=ValueError):
        flow = with_literals(wired, values or {})
    outputs = "; ".join(f"{name} from {source}" for name, source in flow.outputs.items())
    flow.outputs = {}
    _check_kept(wired, flow)
    text = write_pipe(flow)
    if "\0" in text:  # no command line can hold it
        raise _no_pipe("it contains NUL")
    comment = "".join(each if each.isprintable() else " " for each in outputs)
    return (f"# outputs: {comment}\n" if comment else "") + text


def _check_kept(wired: WiredFlow, flow: FlowSpec) -> None:
    """Raise PflowError (65) if a step stores a literal that another read would then take."""
    for _, id, key, writes in uses(wire(flow)):
        for write in writes:
            if write.is_data and write.key not in wired.steps[write.step].step.inputs:
                raise _no_pipe(f"the read '{key}' of '{id}' would take the {write.key} that '{write.step}' is given")


def _no_pipe(why: str) -> PflowError:
    hint = "pflow plan prints its JSON"
    return PflowError(f"cannot write the flow in pipe syntax: {why}", hint=hint, exit=BAD_DATA)


def with_literals(wired: WiredFlow, values: dict[str, Any]) -> FlowSpec:
    """Return a copy of the flow in which the steps hold its inputs: their `values`, or else their defaults.

    An input without a value stays a path that no step writes. The input that takes the pipe becomes `stdin`. Raises
    PflowError (65) for a read that takes the latest of several values, of which an input is one.
    """
    known = {name: each.default for name, each in wired.inputs.items() if each.has_default and not each.pipe}
    known |= values
    piped = {name for name, each in wired.inputs.items() if each.pipe and name not in values}
    flow = copy(wired.flow)
    flow.inputs = {}
    flow.steps = [_Literals(wired.steps[step.id], known, piped).step for step in flow.steps]
    for path in [each.path for each in wired.references_of.get(END, ()) if is_moved(wired, each)]:
        step = flow.step(str(path[0]))
        step.output_mappings = {**step.output_mappings, str(path[1]): write_path(path[:2])}
    if flow.steps:  # pipe syntax feeds stdin to the first step's [pipe] read by itself
        first, read = flow.steps[0], wired.steps[flow.steps[0].id].interface.pipe_read
        if read and first.input_mappings.get(read.name) == "stdin":
            del first.input_mappings[read.name]
    for name in known.keys() & wired.inputs.keys():
        for id, key in wired.inputs[name].readers:  # templates and mappings have their literals already
            step, was = flow.step(id), wired.steps[id].step
            is_by_name = key in wired.steps[id].interface.reads and key not in {**was.input_mappings, **was.params}
            if is_by_name and key not in step.inputs:
                _set(step, wired.steps[id], key, known[name])
    return flow


class _Literals:
    """Makes a `step` with the known inputs as literals in it. `piped` are the inputs that take the pipe."""

    def __init__(self, wired: WiredStep, known: dict[str, Any], piped: set[str]) -> None:
        batch = wired.step.batch
        items = {batch.item, *batch.parts} if batch is not None else set()
        self.known = {name: value for name, value in known.items() if name not in items}
        self.piped = piped - items
        verbatim = set(filter(wired.interface.is_verbatim, [*wired.step.params, *wired.step.inputs]))
        self.step = step = copy(wired.step)
        step.params = {key: each if key in verbatim else self._filled(each) for key, each in step.params.items()}
        step.inputs = {key: each if key in verbatim else self._filled(each) for key, each in step.inputs.items()}
        step.input_mappings = {}
        if batch is not None:
            step.batch = self._over(batch, known, piped)
        for key, source in wired.step.input_mappings.items():
            self._map(wired, key, source)

    def _over(self, batch: Batch, known: dict[str, Any], piped: set[str]) -> Batch:
        batch, path = copy(batch), parse_path(batch.over)
        if path[0] in known:
            raise _no_pipe(f"'{self.step.id}' runs once for each item of the input '{path[0]}'")
        if path[0] in piped:
            batch.over = write_path(("stdin", *path[1:]))
        return batch

    def _map(self, wired: WiredStep, key: str, source: str | list[str]) -> None:
        if isinstance(source, str) and source.startswith(TEMPLATE):
            written = source.removeprefix(TEMPLATE)
            if all(isinstance(part, str) or part[0] in self.known for part in parse_template(written)):
                _set(self.step, wired, key, expand(written, self._value))
            else:
                self.step.input_mappings[key] = TEMPLATE + self._filled(written)
            return
        paths = [parse_path(path) for path in ([source] if isinstance(source, str) else source)]
        is_input = any(path[0] in self.known or path[0] in self.piped for path in paths)
        if not is_input:
            self.step.input_mappings[key] = source
        elif len(paths) > 1:
            raise _no_pipe(f"'{wired.id}.{key}' takes an input or another value")
        elif paths[0][0] in self.known:
            _set(self.step, wired, key, self._value(paths[0]))
        else:
            self.step.input_mappings[key] = write_path(("stdin", *paths[0][1:]))

    def _filled(self, written: Any) -> Any:
        return change_texts(written, self._filled_text)

    def _filled_text(self, text: str) -> Any:
        parts = parse_template(text)
        if len(parts) == 1 and not isinstance(parts[0], str) and parts[0][0] in self.known:
            return escape_dollars(self._value(parts[0]))
        return "".join(self._part(part) for part in parts)

    def _part(self, part: str | Path) -> str:
        if isinstance(part, str) or part[0] in self.known:
            return str(escape_dollars(part if isinstance(part, str) else text_of(self._value(part))))
        return reference_text(("stdin", *part[1:]) if part[0] in self.piped else part)

    def _value(self, path: Path) -> Any:
        """Return the value at a path into a known input. Raises PflowError (65) if there is none."""
        try:
            return look_up(self.known, path)
        except PflowError:
            raise _no_pipe(f"the input '{path[0]}' has no '{write_path(path)}'") from None


def _set(step: Step, wired: WiredStep, key: str, value: Any) -> None:
    """Give a read a literal value. Null leaves it unset."""
    field = wired.interface.reads.get(key)
    if field is not None and field.type.name == "str" and not isinstance(value, str) and value is not None:
        value = text_of(value)
    if value is not None:
        step.inputs = {**step.inputs, key: literal(field, value)}
