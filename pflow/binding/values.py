"""What a step starts with: the value of each read and param, and the places that it came from."""

from __future__ import annotations

import os

from pflow.binding.given import settle
from pflow.binding.sources import Constant, PathSource, TemplateSource
from pflow.binding.stage_sources import from_environment
from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.interface import fresh
from pflow.paths import write_path
from pflow.run.failure import nothing_gives
from pflow.types import Type, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.binding.store import StepStore
    from pflow.flow.wired import WiredStep
    from pflow.interface import Item

    Given = Mapping[str, Any] | None
    Origins = dict[str, tuple[str, ...]]
    """The places that the value of each read came from; none for what stands in the flow itself."""

_ANY = Type("any")
_EXACT = {"str": str, "bool": bool, "dict": dict, "int": int}
"""Types of which a value of this very class is one."""


class Finder:
    """Finds the value of one read or param that is wired to a source."""

    __slots__ = ("is_soft", "item", "key", "places", "source", "type", "written")

    def __init__(self, key: str, source: Source, item: Item | None, *, is_soft: bool, is_given: bool) -> None:
        self.key = key
        self.source = source
        self.item = item
        self.type = item.type if item else _ANY
        self.is_soft = is_soft
        self.written = source.written if isinstance(source, TemplateSource) else None
        self.places = tuple(map(write_path, source.paths)) if source.is_fixed else None
        if is_given and isinstance(source, Constant):
            self.source = Constant(self.fitted(source.value), source.origin)

    def find(self, shared: Any) -> Any:
        """The value, as its type. Raises PflowError: 66 where a path leads nowhere, 65 where it does not fit."""
        if isinstance(self.source, Constant):
            return self.source.value
        value = self.source.find(shared)
        if self.written is not None:
            value = settle(self.key, self.type, self.written, value)
            return self.fitted(None) if value is None else value
        return self.fitted(value)

    def fitted(self, value: Any) -> Any:
        if self.type.name == "any" or value.__class__ is _EXACT.get(self.type.name):
            return value
        if value is None and self.item is not None and self.item.default is None:
            return None
        try:
            return fit(self.type, value)
        except ValueError as error:
            origin = f" from {self.source.origin}" if self.source.origin else ""
            raise PflowError(f"cannot read '{self.key}'{origin}: {error}", exit=BAD_DATA) from None

    def origins(self, shared: Any) -> tuple[str, ...]:
        if self.places is not None:
            return self.places
        return tuple(map(write_path, self.source.places(shared)))


def _refuse_templates(wired: WiredStep, sources: Mapping[str, Source]) -> None:
    """Raise PflowError (65) for a template that would fill what is verbatim, such as a command."""
    for key, source in sources.items():
        item = wired.interface.reads.get(key)
        if item is not None and "verbatim" in item.marks and isinstance(source, TemplateSource):
            hint = "values go in as arguments, or on stdin"
            raise PflowError(f"cannot fill '{key}' with a template: it is taken as it is", hint=hint, exit=BAD_DATA)


def _is_straight(finder: Finder) -> bool:
    """Whether a path by names only leads to the value: no index, no alternative, no default."""
    source = finder.source
    if not isinstance(source, PathSource) or finder.is_soft or not all(isinstance(step, str) for step in source.path):
        return False
    return finder.item is None or finder.item.default is not None


class Values:
    """Finds everything that one step starts with."""

    def __init__(self, wired: WiredStep, params: Given = None, data: Given = None) -> None:
        """`params` and `data` go over what the flow says: each is a value of its type already."""
        interface = wired.interface
        inputs = {**wired.step.inputs, **(data or {})}
        sources = {**wired.sources, **{key: Constant(value, f"--{key}") for key, value in (data or {}).items()}}
        self.wired = wired
        _refuse_templates(wired, sources)
        self.finders = [
            Finder(key, source, interface.reads.get(key), is_soft=key in wired.soft, is_given=key in inputs)
            for key, source in sources.items()
        ]
        self.straight = [
            (finder.key, source.path, _EXACT.get(finder.type.name, None if finder.type.name == "any" else Type), finder)
            for finder in self.finders
            if isinstance(source := finder.source, PathSource) and _is_straight(finder)
        ]
        self.others = [finder for finder in self.finders if not _is_straight(finder)]
        self.stored = [key for key in inputs if _is_stored(interface.reads.get(key))]
        self.fallbacks: dict[str, Any] = {}
        self.stand_ins: list[Finder] = []
        """Params with templates that stand in for reads."""
        self.by_name = [item for key, item in interface.reads.items() if key not in sources]
        self.hidden = {item.name for item in self.by_name if "explicit" in item.marks}
        self.typed = [
            (item.name, _EXACT.get(item.type.name), item)
            for item in self.by_name
            if item.type.name != "any" and item.name not in self.hidden
        ]
        self.needed = [item for item in interface.reads.values() if item.required and item.name not in sources]
        self.needed += [interface.reads[key] for key in wired.soft if interface.reads[key].required]
        self.params: dict[str, Any] = {}
        self.param_finders: list[Finder] = []
        self._settle_params(params or {})
        for item in interface.reads.values():
            self._set_fallback(item)
        self.has_containers = any(isinstance(value, list | dict) for value in self.params.values())
        wired_finders = [*self.finders, *self.param_finders, *self.stand_ins]
        self.is_fixed = all(finder.places is not None for finder in wired_finders)

    def is_watched(self, key: str) -> bool:
        """Whether a change in place is a write: of what a node may write, or, where nobody knows, of anything."""
        return self.wired.interface.open or key in self.wired.interface.writes

    @property
    def is_plain(self) -> bool:
        """Whether every value is the store's own, by its name and of whatever type."""
        return not (self.finders or self.param_finders or self.hidden or self.typed or self.fallbacks or self.stand_ins)

    def _settle_params(self, overrides: Mapping[str, Any]) -> None:
        """Params that stand fast; what has a template is found when the step runs."""
        wired = self.wired
        for key, item in wired.interface.params.items():
            if key not in wired.params:
                self._set_unwritten_param(key, item)
        for key, source in wired.params.items():
            if key in overrides:
                continue
            if key in wired.interface.reads and key not in wired.interface.params:
                continue  # it stands in for a read
            finder = Finder(key, source, wired.interface.params.get(key), is_soft=False, is_given=True)
            if isinstance(finder.source, Constant):
                self.params[key] = finder.source.value
            else:
                self.param_finders.append(finder)
        self.params.update(overrides)

    def _set_unwritten_param(self, key: str, item: Item) -> None:
        if item.env and os.environ.get(item.env):
            self.params[key] = from_environment(item)
        elif not item.required:
            self.params[key] = fresh(item.default)

    def _set_fallback(self, item: Item) -> None:
        """What stands in for a read that neither a flag, a mapping nor the store gives: a param, else the default."""
        source = self.wired.params.get(item.name)
        if isinstance(source, Constant):
            self.fallbacks[item.name] = Finder(item.name, source, item, is_soft=False, is_given=True).source.find({})
        elif source is not None:
            self.stand_ins.append(Finder(item.name, source, item, is_soft=False, is_given=False))
        elif not item.required and item.default is not None:
            self.fallbacks[item.name] = fresh(item.default)

    def find(self, shared: Any, found: dict[str, Any]) -> None:
        """Find every wired read. Raises PflowError before the node has begun: 66 for what a path does not lead to."""
        for key, path, exact, finder in self.straight:
            try:
                value = shared
                for step in path:
                    value = value[step]
            except (KeyError, TypeError, IndexError):  # into a list or a JSON text, or not there: it says so
                value = finder.source.find(shared)
            found[key] = value if exact is None or value.__class__ is exact else finder.fitted(value)
        for finder in self.others:
            self._find_other(finder, shared, found)
        for finder in self.stand_ins:
            if finder.key not in found and (finder.key in self.hidden or finder.key not in shared):
                found[finder.key] = finder.find(shared)
        for key, exact, item in self.typed:
            if key in shared and shared[key].__class__ is not exact:
                self._fit_by_name(key, item, shared, found)

    def check_needed(self, store: StepStore) -> None:
        """Raise PflowError (66) for the first required read that nothing gives."""
        for item in self.needed:
            if item.name not in store:
                raise nothing_gives(item)

    def _find_other(self, finder: Finder, shared: Any, found: dict[str, Any]) -> None:
        try:
            found[finder.key] = finder.find(shared)
        except PflowError as error:
            if not (finder.is_soft and error.exit == MISSING):
                raise

    def _fit_by_name(self, key: str, item: Item, shared: Any, found: dict[str, Any]) -> None:
        value = Finder(key, PathSource((key,)), item, is_soft=False, is_given=False).find(shared)
        if value is not None:
            found[key] = value

    def origins(self, shared: Any) -> Origins:
        """Where the value of each read, and of each `params.NAME`, comes from."""
        found: Origins = {key: (write_path((key,)),) for key, _, _ in self.typed if key in shared}
        found |= {finder.key: finder.origins(shared) for finder in [*self.stand_ins, *self.finders]}
        return found | {f"params.{finder.key}": finder.origins(shared) for finder in self.param_finders}

    def find_params(self, shared: Any) -> Any:
        """The params, those with templates in them too."""
        found = fresh(self.params)
        for finder in self.param_finders:
            found[finder.key] = finder.find(shared)
        return found


def _is_stored(item: Item | None) -> bool:
    """Whether a data flag also goes into the store."""
    return item is None or item.is_stored
