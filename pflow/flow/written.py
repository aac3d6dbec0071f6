"""What a step has written down: every mapping, input, param and batch of it, with the paths in it."""

from __future__ import annotations

from pflow.paths import parse_path
from pflow.templates import TEMPLATE, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path

INPUT, MAPPING, PARAM, OVER, OUTPUT = "input", "mapping", "param", "over", "output"


class Part:
    """One value that is written in a flow: where, what for (`role` and `key`), its paths, or why they do not parse."""

    __slots__ = ("fault", "is_template", "key", "paths", "place", "role", "written")

    def __init__(self, place: Path, role: str, key: str, written: Any) -> None:
        self.place = place
        self.role = role
        self.key = key
        self.written = written
        self.is_template = role in (INPUT, PARAM)
        self.paths: list[Path] = []
        self.fault = ""
        try:
            self._parse(written)
        except ValueError as error:
            self.fault = str(error)

    def _parse(self, written: Any) -> None:
        if isinstance(written, str) and written.startswith(TEMPLATE) and self.role in (MAPPING, OUTPUT):
            self.is_template = True
            self.written = written = written[len(TEMPLATE) :]
        if self.is_template:
            self.paths = list(dict.fromkeys(references(written)))
        else:
            self.paths = [parse_path(path) for path in (written if isinstance(written, list) else [written])]


def parts_of_step(wired: WiredStep) -> Iterator[Part]:
    """Every part of a step; what is `[verbatim]` has no templates in it."""
    step, interface = wired.step, wired.interface
    for role, name, values in ((INPUT, "inputs", step.inputs), (PARAM, "params", step.params)):
        for key, value in values.items():
            item = interface.reads.get(key) or interface.params.get(key)
            part = Part((*step.place, name, key), role, key, value)
            if item is not None and "verbatim" in item.marks:
                part.paths, part.is_template, part.fault = [], False, ""
            yield part
    for key, value in step.input_mappings.items():
        yield Part(("mappings", step.id, "input_mappings", key), MAPPING, key, value)
    if step.batch is not None:
        yield Part((*step.place, "batch", "over"), OVER, "", step.batch.over)


def parts_of_outputs(flow: Flow) -> Iterator[Part]:
    for name, value in flow.outputs.items():
        yield Part(("outputs", name), OUTPUT, name, value)
