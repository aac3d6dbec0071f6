"""Findings: what a check finds wrong with a flow, each with its rule, its place and what to do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHAPE = "PF00"
"""The rule of a wrong shape: a member that is missing, unknown or of another type."""


class Finding:
    """One thing that is wrong: the `rule` that says so, where (`nodes[1].id`), what is there, and the `remedy`."""

    __slots__ = ("is_warning", "message", "place", "remedy", "rule")

    def __init__(self, rule: str, place: str, message: str, remedy: str = "", *, is_warning: bool = False) -> None:
        self.rule = rule
        self.place = place
        self.message = message
        self.remedy = remedy
        self.is_warning = is_warning

    def __str__(self) -> str:
        """One line, of nothing that a terminal obeys: `nodes[1].id: PF12: two steps are called 'a'; rename one`."""
        from pflow.terminal.columns import clean

        kind = "warning: " if self.is_warning else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return clean(f"{self.place}: {self.rule}: {kind}{self.message}{remedy}".replace("\n", "\\n"))

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "level": "warning" if self.is_warning else "error",
            "place": self.place,
            "message": self.message,
            "remedy": self.remedy,
        }
