"""Places in a store that is held in memory: finding what is there, and setting it in place."""

from __future__ import annotations

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.paths import kind_of, look_up, missing, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from pflow.paths import Path


class NotThere(PflowError, KeyError):
    """What stands at a path is not there: a KeyError for nodes, 66 with what there is for people."""

    def __str__(self) -> str:
        return self.message


def find(shared: Any, path: Path) -> Any:
    """The value at a path of a store. Raises NotThere, which says what there is instead."""
    key = path[0] if isinstance(path[0], str) else str(path[0])
    if key not in shared:
        raise _not_there(path, missing(key, list(shared), "the store"))
    if len(path) == 1:
        return shared[key]
    try:
        return look_up(shared[key], path, 1)
    except PflowError as error:
        if error.exit == MISSING:
            raise _not_there(path, error) from None
        raise


def _not_there(path: Path, why: PflowError) -> NotThere:
    return NotThere(f"cannot find '{write_path(path)}': {why.message}", hint=why.hint, exit=MISSING)


def has(shared: Any, path: Path) -> bool:
    if str(path[0]) not in shared:  # what find would say of it takes long
        return False
    try:
        find(shared, path)
    except NotThere:
        return False
    return True


def assign(shared: MutableMapping[str, Any], path: Path, value: Any) -> None:
    """Set the place at a path, objects made on the way. Raises PflowError (65) where something else is."""
    container = shared
    for at, step in enumerate(path[:-1]):
        below = container.setdefault(str(step), {})
        if not isinstance(below, dict):
            place = write_path(path[: at + 1])
            raise PflowError(f"cannot write '{write_path(path)}': '{place}' is {kind_of(below)}", exit=BAD_DATA)
        container = below
    container[str(path[-1])] = value


def check_place(shared: Any, path: Path) -> None:
    """Raise PflowError (65) now where `assign` would, for what stands in the way of the path."""
    container = shared
    for at, step in enumerate(path[:-1]):
        if str(step) not in container:
            return
        container = container[str(step)]
        if not isinstance(container, dict):
            place = write_path(path[: at + 1])
            raise PflowError(f"cannot write '{write_path(path)}': '{place}' is {kind_of(container)}", exit=BAD_DATA)


def remove(shared: MutableMapping[str, Any], path: Path) -> None:
    """Remove what stands at a path. Raises NotThere where nothing does, or it is in a text that holds JSON."""
    find(shared, path)
    container: Any = find(shared, path[:-1]) if len(path) > 1 else shared
    if isinstance(container, str):
        raise NotThere(f"cannot remove '{write_path(path)}': it stands inside a text", exit=MISSING)
    key: Any = path[-1]
    del container[int(key) if isinstance(container, list) else str(key)]
