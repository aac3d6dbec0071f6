"""The store under a node's own names, for nodes that run on a dict outside a flow."""

from __future__ import annotations

from _collections_abc import MutableMapping

from pflow import Any, Iterator, Mapping
from pflow.binding.sources import Source, assign, find, parse_source, remove
from pflow.values.paths import Path, parse_path


class NodeAwareSharedStore(MutableMapping):  # type: ignore[type-arg]
    """A store under a node's own names: its `prompt` may be the store's `formatted_prompt` or `fetch.issue.title`.

    `input_mappings` gives the source of a read: a path, `template:` and a text, or a list of paths, of which the first
    that exists counts. `output_mappings` gives the path of a write; objects on the way are made. Any other key is the
    store's own. A key that was written through this proxy is read from where it was written.

    Raises KeyError for a missing key, ValueError for a mapping that does not parse as a path, PflowError (65) if
    something is in the way of a target.
    """

    def __init__(
        self,
        shared: MutableMapping[str, Any],
        input_mappings: Mapping[str, str | list[str]] | None = None,
        output_mappings: Mapping[str, str] | None = None,
    ) -> None:
        self._shared = shared
        self._sources: dict[str, Source] = {key: parse_source(at) for key, at in (input_mappings or {}).items()}
        self._targets: dict[str, Path] = {key: parse_path(path) for key, path in (output_mappings or {}).items()}
        self._written: dict[str, Path] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._written:
            return find(self._shared, self._written[key])
        if key in self._sources:
            return self._sources[key].find(self._shared)
        return self._shared[key]

    def __setitem__(self, key: str, value: Any) -> None:
        target = self._targets.get(key, (key,))
        assign(self._shared, target, value)
        self._written[key] = target

    def __delitem__(self, key: str) -> None:
        place = self._targets.get(key, (key,))
        remove(self._shared, self._written.pop(key, place))

    def __iter__(self) -> Iterator[str]:
        own = dict.fromkeys([*self._shared, *self._sources, *self._written])
        return (key for key in own if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
