"""The pipe form of a flow for people: its inputs become literals, since pipe syntax declares none."""

from __future__ import annotations

from copy import copy
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.explain.account import without_secrets
from pflow.flow.flow import Flow, Step
from pflow.flow.pipe import write_pipe
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.flow.written import escaped, reference
from pflow.jsontext import text_of
from pflow.paths import Path, parse_path, write_path
from pflow.templates import TEMPLATE, expand, parse_template


def pipe_of(wired: WiredFlow, values: dict[str, Any] | None = None, *, is_masked: bool = False) -> str:
    """The pipe syntax of a flow, its inputs as literals; outputs, which have no pipe form, become a comment.

    With `is_masked` each secret is masked. Raises PflowError (65) that says why there is none.
    """
    flow = with_literals(wired, values or {})
    if is_masked:
        flow = without_secrets(wire(flow))
    outputs = "; ".join(f"{name} from {source}" for name, source in flow.outputs.items())
    flow.outputs = {}
    text = write_pipe(flow)
    if "\0" in text:
        raise _no_pipe("it holds a NUL")
    return (f"# outputs: {_on_one_line(outputs)}\n" if outputs else "") + text


def _no_pipe(why: str) -> PflowError:
    hint = "pflow plan prints its JSON, which says it all"
    return PflowError(f"cannot write the flow in pipe syntax: {why}", hint=hint, exit=BAD_DATA)


def with_literals(wired: WiredFlow, values: dict[str, Any]) -> Flow:
    """A copy whose steps hold the `values` of its inputs, else their defaults.

    An input without a value stays a path that no step writes; the one that takes the pipe becomes `stdin`. Raises
    PflowError (65) where a declared input is one of several sources.
    """
    known = {name: each.default for name, each in wired.inputs.items() if each.has_default and not each.pipe}
    known.update(values)
    piped = {name for name, each in wired.inputs.items() if each.pipe and name not in values}
    flow = copy(wired.flow)
    flow.inputs = {}
    flow.steps = [_Literals(wired, wired.steps[step.id], known, piped).step() for step in flow.steps]
    for name in known.keys() & wired.inputs.keys():
        for id, key in wired.inputs[name].readers:  # those by name alone; others have it already
            step, was = flow.step(id), wired.steps[id].step
            is_by_name = key in wired.steps[id].interface.reads and key not in {**was.input_mappings, **was.params}
            if is_by_name and key not in step.inputs:
                _set(step, wired.steps[id], key, known[name])
    return flow


class _Literals:
    """One step, and what is known: values of inputs, and which inputs take the pipe."""

    def __init__(self, flow: WiredFlow, wired: WiredStep, known: dict[str, Any], piped: set[str]) -> None:
        self.is_first = flow.graph.first == wired.id
        self.wired = wired
        self.known = known
        self.piped = piped

    def step(self) -> Step:
        step = copy(self.wired.step)
        step.params = {key: self._template(key, value) for key, value in step.params.items()}
        step.inputs = {key: self._template(key, value) for key, value in step.inputs.items()}
        mappings, step.input_mappings = step.input_mappings, {}
        for key, source in mappings.items():
            self._map(step, key, source)
        return step

    def _map(self, step: Step, key: str, source: str | list[str]) -> None:
        if isinstance(source, str) and source.startswith(TEMPLATE):
            written = source.removeprefix(TEMPLATE)
            if all(isinstance(part, str) or part[0] in self.known for part in parse_template(written)):
                _set(step, self.wired, key, expand(written, self._value))
            else:
                step.inputs[key] = self._template("", written)
            return
        paths = [parse_path(path) for path in ([source] if isinstance(source, str) else source)]
        if len(paths) > 1 and any(path[0] in self.known or path[0] in self.piped for path in paths):
            raise _no_pipe(f"'{step.id}.{key}' takes an input or another value")
        if len(paths) > 1:
            step.input_mappings[key] = source
        elif paths[0][0] in self.known:
            _set(step, self.wired, key, self._value(paths[0]))
        elif not self._is_filled_by_pipe(key, paths[0]):
            step.input_mappings[key] = write_path(self._place(paths[0]))

    def _is_filled_by_pipe(self, key: str, path: Path) -> bool:
        """Whether the first step takes what comes through the pipe unasked."""
        item = self.wired.interface.reads.get(key)
        return self.is_first and item is not None and "pipe" in item.marks and len(path) == 1 and path[0] in self.piped

    def _template(self, key: str, written: Any) -> Any:
        """A value in which each reference to a known input is its value."""
        item = self.wired.interface.reads.get(key) or self.wired.interface.params.get(key)
        if item is not None and "verbatim" in item.marks:
            return written
        if isinstance(written, dict):
            return {name: self._template("", each) for name, each in written.items()}
        if isinstance(written, list):
            return [self._template("", each) for each in written]
        if not isinstance(written, str) or "$" not in written:
            return written
        parts = parse_template(written)
        if len(parts) == 1 and not isinstance(parts[0], str) and parts[0][0] in self.known:
            return escaped(self._value(parts[0]))
        return "".join(self._part(part) for part in parts)

    def _part(self, part: str | Path) -> str:
        if isinstance(part, str):
            return str(escaped(part))
        return str(escaped(text_of(self._value(part)))) if part[0] in self.known else reference(self._place(part))

    def _place(self, path: Path) -> Path:
        return ("stdin", *path[1:]) if path[0] in self.piped else path

    def _value(self, path: Path) -> Any:
        """The value at a path into a known input. Raises PflowError (65) where it has no such part."""
        value = self.known[str(path[0])]
        try:
            for part in path[1:]:
                value = value[part]
        except (LookupError, TypeError):
            raise _no_pipe(f"the input '{path[0]}' has no '{write_path(path)}'") from None
        return value


def _set(step: Step, wired: WiredStep, key: str, value: Any) -> None:
    """Let a literal give a read its value; null leaves it unset."""
    item = wired.interface.reads.get(key)
    if item is not None and item.type.name == "str" and not isinstance(value, str) and value is not None:
        value = text_of(value)
    if value is not None:
        is_verbatim = item is not None and "verbatim" in item.marks
        step.inputs = {**step.inputs, key: value if is_verbatim else escaped(value)}


def _on_one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
