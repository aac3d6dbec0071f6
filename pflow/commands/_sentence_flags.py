"""The flags beside a sentence: its own, and those that go on to the run."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.help.usage import Usage


def usage_of_sentence() -> Usage:
    """How a sentence is used as a command."""
    from pflow.help.usage import DIRECTORY, MODEL, SENTENCE, Argument, Flag, Usage

    usage = Usage(
        SENTENCE,
        "Plan a flow from a sentence, show it, ask, and run it.",
        ("pflow 'SENTENCE' [FLAG]…",),
    )
    usage.description = """\
The sentence is one argument. A model plans the flow, which is held to the rules that pflow check tells of; nothing
runs before it was shown and allowed. Other flags are those of pflow run, and of the flow itself: --path=notes.txt.

Without a terminal it runs with --yes alone. That allows the network, and files below this directory; commands, and
files elsewhere or not known yet, need --allow. pflow plan prints the flow and runs nothing."""
    usage.flags = [
        Flag(("--yes",), "run it without asking, as far as that is allowed"),
        Flag(
            ("--allow",),
            "what --yes may do too: commands, paths (any), anything, or a directory, for the files below it",
            metavar="WHAT",
            values=DIRECTORY,
            choices=("commands", "paths", "anything"),
            repeats=True,
        ),
        Flag(("--model",), "the model that plans", metavar="MODEL", values=MODEL),
        Flag(("--fresh",), "ask the model anew, and offer no saved flow"),
        Flag(("--timeout",), "end planning, and the run, after so many seconds each, with 124", metavar="SECONDS"),
        Flag(("--dry-run",), "show the flow and what it would do, and run nothing"),
        Flag(("-h", "--help"), "print this help"),
    ]
    usage.arguments = [Argument("SENTENCE", "")]
    return usage


class SentenceFlags:
    """The flags beside a sentence: its own, and those that go on to the run."""

    def __init__(self, words: list[str]) -> None:
        self.allow: list[str] = []
        self.model: str | None = None
        self.timeout: float | None = None
        self.run: list[str] = []
        names = set()
        rest = words[::-1]
        while rest:
            word = rest.pop()
            name, equals, value = word.partition("=")
            if name in ("--allow", "--model"):
                if not equals and not rest:
                    raise PflowError(f"cannot take {name}: it needs a value", hint=f"{name}=VALUE", exit=USAGE)
                self._take(name, value if equals else rest.pop())
            elif name in ("--yes", "--fresh", "--help", "-h"):
                if equals:
                    raise PflowError(f"cannot take '{word}': {name} has no value", hint=name, exit=USAGE)
                names.add(word)
            else:
                self._pass_on(word, rest)
        self.yes, self.fresh, self.wants_help = "--yes" in names, "--fresh" in names, bool({"--help", "-h"} & names)
        self.is_dry = "--dry-run" in self.run  # or the value of another flag: the run's own flags decide
        self.is_quiet = bool({"-q", "--quiet"} & set(self.run))
        self._take_timeout()

    def _take(self, name: str, value: str) -> None:
        if name == "--allow":
            self.allow.append(value)
        else:
            self.model = value

    def _pass_on(self, word: str, rest: list[str]) -> None:
        """A flag of the run or of the flow, with the value that follows it."""
        if not word.startswith("-") or len(word) == 1:
            before = self.run[-1] if self.run else ""
            if not before.startswith("--") or "=" in before:
                from pflow.errors import shorten

                what = (
                    f"cannot take the bare word '{shorten(word)}': a sentence is one argument, and what follows flags"
                )
                raise PflowError(what, hint="put quotes around all of it", exit=USAGE)
        self.run.append(word)

    def _take_timeout(self) -> None:
        for at, word in enumerate(self.run):
            name, equals, value = word.partition("=")
            if name == "--timeout":
                self.timeout = seconds(value if equals else "".join(self.run[at + 1 : at + 2]))


def seconds(text: str) -> float:
    """A time to wait. Raises PflowError (2)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 10 * 365 * 24 * 3600:
        raise PflowError(f"cannot take --timeout={text}: it is no time to wait", hint="seconds", exit=USAGE)
    return value
