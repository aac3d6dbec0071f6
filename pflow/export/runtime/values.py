"""Where the values of a step come from: a flag, a mapping, the store, a param or a default; the first that has it."""

from __future__ import annotations

import os

from pflow.binding.given import settle
from pflow.binding.sources import AlternativeSource, Constant, PathSource, TemplateSource
from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError
from pflow.interface import fresh
from pflow.paths import parse_path, write_path
from pflow.templates import references
from pflow.types import Type, fit, from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.interface import Interface, Item


class Template(TemplateSource):
    """A text, or a list or an object with texts in it, whose `${references}` are replaced just before the step runs.

    `sources` gives a reference the paths of which the one that was written last counts.
    """

    def __init__(self, written: Any, sources: Mapping[str, list[str]] | None = None) -> None:
        several = sources or {}
        super().__init__(written, {path: mapped(several.get(write_path(path), path)) for path in references(written)})


def mapped(source: Any) -> Source:
    """The source that a path, a list of paths or a Template names."""
    if isinstance(source, Template):
        return source
    if isinstance(source, list):
        return AlternativeSource(tuple(parse_path(path) for path in source))
    return PathSource(parse_path(source) if isinstance(source, str) else source)


def given(value: Any) -> Source:
    """The source that a value in the flow itself is."""
    return value if isinstance(value, Template) else Constant(value, "")


class Values:
    """Finds the values that one step starts with.

    `sources` are those of its reads, of which the ones in `optional` may lead nowhere; `params` are those of its
    params, or stand in for reads.
    """

    def __init__(
        self, interface: Interface, sources: dict[str, Source], params: dict[str, Source], optional: set[str]
    ) -> None:
        self.interface = interface
        self.sources = sources
        self.optional = optional
        reads = interface.reads
        self.by_name = {key: item for key, item in reads.items() if key not in sources}
        self.hidden = {key for key, item in self.by_name.items() if "explicit" in item.marks}
        self.needed = [item for key, item in reads.items() if item.required and (key not in sources or key in optional)]
        self.params = {key: source for key, source in params.items() if key in interface.params or key not in reads}
        self.fallbacks = {key: value for key, item in reads.items() for value in _fallback(item, params.get(key))}
        self.stand_ins = {key: source for key in self.by_name if isinstance(source := params.get(key), TemplateSource)}
        """Params with templates that stand in for reads."""

    def find_reads(self, shared: dict[str, Any]) -> dict[str, Any]:
        """The value of each read that the store does not simply have under its name."""
        found = {}
        for key, source in self.sources.items():
            item = self.interface.reads.get(key)
            try:
                value = _find(key, source, item, shared)
            except PflowError as error:
                if key in self.optional and error.exit == MISSING:
                    continue
                raise
            found[key] = value
        for key, item in self.by_name.items():
            if key in shared and key not in self.hidden and (value := _fitted(item, shared[key])) is not None:
                found[key] = value
        for key, source in self.stand_ins.items():
            if key not in found and (key in self.hidden or key not in shared):
                found[key] = _find(key, source, self.by_name[key], shared)
        return found

    def is_watched(self, key: str) -> bool:
        """Whether a change in place is a write: of what a node may write, or, where nobody knows, of anything."""
        return self.interface.open or key in self.interface.writes

    def find_params(self, shared: dict[str, Any]) -> dict[str, Any]:
        """The params: what the flow says, else the environment, else the node's defaults."""
        items = self.interface.params
        params = {key: value for key, item in items.items() if key not in self.params for value in _unset(item)}
        return params | {key: _find(key, source, items.get(key), shared) for key, source in self.params.items()}


def _find(key: str, source: Source, item: Item | None, shared: dict[str, Any]) -> Any:
    value = source.find(shared)
    if isinstance(source, TemplateSource):
        value = settle(key, item.type if item else Type("any"), source.written, value)
        return _fitted(item, None) if value is None else value
    return _fitted(item, fresh(value) if isinstance(source, Constant) else value)


def _fitted(item: Item | None, value: Any) -> Any:
    if item is None or item.type.name == "any" or (value is None and item.default is None):
        return value
    try:
        return fit(item.type, value)
    except ValueError as error:
        raise PflowError(f"cannot read '{item.name}': {error}", exit=BAD_DATA) from None


def _fallback(item: Item, param: Source | None) -> Iterator[Any]:
    """What stands in for a read that nothing else gives: a param of its name, else its default."""
    if isinstance(param, Constant):
        yield _fitted(item, param.value)
    elif param is None and not item.required and item.default is not None:
        yield fresh(item.default)


def _unset(item: Item) -> Iterator[Any]:
    """The value of a param that the flow does not set."""
    text = os.environ.get(item.env) if item.env else None
    if text:
        try:
            yield from_text(item.type, text)
        except ValueError as error:
            raise PflowError(f"cannot take {item.env}: {error}", exit=BAD_CONFIG) from None
    elif not item.required:
        yield fresh(item.default)
