"""Findings: the faults that a check finds in a flow, each with its rule, its location and a remedy."""

from __future__ import annotations

from pflow import Any, Callable, Iterable, Iterator
from pflow.errors import BAD_DATA, PflowError
from pflow.terminal.messages import say
from pflow.text.printable import clean
from pflow.values.paths import Path, write_path

SHAPE = "PF00"
"""The id of the rule about shape: no member is missing, unknown or of the wrong type."""


class Rule:
    """A rule: its id, its title, and what happens to a flow that breaks it.

    `check` yields the findings in a flow. A rule without a `check` is checked with another rule, or by the parser of
    flags.
    """

    def __init__(
        self, id: str, title: str, check: Callable[[Any], Iterator[Finding]] | None = None, otherwise: str = "error"
    ) -> None:
        self.id = id
        self.title = title
        self.check = check
        self.otherwise = otherwise


class Finding:
    """A fault in a flow. `location` is a path in its file, `("nodes", 1, "id")`, or () for the whole flow.

    `is_said_by_run` is True if the run itself warns of it at that step, so that no warning is needed before the run.
    """

    def __init__(
        self,
        rule: str,
        location: Path,
        message: str,
        remedy: str = "",
        *,
        is_warning: bool = False,
        is_said_by_run: bool = False,
    ) -> None:
        self.rule = rule
        self.location = location
        self.message = message
        self.remedy = remedy
        self.is_warning = is_warning
        self.is_said_by_run = is_said_by_run

    def __str__(self) -> str:
        """Return a line without control characters: `nodes[1].id: PF12: two steps are called 'a'; rename one`."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return clean(f"{self.fault}{remedy}".replace("\n", "\\n"))

    def at(self, location: Path, message: str, remedy: str) -> Finding:
        """Return the finding at another location, with the message and the remedy for it."""
        kind = {"is_warning": self.is_warning, "is_said_by_run": self.is_said_by_run}
        return Finding(self.rule, location, message, remedy, **kind)

    @property
    def fault(self) -> str:
        """The location, the rule and the message."""
        where = f"{write_path(self.location)}: " if self.location else ""
        return f"{where}{self.rule}: {'warning: ' if self.is_warning else ''}{self.message}"

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "level": "warning" if self.is_warning else "error",
            "place": write_path(self.location),
            "message": self.message,
            "remedy": self.remedy,
        }


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are errors, without the warnings."""
    return [each for each in findings if not each.is_warning]


def pointer(location: Path) -> str:
    """Return a location as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)


def refuse_errors(findings: list[Finding], act: str = "run", hint: str = "pflow check lists them") -> None:
    """Raise PflowError (65) if a finding is an error; of several errors, print each one first."""
    errors = errors_of(findings)
    if not errors:
        return
    if len(errors) == 1:
        error = errors[0]
        what = f"cannot {act}: {error.fault}"
        raise PflowError(what, hint=error.remedy, exit=BAD_DATA)
    for error in errors:
        say(f"pflow {act}", str(error))
    raise PflowError(f"cannot {act}: {len(errors)} findings", hint=hint, exit=BAD_DATA)
