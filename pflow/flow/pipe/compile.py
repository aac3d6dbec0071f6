"""Compiling pipe syntax: a flow as it is written becomes one that is wired, by ordinary mappings."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.pipe.carry import STDIN, are_parallel, carried_into, is_certain, is_given
from pflow.flow.pipe.flags import as_mapping, is_liftable, lift_templates, path_text, renamed
from pflow.flow.pipe.guess import guess_names
from pflow.flow.pipe.meaning import Meanings, either, latest
from pflow.flow.pipe.moves import find_moved
from pflow.flow.pipe.read import read_flow
from pflow.flow.pipe.scan import scan, scan_words
from pflow.flow.reaching import Reaching
from pflow.flow.wiring import wire
from pflow.paths import parse_path
from pflow.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.flow.flow import Flow
    from pflow.flow.pipe.flags import Places
    from pflow.flow.pipe.steps import Draft
    from pflow.flow.wired import WiredStep, Write
    from pflow.interface import Item


def parse_pipe(words: Sequence[str], catalog: Catalog) -> Flow:
    if len(words) > 1:
        _check_words(words)
    text, tokens = (words[0], scan(words[0])) if len(words) == 1 else scan_words(words)
    flow, drafts = read_flow(text, tokens, catalog)
    _Compiler(flow, drafts).compile()
    return flow


def _check_words(words: Sequence[str]) -> None:
    """Refuse what a shell has left of a `=>` without quotes, and a flow in quotes with more words behind it."""
    from pflow.flow.pipe.recognize import is_pipe_text

    if any(word.startswith("=") and word.endswith("=") for word in words):
        from pflow.flow.pipe.redirection import taken_for_redirection

        if error := taken_for_redirection(words):
            raise error
    if is_pipe_text(words[0]):
        what = f"cannot take '{shorten(words[1])}' behind a flow in quotes"
        raise PflowError(what, hint="inside the quotes, after its step", exit=USAGE)


class _Compiler:
    """Wires a flow in place. `fed` are the steps that get what is carried, with those that wrote it."""

    def __init__(self, flow: Flow, drafts: list[Draft]) -> None:
        self.flow = flow
        self.lifted = {draft.step.id: lift_templates(draft.step, draft.interface) for draft in drafts}
        self.plan = wire(flow)
        self.moved = find_moved(self.plan, {draft.step.id for draft in drafts if draft.is_kept_apart})
        self.meanings = Meanings(self.plan, self.moved, self.lifted)
        self.carried = carried_into(self.plan)
        fed = {id: self._feeders(wired) for id, wired in self.plan.steps.items()}
        self.fed = {id: writers for id, writers in fed.items() if writers}

    def compile(self) -> None:
        self.meanings.refuse_slips()
        names = Reaching(self.plan).at if self.moved else {}
        self.flow.warnings += guess_names(self.meanings, self.carried, self.fed)
        for wired in self.plan.steps.values():
            self._settle_flags(wired)
            self._feed(wired)
            for key, item in wired.interface.reads.items() if self.moved else ():
                self._map_by_name(wired, key, item, latest(names[wired.id].get((key,), {}).values()))
        for wired in self.plan.steps.values():
            self._move(wired)
        self.flow.warnings = list(dict.fromkeys(self.flow.warnings + self.meanings.warnings))

    def _feeders(self, wired: WiredStep) -> tuple[str, ...]:
        """The steps whose write a step takes as what is carried; none where it is not to, or need not be there."""
        read, carried = wired.interface.pipe_read, self.carried[wired.id]
        if read is None or is_given(wired, read.name) or not (carried.is_sure or read.required):
            return ()
        is_start = wired.id == self.plan.graph.first and carried.writers == (STDIN,)
        return () if is_start or self.meanings.uses(wired.id, carried.writers) else carried.writers

    def _feed(self, wired: WiredStep) -> None:
        writers, read = self.fed.get(wired.id), wired.interface.pipe_read
        if writers and read:
            wired.step.input_mappings[read.name] = _source(
                path_text(self.meanings.carried_place(writer)) for writer in writers
            )

    def _settle_flags(self, wired: WiredStep) -> None:
        """Give the names in a step's flags the places that they mean."""
        step, places, lifted = wired.step, self.meanings.of[wired.id], self.lifted[wired.id]
        for key, source in step.input_mappings.items():
            if key in lifted:
                source = self._lifted_source(wired, wired.interface.reads[key], lifted[key])
                self._warn_of_several(wired, key, source)
            else:
                source = self._renamed_source(source, places)
            step.input_mappings[key] = source
        self._lift_alternatives(wired)
        items = {**wired.interface.params, **wired.interface.reads}
        for values in (step.inputs, step.params):
            for key, value in values.items():
                if key not in items or "verbatim" not in items[key].marks:
                    values[key] = renamed(value, places)
                    self._warn_of_several(wired, key, value)

    def _lift_alternatives(self, wired: WiredStep) -> None:
        """Make a mapping of each flag that is what one of several steps wrote last: no input can say that."""
        step, reads = wired.step, wired.interface.reads
        for key, value in list(step.inputs.items()):
            if key not in reads or not is_liftable(reads[key], value):
                continue
            source = self._lifted_source(wired, reads[key], value)
            if isinstance(source, list):
                del step.inputs[key]
                step.input_mappings[key] = source

    def _lifted_source(self, wired: WiredStep, item: Item, text: str) -> str | list[str]:
        is_exact = self._is_exact(wired, item)
        return as_mapping(item, text, self.meanings.of[wired.id], is_exact=is_exact)

    def _renamed_source(self, source: str | list[str], places: Places) -> str | list[str]:
        paths = [(path, places.get(parse_path(path))) for path in (source if isinstance(source, list) else [source])]
        return _source([text for path, there in paths for text in (map(path_text, there) if there else [path])])

    def _is_exact(self, wired: WiredStep, item: Item) -> bool:
        """Whether a flag's references are to values of its very type."""
        own = [each for each in self.meanings.references[wired.id] if each.key == item.name]
        fits = {"int", "float"} if item.type.name == "float" else {item.type.name}
        return {self.plan.type_of(each).name for each in own} <= fits

    def _warn_of_several(self, wired: WiredStep, key: str, value: Any) -> None:
        """Warn of each name inside a text that may mean several places, which only a mapping can leave open."""
        places = self.meanings.of[wired.id]
        for path in references(value):
            if len(places.get(path, ())) > 1:
                what = f"'{path_text(path)}' in --{key.replace('_', '-')} of '{wired.id}'"
                self.flow.warnings.append(f"{what} may mean {either(places[path])}: name one")

    def _map_by_name(self, wired: WiredStep, key: str, item: Item, writes: list[Write]) -> None:
        """Map a read that takes the store's key of its name to where the latest write of it went."""
        steps = {write.step for write in writes if not write.is_data}
        if "explicit" in item.marks or is_given(wired, key) or not steps & self.moved:
            return
        if "pipe" in item.marks and self.carried[wired.id].writers:
            return
        if is_certain(self.plan, steps, wired.id) and not are_parallel(self.plan, steps):
            wired.step.input_mappings[key] = _source(path_text(self.meanings.place(write)) for write in writes)

    def _move(self, wired: WiredStep) -> None:
        """Put the writes of a step that moves under its id."""
        if wired.id in self.moved:
            for key in wired.interface.writes:
                wired.step.output_mappings.setdefault(key, path_text((wired.id, key)))


def _source(paths: Iterable[str]) -> str | list[str]:
    several = list(dict.fromkeys(paths))
    return several[0] if len(several) == 1 else several
