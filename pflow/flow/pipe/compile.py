"""Compiling pipe syntax: what a person wrote becomes an ordinary flow, its values carried by mappings."""

from __future__ import annotations

from copy import copy

from pflow import TYPE_CHECKING
from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.flow import REST
from pflow.flow.pipe.carry import STDIN, are_parallel, carried_into, is_certain, is_given
from pflow.flow.pipe.read import read_flow
from pflow.flow.pipe.references import References, either, is_whole, latest
from pflow.flow.pipe.scan import is_cut_separator, scan, scan_words
from pflow.flow.wiring import wire
from pflow.flow.written import path_text, rewritten
from pflow.paths import parse_path
from pflow.templates import TEMPLATE, parse_template, references

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item
    from pflow.paths import Path


def parse_pipe(words: Sequence[str], catalog: Catalog) -> Flow:
    if len(words) > 1:
        _check_words(words)
    text, tokens = (words[0], scan(words[0])) if len(words) == 1 else scan_words(words)
    flow, apart = read_flow(text, tokens, catalog)
    return compile_flow(flow, apart)


def _check_words(words: Sequence[str]) -> None:
    """Refuse what a shell has left of a `=>` without quotes, and a flow in quotes with more words behind it."""
    from pflow.flow.pipe.recognize import is_pipe_text, taken_for_redirection

    if any(map(is_cut_separator, words)) and (error := taken_for_redirection(words)):
        raise error
    if is_pipe_text(words[0]):
        what = f"cannot take '{shorten(words[1])}' behind a flow in quotes"
        raise PflowError(what, hint="inside the quotes, after its step", exit=USAGE)


def compile_flow(flow: Flow, apart: set[str]) -> Flow:
    """A new flow with the mappings that pipe syntax implies. Steps in `apart` have `--id`: their keys move under it."""
    return _Compiler(wire(flow), apart).compiled()


class _Compiler:
    """`moved` are the steps whose writes go under their ids, `fed` those that take what these steps hand on."""

    def __init__(self, flow: WiredFlow, apart: set[str]) -> None:
        self.flow = flow
        self.apart = apart
        self.moved = find_moved(flow, apart)
        self.references = References(flow, self.moved)
        self.carried = carried_into(flow)
        fed = {id: self._feeders(step) for id, step in flow.steps.items()}
        self.fed = {id: writers for id, writers in fed.items() if writers}
        self.warnings: list[str] = []

    def compiled(self) -> Flow:
        self.references.refuse_slips()
        self.references.guess(self.carried, self.fed)
        compiled = copy(self.flow.flow)
        compiled.steps = [self._step(step) for step in self.flow.steps.values()]
        warnings = [*compiled.warnings, *self.warnings, *self.references.warnings]
        compiled.warnings = list(dict.fromkeys(warnings))
        return compiled

    def _feeders(self, step: WiredStep) -> tuple[str, ...]:
        """The steps whose write a step takes as what is carried; none where it is not to, or need not be there."""
        read, carried = step.interface.pipe_read, self.carried[step.id]
        if read is None or is_given(step, read.name) or not (carried.is_sure or read.required):
            return ()
        is_start = step.id == self.flow.graph.first and carried.writers == (STDIN,)
        return () if is_start or self.references.uses(step.id, carried.writers) else carried.writers

    def _step(self, wired: WiredStep) -> Step:
        step, places = copy(wired.step), self.references.places[wired.id]
        step.input_mappings = {key: _renamed(source, places) for key, source in wired.step.input_mappings.items()}
        step.params = {key: self._rewritten(wired, key, value) for key, value in wired.step.params.items()}
        step.inputs = {}
        for key, value in wired.step.inputs.items():
            source = self._as_mapping(wired, wired.interface.reads.get(key), value)
            if source is not None:
                step.input_mappings[key] = source
            else:
                step.inputs[key] = self._rewritten(wired, key, value)
        self._feed(wired, step)
        if self.moved:
            self._map_by_name(wired, step)
        if wired.id in self.moved:
            writes = wired.interface.writes
            own = {key: path_text((wired.id, key)) for key in writes}
            if wired.id in self.apart and (wired.interface.open or not writes):  # what it writes, nobody knows
                own = {REST: path_text((wired.id,))}
            step.output_mappings = own | wired.step.output_mappings
        return step

    def _as_mapping(self, step: WiredStep, item: Item | None, value: Any) -> str | list[str] | None:
        """The mapping that a templated flag becomes; None where it stays an input.

        A flag that a stage would not store becomes one, and so does what one of several steps wrote last: no input can
        say that.
        """
        if item is None or not is_liftable(item, value):
            return None
        places = self.references.places[step.id]
        path = whole_reference(value)
        if path is None or not (is_textual(item) or self._is_exact(step, item)):
            return None if item.is_stored else TEMPLATE + self._rewritten(step, item.name, value)
        source = one_or_several(map(path_text, places.get(path, (path,))))
        return None if item.is_stored and isinstance(source, str) else source

    def _is_exact(self, step: WiredStep, item: Item) -> bool:
        """Whether a flag's references are to values of its very type, so that it need not be read as text."""
        own = [each for each in self.references.of_step[step.id] if each.key == item.name]
        fits = {"int", "float"} if item.type.name == "float" else {item.type.name}
        return {self.flow.type_of(each).name for each in own} <= fits

    def _rewritten(self, step: WiredStep, key: str, value: Any) -> Any:
        """A flag's value with each name as the one place that it means. Several are left, with a warning."""
        item = step.interface.reads.get(key) or step.interface.params.get(key)
        if item is not None and "verbatim" in item.marks:
            return value
        places = self.references.places[step.id]
        for path in references(value):
            if len(places.get(path, ())) > 1:
                what = f"'{path_text(path)}' in --{key.replace('_', '-')} of '{step.id}'"
                self.warnings.append(f"{what} may mean {either(places[path])}: name one")
        return rewritten(value, {path: there[0] for path, there in places.items() if len(there) == 1})

    def _feed(self, wired: WiredStep, step: Step) -> None:
        """Map the `[pipe]` read to what is carried."""
        writers, read = self.fed.get(wired.id), wired.interface.pipe_read
        if writers and read:
            places = [self.references.carried_place(writer) for writer in writers]
            step.input_mappings[read.name] = one_or_several(map(path_text, places))

    def _map_by_name(self, wired: WiredStep, step: Step) -> None:
        """Map the reads that take the store's key of their name to where the latest write of it moved."""
        for key, item in wired.interface.reads.items():
            writes = latest(self.flow.writes_named(wired.id, (key,)))
            steps = {write.step for write in writes if not write.is_data}
            is_fed = "pipe" in item.marks and bool(self.carried[wired.id].writers)
            if is_fed or "explicit" in item.marks or is_given(wired, key) or not steps & self.moved:
                continue
            if is_certain(self.flow, steps, wired.id) and not are_parallel(self.flow, steps):
                step.input_mappings[key] = one_or_several(
                    path_text(self.references.place_of(write)) for write in writes
                )


def find_moved(flow: WiredFlow, apart: set[str]) -> set[str]:
    """The steps that move whole under their ids: those `apart`, and those whose writes meet what another step stores.

    Moving one may put it in another's way.
    """
    moved = set(apart)
    while more := _meeting(flow, moved):
        moved |= more
    return moved


def _meeting(flow: WiredFlow, moved: set[str]) -> set[str]:
    """The steps that would write where another does, by the roots of their places."""
    writers: dict[str, set[str]] = {}
    free: list[tuple[str, str]] = []
    for id, step in flow.steps.items():
        mapped = step.step.output_mappings
        for key in step.interface.writes:
            root = str(parse_path(mapped[key])[0]) if key in mapped else id if id in moved else key
            writers.setdefault(root, set()).add(id)
            free += [(id, key)] if key not in mapped and id not in moved else []
        for key in step.step.inputs:
            if key in step.interface.reads and step.interface.reads[key].is_stored:
                writers.setdefault(id if is_whole(step, moved) else key, set()).add(id)
    return {id for id, key in free if len(writers[key]) > 1}


def is_liftable(item: Item, value: Any) -> bool:
    """Whether a mapping could say what a flag does: one text that is a template, not one inside a list or an object."""
    if "verbatim" in item.marks or item.type.name in ("list", "dict"):
        return False
    return isinstance(value, str) and any(True for _ in references(value))


def is_textual(item: Item) -> bool:
    """Whether a read takes a text as it is, so that a template of one reference is the same as the path in it."""
    return item.type.name in ("str", "any", "path", "bytes", "choice")


def whole_reference(text: str) -> Path | None:
    parts = parse_template(text)
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else None


def _renamed(source: str | list[str], places: dict[Path, tuple[Path, ...]]) -> str | list[str]:
    """A mapping's source, each of its paths as the places that it means."""
    paths = [(path, places.get(parse_path(path))) for path in (source if isinstance(source, list) else [source])]
    return one_or_several([text for path, there in paths for text in (map(path_text, there) if there else [path])])


def one_or_several(paths: Iterable[str]) -> str | list[str]:
    """A mapping's source of these paths."""
    several = list(dict.fromkeys(paths))
    return several[0] if len(several) == 1 else several
