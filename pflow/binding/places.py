"""Places in a store, a dict or a document: what is there, and setting, checking and removing it in place."""

from __future__ import annotations

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.paths import kind_of, look_up, missing, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from pflow.paths import Path


class NotThere(PflowError, KeyError):
    """Nothing is at a path: a KeyError for nodes; for people 66, and what there is instead."""

    def __str__(self) -> str:
        return self.message


def find(store: Any, path: Path) -> Any:
    """The value at a path of a store. Raises NotThere, which says what there is instead."""
    key = path[0] if isinstance(path[0], str) else str(path[0])
    if key not in store:
        raise _not_there(path, missing(key, list(store), "the store"))
    if len(path) == 1:
        return store[key]
    try:
        return look_up(store[key], path, 1)
    except PflowError as error:
        if error.exit == MISSING:
            raise _not_there(path, error) from None
        raise


def _not_there(path: Path, why: PflowError) -> NotThere:
    return NotThere(f"cannot find '{write_path(path)}': {why.message}", hint=why.hint, exit=MISSING)


def has(store: Any, path: Path) -> bool:
    """Whether there is something at a path."""
    if len(path) == 1 or str(path[0]) not in store:  # an error that says what there is takes long to word
        return str(path[0]) in store
    try:
        find(store, path)
    except NotThere:
        return False
    return True


def assign(store: MutableMapping[str, Any], path: Path, value: Any) -> None:
    """Set the place at a path, objects made on the way. Raises PflowError (65) where something else is in the way."""
    container = store
    for at, step in enumerate(path[:-1]):
        container = container.setdefault(str(step), {})
        if not isinstance(container, dict):
            raise _in_the_way(path, at, container)
    container[str(path[-1])] = value


def check_place(store: Any, path: Path) -> None:
    """Raise PflowError (65) now where `assign` would."""
    container = store
    for at, step in enumerate(path[:-1]):
        if str(step) not in container:
            return
        container = container[str(step)]
        if not isinstance(container, dict):
            raise _in_the_way(path, at, container)


def _in_the_way(path: Path, at: int, there: Any) -> PflowError:
    place = write_path(path[: at + 1])
    why = f"'{place}' is {kind_of(there)}, not an object"
    return PflowError(f"cannot write '{write_path(path)}': {why}", exit=BAD_DATA)


def remove(store: MutableMapping[str, Any], path: Path) -> None:
    """Remove what is at a path. Raises NotThere where nothing is, or it is inside a text that holds JSON."""
    find(store, path)
    container: Any = find(store, path[:-1]) if len(path) > 1 else store
    if isinstance(container, str):
        raise NotThere(f"cannot remove '{write_path(path)}': it is inside a text", exit=MISSING)
    key: Any = path[-1]
    del container[int(key) if isinstance(container, list) else str(key)]
