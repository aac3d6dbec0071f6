"""Where each read of a plan comes from, whatever the places are called: by it two forms of a flow are compared."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.rewrite import escaped
from pflow.flow.written import MAPPING, OVER, parts_of_step
from pflow.jsontext import text_of
from pflow.paths import look_up
from pflow.plan.paste.literals import input_meant, values_of
from pflow.plan.paste.stands import fitted
from pflow.templates import parse_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.wired import Reference, WiredFlow, WiredStep, Write
    from pflow.flow.written import Part
    from pflow.interface import Item
    from pflow.paths import Path

    Origins = dict[tuple[str, str], Any]
    """For each step's read or param that something gives: what does."""


_ITEM = "item of the batch"


def different_origin(wanted: WiredFlow, values: dict[str, Any], found: WiredFlow) -> tuple[str, str] | None:
    """The first step and key whose origin in a flow with these values is not the one in another; None without any."""
    here, there = origins(wanted, values), origins(found, {})
    return next((key for key in {**here, **there} if _said(here.get(key)) != _said(there.get(key))), None)


def _said(origin: Any) -> str:
    """An origin as a text: true is not 1, and 60 is 60.0."""
    if isinstance(origin, float) and origin.is_integer():
        return str(int(origin))
    if isinstance(origin, list | tuple):
        return f"[{', '.join(map(_said, origin))}]"
    if isinstance(origin, dict):
        return f"{{{', '.join(f'{key!r}: {_said(origin[key])}' for key in sorted(origin))}}}"
    return repr(origin)


def origins(plan: WiredFlow, values: dict[str, Any]) -> Origins:
    """What each read and param is: a value, texts and sources in a row, or the sources that it may come from."""
    return _Origins(plan, values).found


class Came:
    """What a step wrote under a key (a path into it), an input without a value, or what the pipe brings in.

    Of several the latest counts; where a data flag is among them, which is stored only where nothing is, the first.
    """

    def __init__(self, places: list[tuple[Any, ...]], *, is_first: bool = False) -> None:
        self.places = places
        self.is_first = is_first

    def __repr__(self) -> str:
        return f"{'first ' * self.is_first}from {sorted(map(repr, self.places))}"


def _came(found: list[tuple[Path, Write]]) -> Came:
    """What one name may mean: each write with the place that the name then stands for."""
    places = [(write.step, write.key, place[len(write.target) :]) for place, write in found]
    return Came(places, is_first=len(found) > 1 and any(write.is_data for _, write in found))


class _Origins:
    def __init__(self, plan: WiredFlow, values: dict[str, Any]) -> None:
        self.plan = plan
        self.flow: Flow = plan.flow
        self.values = values_of(plan.flow, values)
        self.reaching = plan
        self.meant: dict[tuple[str, str, str, Path], Reference] = {
            (each.step, each.role, each.key, each.path): each for each in plan.references
        }
        self.found: Origins = {}
        for wired in plan.steps.values():
            self._of_step(wired)

    def _of_step(self, wired: WiredStep) -> None:
        given: set[str] = set()
        for part in parts_of_step(wired):
            if part.role == OVER or (part.role == MAPPING and part.key in wired.step.inputs) or part.fault:
                continue
            given.add(part.key)
            item = wired.interface.reads.get(part.key) or wired.interface.params.get(part.key)
            meant = {path: self._meaning(self.meant[wired.id, part.role, part.key, path]) for path in part.paths}
            if part.is_template:
                origin = _expanded(part.written, meant)
            elif part.role != MAPPING:
                origin = part.written
            else:
                origin = meant[part.paths[0]] if len(part.paths) == 1 else _merged(list(meant.values()))
            self._put(wired, part.key, item, origin, part.written if part.is_template and part.paths else None)
        for key, item in wired.interface.reads.items():
            if key not in given or (key in wired.step.params and key not in wired.step.inputs):
                self._by_name(wired, key, item)

    def _put(self, wired: WiredStep, key: str, item: Item | None, origin: Any, written: Any = None) -> None:
        if not _holds_source(origin):
            origin = fitted(item, escaped(origin), written)
        if not (origin is None and item is not None and item.default is None):
            self.found[wired.id, key] = origin

    def _by_name(self, wired: WiredStep, key: str, item: Item) -> None:
        if "explicit" in item.marks and (wired.step.batch is None or key != wired.step.batch.item):
            return
        found = self.reaching.writes_at(wired.id, (key,))
        if wired.step.batch is not None and key == wired.step.batch.item:
            self.found[wired.id, key] = Came([(_ITEM,)])
        elif key in self.values and all(write.is_data for _, write in found):
            self._put(wired, key, item, self._of_input((key,)))
        elif found:
            self.found[wired.id, key] = _came(found)
        elif self.plan.first_read == (wired.id, key):
            if self._takes_stdin_by_template(wired):
                return
            self.found[wired.id, key] = Came([("stdin",)])
        elif key in self.flow.inputs:
            self._put(wired, key, item, self._of_input((key,)))
        elif item.required:
            self.found[wired.id, key] = Came([("input", key)])

    def _takes_stdin_by_template(self, wired: WiredStep) -> bool:
        """Whether a template of the step brings in what comes through the pipe, which then is not carried into it."""
        parts = [part for part in parts_of_step(wired) if part.is_template and not part.fault]
        return any(self._meaning_is_stdin(wired, part, path) for part in parts for path in part.paths)

    def _meaning_is_stdin(self, wired: WiredStep, part: Part, path: Path) -> bool:
        return self.meant[wired.id, part.role, part.key, path].input == "stdin"

    def _meaning(self, reference: Reference) -> Any:
        if reference.input is not None or input_meant(self.flow, self.values, reference):
            return self._of_input(reference.path)
        if reference.is_item:
            return Came([(_ITEM, *reference.path[1:])])
        if reference.trouble or not reference.writes:
            return Came([("nothing", *reference.path)])
        found = {
            (write.step, write.key): (there, write)
            for place in reference.places
            for there, write in self.reaching.writes_at(reference.step, place)
        }  # whatever may stand there, not only what the path names
        return _came([*found.values()] or list(zip(reference.places, reference.writes, strict=True)))

    def _of_input(self, path: Path) -> Any:
        name = str(path[0])
        if name in self.values:
            try:
                return look_up(self.values[name], path, 1)
            except PflowError:
                return Came([("input", *path)])
        given = self.flow.inputs.get(name)
        return Came([("stdin" if given is not None and given.pipe else name, *path[1:])])


def _expanded(written: Any, meant: dict[Path, Any]) -> Any:
    if isinstance(written, list):
        return [_expanded(item, meant) for item in written]
    if isinstance(written, dict):
        return {key: _expanded(item, meant) for key, item in written.items()}
    if not isinstance(written, str):
        return written
    parts = [part if isinstance(part, str) else meant[part] for part in parse_template(written)]
    if len(parts) == 1:
        return parts[0]
    joined: list[Any] = []
    for part in parts:
        text = part if isinstance(part, Came) else _text(part)
        if joined and isinstance(text, str) and isinstance(joined[-1], str):
            joined[-1] += text
        elif text != "":
            joined.append(text)
    if not joined:
        return ""
    return joined[0] if len(joined) == 1 and isinstance(joined[0], str) else tuple(joined)


def _text(value: Any) -> str:
    return str(value, "utf-8", "surrogateescape") if isinstance(value, bytes) else text_of(value)


def _merged(several: list[Any]) -> Any:
    if not all(isinstance(each, Came) for each in several):
        return several
    return Came([place for each in several for place in each.places], is_first=any(each.is_first for each in several))


def _holds_source(origin: Any) -> bool:
    if isinstance(origin, dict):
        return any(map(_holds_source, origin.values()))
    return isinstance(origin, Came) or (isinstance(origin, list | tuple) and any(map(_holds_source, origin)))
