"""Findings: what a check finds wrong with a flow, each with its rule, its place and what to do."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.values.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.values.paths import Path

SHAPE = "PF00"
"""The rule of a wrong shape: a member that is missing, unknown or of another type."""


class Rule:
    """A rule: its id, what it says, and what becomes of a flow that breaks it.

    `check` yields its findings in a flow, as the rules see one. Without it the rule is about a command line, and is
    kept where flags are taken.
    """

    __slots__ = ("check", "id", "otherwise", "title")

    def __init__(
        self, id: str, title: str, check: Callable[[Any], Iterator[Finding]] | None = None, otherwise: str = "error"
    ) -> None:
        self.id = id
        self.title = title
        self.check = check
        self.otherwise = otherwise


class Finding:
    """One thing that is wrong: the `rule` that says so, where (`("nodes", 1, "id")`), what is there, the `remedy`.

    The place is () for the flow as a whole. `is_said_by_run` when a run itself warns once it comes to that.
    """

    __slots__ = ("is_said_by_run", "is_warning", "message", "place", "remedy", "rule")

    def __init__(
        self,
        rule: str,
        place: Path,
        message: str,
        remedy: str = "",
        *,
        is_warning: bool = False,
        is_said_by_run: bool = False,
    ) -> None:
        self.rule = rule
        self.place = place
        self.message = message
        self.remedy = remedy
        self.is_warning = is_warning
        self.is_said_by_run = is_said_by_run

    def __str__(self) -> str:
        """One line without control characters: `nodes[1].id: PF12: two steps are called 'a'; rename one`."""
        from pflow.words.printable import clean

        remedy = f"; {self.remedy}" if self.remedy else ""
        return clean(f"{self.fault}{remedy}".replace("\n", "\\n"))

    def at(self, place: Path, message: str, remedy: str) -> Finding:
        """The same at another place, in the words for there."""
        kind = {"is_warning": self.is_warning, "is_said_by_run": self.is_said_by_run}
        return Finding(self.rule, place, message, remedy, **kind)

    @property
    def fault(self) -> str:
        """What is wrong and where, without the remedy."""
        where = f"{write_path(self.place)}: " if self.place else ""
        return f"{where}{self.rule}: {'warning: ' if self.is_warning else ''}{self.message}"

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "level": "warning" if self.is_warning else "error",
            "place": write_path(self.place),
            "message": self.message,
            "remedy": self.remedy,
        }


def pointer(place: Path) -> str:
    """A place as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
