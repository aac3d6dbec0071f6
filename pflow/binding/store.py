"""The store as one node sees it, in a stage and in a step alike: its values, reads and changes."""

from __future__ import annotations

from _collections_abc import MutableMapping

from pflow import TYPE_CHECKING, Any, Callable, Collection, Iterator, Mapping
from pflow.binding.sources import Constant
from pflow.errors import PflowError, result_of
from pflow.interface.interface import Interface, fresh
from pflow.values.paths import Path, parse_path

STAND_IN, FOUND, OWN = 0, 1, 2
"""Where a read came from: a param or default (a stand-in), a value found for it, or the store's own key."""

REMOVED = ...
"""Replaces the value of a key that the node deleted. It is the same object in a child process and in its parent."""

_FILLED: Any = object()
"""A key that no node sees. Without it, json's C code would take a store from which nothing was read for empty."""


if TYPE_CHECKING:
    _MutableDict = dict[str, Any]
else:

    class _MutableDict(MutableMapping, dict):
        """A dict in which every method calls the few that a class defines."""


class NodeStore(_MutableDict):
    """A dict of what one node may read. Each value is looked up when the node asks for it.

    A key has the value that the node itself wrote, else the one found for it (flags, mappings), else the store's own,
    else a stand-in (params, defaults). `store` is a flow's dict, or a stage's document, which decodes each value when
    it is asked for. With `has_copies` lists and objects are handed out as copies, so that the store does not change
    before the node has ended. `reads` notes where each value that the node read came from.
    """

    __slots__ = ("_changed", "_copies", "_hidden", "_stand_ins", "_store", "asked", "dropped", "found", "reads")

    def __init__(
        self, store: Any, found: dict[str, Any] | None = None, stand_ins: Mapping[str, Any] | None = None,
        hidden: Collection[str] = (), *, has_copies: bool = True,
    ) -> None:  # fmt: skip
        self._store = store
        self._stand_ins = stand_ins or {}
        self._hidden = hidden
        self._copies: dict[str, tuple[Any, Any]] | None = {} if has_copies else None
        """Each copy that was handed out, and its original."""
        self._changed: dict[str, None] = {}
        self.found = found if found is not None else {}
        self.reads: dict[str, int] = {}
        self.dropped: list[str] = []
        """Keys whose value the node changed in place, where `changes` does not count that as a write."""
        self.asked: set[str] = set()
        """Keys that the node asked for without reading a value; `*` if it listed all keys."""
        dict.__setitem__(self, _FILLED, None)

    __getitem__ = dict.__getitem__

    def __missing__(self, key: str) -> Any:
        if self._is_there(key):
            return self._take(key)
        self._ask(key)
        raise KeyError(key)

    def peek(self, key: str) -> Any:
        """Return a value without counting it as read; the caller must not change it."""
        return dict.__getitem__(self, key) if dict.__contains__(self, key) else self._look_up(key)[1]

    def is_given(self, key: str) -> bool:
        """Return True if the store or a source gives this read a value, not only a param or default."""
        return key in self.found or (key in self._store and key not in self._hidden)

    def _is_there(self, key: Any) -> bool:
        """Return True for a key that has a value and that the node has not set or deleted."""
        if key in self._changed:
            return False
        return self.is_given(key) or key in self._stand_ins

    def _look_up(self, key: str) -> tuple[int, Any]:
        if key in self.found:
            return FOUND, self.found[key]
        if key in self._store and key not in self._hidden:
            return OWN, self._store[key]
        return STAND_IN, self._stand_ins[key]

    def _take(self, key: str) -> Any:
        self.reads[key], value = self._look_up(key)
        if self._copies is not None and value.__class__ in (list, dict):
            self._copies[key] = copy, _ = fresh(value), value
            value = copy
        dict.__setitem__(self, key, value)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        dict.__setitem__(self, key, value)
        self._changed[key] = None

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        dict.pop(self, key, None)
        self._changed[key] = None

    def __iter__(self) -> Iterator[str]:  # overridden so that dict(self) looks each value up
        self.asked.add("*")
        keys = dict.fromkeys([*self._store, *self._stand_ins, *self.found, *self._changed])
        return iter([key for key in keys if dict.__contains__(self, key) or self._is_there(key)])

    def __contains__(self, key: object) -> bool:
        self._ask(key)
        return dict.__contains__(self, key) or self._is_there(key)

    def _ask(self, key: Any) -> None:
        if key not in self._changed:
            self.asked.add(key)

    def asked_beside(self, names: Collection[str]) -> list[str]:
        """Return the keys other than `names` that the node looked at before it wrote them itself."""
        return sorted((self.asked | self.reads.keys()) - {*names}, key=str)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return {**other, **self}

    def __ior__(self, other: Any) -> NodeStore:  # type: ignore[override]
        self.update(other)
        return self

    @property
    def changed(self) -> Collection[str]:
        """The keys that were set or deleted."""
        return self._changed

    def known(self) -> dict[str, Any]:
        """Return the keys that have been read or set so far, with their values."""
        return {key: value for key, value in dict.items(self) if key is not _FILLED}

    def changes(self, is_watched: Callable[[str], bool]) -> dict[str, Any]:
        """Return the keys that the node set, deleted (REMOVED) or, if `is_watched`, changed in place, in order."""
        for key, (value, before) in (self._copies or {}).items():
            if key in self._changed:
                continue
            if not is_watched(key):
                self.dropped += [key] if _differ(value, before) else ()
            elif not is_same(value, before):
                self._changed[key] = None
        return {key: dict.get(self, key, REMOVED) for key in self._changed}


def _differ(value: Any, before: Any) -> bool:
    return result_of(lambda: bool(value != before), of=Exception, otherwise=True)  # arrays compare by element


def is_same(one: Any, other: Any, *, is_rounded: bool = False) -> bool:
    """Return True if two values are equal as JSON: 1 equals 1.0, which some tools write, but not true; order counts.

    With `is_rounded`, large integers that differ only by rounding are equal too, since some tools (jq 1.6) round them.
    """
    kinds = {one.__class__, other.__class__}
    if kinds <= {int, float}:
        return bool(float(one) == float(other) if is_rounded else one == other)
    if len(kinds) > 1:
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(
            is_same(a, b, is_rounded=is_rounded) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        pairs = zip(one.values(), other.values(), strict=False)
        return list(one) == list(other) and all(is_same(a, b, is_rounded=is_rounded) for a, b in pairs)
    return bool(one == other)


def check_changes(interface: Interface, changes: dict[str, Any]) -> None:
    """Refuse a write, or the deletion of a key, that the interface does not name. Raises PflowError (1)."""
    if "stdin" in changes:
        raise PflowError("the node wrote 'stdin', which is reserved for data from the pipe")
    if interface.open:
        return
    for key, value in changes.items():
        if key not in interface.writes and not (value is REMOVED and key in interface.reads):
            did, there = "removed" if value is REMOVED else "wrote", ", ".join(interface.writes) or "nothing"
            raise PflowError(f"the node {did} '{key}', which its interface does not name", hint=f"it names {there}")


INPUTS, OUTPUTS = "input_mappings", "output_mappings"
INPUT_KEY, OUTPUT_KEY = "input_key", "output_key"
KEY_PARAMS = {INPUT_KEY: INPUTS, OUTPUT_KEY: OUTPUTS}
"""The params of seed 000 that name a key of the node, and the mappings that they become."""


def key_mappings(params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the mappings that the KEY_PARAMS make. Each key is parsed as a path."""
    return {
        goal: {params[name]: params[name]} for name, goal in KEY_PARAMS.items() if isinstance(params.get(name), str)
    }


def named_place(key: str) -> Path:
    """Return the place that a key in a param names: the path, or the key itself if it is not a path."""
    return result_of(parse_path, key, of=ValueError, otherwise=(key,))


def without_flow(shared: Any, interface: Interface, params: Mapping[str, Any]) -> Any:
    """Return the store for a node that runs on a dict outside a flow: the dict itself, if possible.

    Params, then defaults, stand in for missing reads; `key_mappings` are followed as paths.
    """
    if isinstance(shared, NodeStore):
        return shared
    stand_ins = {}
    for key, field in interface.reads.items():
        if key not in shared:
            value = params.get(key)
            if value is None and not field.required:
                value = fresh(field.default)
            if value is not None:
                stand_ins[key] = Constant(value, key)
    mappings = key_mappings(params)
    if not stand_ins and not mappings:
        return shared
    from pflow.binding.shared_store import NodeAwareSharedStore  # no stage needs it

    proxy = NodeAwareSharedStore(shared, **mappings)
    own = {key: source for key, source in proxy._sources.items() if key not in shared}
    proxy._sources = {**own, **stand_ins}
    return proxy
