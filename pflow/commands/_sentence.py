"""What a sentence is, for `pflow "SENTENCE"`, and the flags beside it: its own, and those of the run."""

from __future__ import annotations

from pflow.catalog.kinds import list_kinds
from pflow.common import LETTERS
from pflow.errors import USAGE, PflowError
from pflow.flow.pipe.recognize import names_node, split_name
from pflow.flow.pipe.scan import is_separator
from pflow.help.usage import DIRECTORY, MODEL, SENTENCE, Argument, Flag, Usage
from pflow.naming import nearest

_OWN = {"--allow": True, "--model": True, "--yes": False, "--fresh": False, "--help": False, "-h": False}
"""The flags that are the sentence's own, and whether each takes a value. Any other goes on to the run."""


def is_sentence(text: str) -> bool:
    """Whether a text is one: words, and not what was meant for a step or for pipe syntax.

    A misspelt node is never sent to a model, so a first word with a flag or a separator behind it begins a step, and so
    does `pflow` with such a one.
    """
    words = _words_of(text)
    return len(words) > 1 and not is_flag(words[1]) and not _is_separator(words[1])


def _is_separator(word: str) -> bool:
    return word == ";" or is_separator(word)


def _words_of(text: str) -> list[str]:
    """The words, without the `pflow` that a pasted command begins with."""
    words = text.split()
    return words[words[:1] == ["pflow"] :]


def is_flag(word: str) -> bool:
    """Whether a word is a flag, and no dash of a sentence."""
    is_long = word.startswith("--") and word[2:3].isalpha()
    return is_long or (len(word) > 1 and word[0] == "-" and set(word[1:]) <= set(LETTERS))


def step_hint(text: str) -> str:
    """What to do with a text that is one step of pipe syntax, or a slip away from one."""
    words = _words_of(text)
    if names_node(words[0]):
        return "" if words[1:] and _is_separator(words[1]) else "one step needs no quotes around it"
    near = nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()])
    return f"did you mean {near}?" if near else ""


def usage_of_sentence() -> Usage:
    """How a sentence is used as a command."""
    usage = Usage(
        SENTENCE,
        "Plan a flow from a sentence, show it, ask, and run it.",
        ("pflow 'SENTENCE' [FLAG]…",),
    )
    usage.description = """\
The sentence is one argument. A model plans the flow, which is held to the rules that pflow check tells of; nothing
runs before it was shown and allowed. Other flags are those of pflow run, and of the flow itself: --path=notes.txt.

Without a terminal it runs with --yes alone. That allows the network, and files below this directory that are not
hidden; commands, and files elsewhere, hidden or not known yet, need --allow. pflow plan prints the flow and runs
nothing."""
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
        Flag(("--fresh",), "ask the model anew"),
        Flag(("--timeout",), "end planning, and the run, after so many seconds each, with 124", metavar="SECONDS"),
        Flag(("--dry-run",), "show the flow and what it would do, and run nothing"),
        Flag(("-h", "--help"), "print this help"),
    ]
    usage.arguments = [Argument("SENTENCE", "")]
    return usage


class SentenceFlags:
    """The flags beside a sentence: its own, and those that go on to the run (`run`)."""

    def __init__(self, words: list[str]) -> None:
        """Raises PflowError (2) for a bare word, a value that is missing, and one that has no place."""
        self.run: list[str] = []
        self.values: dict[str, list[str]] = {}
        rest = words[::-1]
        while rest:
            word = rest.pop()
            name, equals, value = word.partition("=")
            if name not in _OWN:
                self._pass_on(word)
                continue
            if _OWN[name] and not equals and not rest:
                raise PflowError(f"cannot take {name}: it needs a value", hint=f"{name}=VALUE", exit=USAGE)
            if equals and not _OWN[name]:
                raise PflowError(f"cannot take '{word}': {name} has no value", hint=name, exit=USAGE)
            self.values.setdefault(name, []).append(value if equals or not _OWN[name] else rest.pop())
        self.allow = self.values.get("--allow", [])
        self.model = next(reversed(self.values.get("--model", [])), None)
        self.yes, self.fresh = "--yes" in self.values, "--fresh" in self.values
        self.wants_help = bool({"--help", "-h"} & self.values.keys())
        self.is_dry = "--dry-run" in self.run  # or the value of another flag: the run's own flags decide
        self.is_quiet = bool({"-q", "--quiet"} & set(self.run))
        self.timeout = self._timeout()

    def _pass_on(self, word: str) -> None:
        """A flag of the run or of the flow, or the value that follows one."""
        before = self.run[-1] if self.run else ""
        is_flag = word.startswith("-") and len(word) > 1
        if not is_flag and (not before.startswith("--") or "=" in before):
            shown = word if len(word) <= 40 else word[:39] + "…"
            what = f"cannot take the bare word '{shown}': a sentence is one argument, and what follows flags"
            raise PflowError(what, hint="put quotes around all of it", exit=USAGE)
        self.run.append(word)

    def _timeout(self) -> float | None:
        found = None
        for at, word in enumerate(self.run):
            name, equals, value = word.partition("=")
            if name == "--timeout":
                found = seconds(value if equals else "".join(self.run[at + 1 : at + 2]))
        return found


def seconds(text: str) -> float:
    """A time to wait. Raises PflowError (2)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 10 * 365 * 24 * 3600:
        raise PflowError(f"cannot take --timeout={text}: it is no time to wait", hint="seconds", exit=USAGE)
    return value
