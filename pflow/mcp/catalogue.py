"""The tools there are at this moment: listed anew whenever a node or a saved flow has come, gone or changed."""

from __future__ import annotations

import os

from pflow.catalog.discovery import own_places
from pflow.catalog.flows import saved_flows
from pflow.catalog.kinds import Kind, forget_kinds, list_kinds
from pflow.catalog.registry import data_directory
from pflow.catalog.source import in_words
from pflow.errors import NOT_FOUND, PflowError
from pflow.flow.subflow import FlowCatalog
from pflow.mcp.names import tool_name
from pflow.mcp.offered import Offered, offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Mark = tuple[tuple[str, int, int, int], ...]


class Catalogue:
    """Lists the tools. `only` are the names that are offered, all where there are none; `say` hears what is left out.

    `reserved` are names that no node and no flow gets.
    """

    def __init__(
        self, only: Sequence[str], *, read_only: bool, reserved: Sequence[str], say: Callable[[str], None]
    ) -> None:
        self.only = {_label(name) for name in only if name not in reserved}
        self.is_limited = bool(only)
        self.read_only = read_only
        self.reserved = reserved
        self.say = say
        self._mark: Mark | None = None
        self._told: Mark | None = None
        self._seen: Mark | None = None
        self._tools: dict[str, Offered] = {}
        self._said: set[str] = set()

    def tools(self) -> dict[str, Offered]:
        """Every tool that is offered, by its name."""
        mark = mark_of_files()
        if mark != self._mark:
            forget_kinds()
            self._tools = self._list()
            self._mark = mark
        return self._tools

    def tell(self) -> dict[str, Offered]:
        """Every tool, for a client, which is to hear when it is another list."""
        tools = self.tools()
        self._told = self._mark
        return tools

    def has_changed(self) -> bool:
        """Whether the list may be another than when this last was asked, or the client; False before it was told any.

        A call looks for its tool in a new list, and that the client was not told.
        """
        before, self._seen = self._seen, mark_of_files()
        return self._told is not None and self._seen not in (before, self._told)

    def find(self, name: str) -> Offered:
        """The tool of this name, by whichever it has. Raises PflowError (127) with the nearest."""
        tools = self.tools()
        if name in tools:
            return tools[name]
        by_label = {each.label: each for each in tools.values()}
        found = by_label.get(name) or by_label.get(f"flow:{name}")
        if found is not None:
            return found
        import difflib

        near = difflib.get_close_matches(name, dict.fromkeys([*tools, *by_label]), 2)
        hint = f"did you mean {' or '.join(near)}?" if near else "pflow_list lists what there is"
        raise PflowError(f"cannot find '{name}': no such node or saved flow here", hint=hint, exit=NOT_FOUND)

    def _list(self) -> dict[str, Offered]:
        tools: dict[str, Offered] = {}
        left: dict[str, str] = {}
        for kind in _kinds():
            if self.is_limited and kind.name not in self.only:
                continue
            try:
                offered = offer(kind)
            except (PflowError, OSError, ValueError, RecursionError, MemoryError) as error:
                left[kind.name] = error.message if isinstance(error, PflowError) else in_words(error)
                continue
            if self.read_only and not offered.is_read_only:
                continue
            offered.name = tool_name(offered.label, [*tools, *self.reserved])
            tools[offered.name] = offered
        self._say_left(left)
        return tools

    def _say_left(self, left: dict[str, str]) -> None:
        """Say once of each what is not offered, and why."""
        for name, why in left.items():
            line = f"'{name}' is not offered: {why}"
            if line not in self._said:
                self._said.add(line)
                self.say(line)


def _kinds() -> Iterator[Kind]:
    yield from list_kinds()
    catalog = FlowCatalog()
    for name in saved_flows():
        kind = catalog.find(f"flow:{name}")
        if kind is not None:
            yield kind


def _label(name: str) -> str:
    """What pflow calls the node or saved flow that a person names. Raises PflowError (127) where there is none."""
    from pflow.catalog.described import find

    if "/" in name:
        raise PflowError(
            f"cannot offer '{name}': it is a path", hint="the name of a node or saved flow", exit=NOT_FOUND
        )
    return find(name, FlowCatalog()).name


def mark_of_files() -> Mark:
    """What changes whenever the list may: the files of own nodes and saved flows, and the directories on PATH."""
    files = [*own_places(), data_directory("flows") or "."]
    on_path = [each for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    return tuple([mark for place in files for mark in _marks_in(place)] + [_mark(place) for place in on_path])


def _marks_in(directory: str) -> list[tuple[str, int, int, int]]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    return [_mark(os.path.join(directory, name)) for name in names]


def _mark(file: str) -> tuple[str, int, int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return (file, 0, 0, 0)
    return (file, status.st_mtime_ns, status.st_size, status.st_ino)
