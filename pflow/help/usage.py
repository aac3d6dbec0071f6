"""A command as its user sees it: flags in groups, other words, what it writes and does, examples; and its help."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import EXIT_CODES, USAGE, PflowError

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA, INPUTS, PARAMS, OPTIONS, COMMON = "data", "inputs", "params", "options", "common"

TITLES = {
    DATA: "Data (into the store)",
    INPUTS: "Inputs",
    PARAMS: "Params (how it works)",
    OPTIONS: "Options",
    COMMON: "Common",
}
"""The groups of flags, in the order in which help, man page and completions show them."""

SWITCH = ""
TEXT, CHOICE, FILE, DIRECTORY = "text", "choice", "file", "directory"
MODEL, NODE, FLOW, SAVED, RUN, WORD = "model", "node", "flow", "saved", "run", "word"
"""What a value may be, for completion: none (a switch), any text, one of `choices`, a path (`choices` may stand for
a directory); a model; a node or a saved flow by its name; a flow, which is a file or steps too; a saved flow; a run;
or whatever may follow `pflow`."""

SENTENCE = "pflow SENTENCE"
"""The name of the usage of a sentence, which no command has."""


class Flag:
    """A flag: the names it is typed as, what it does, its value's name (metavar) and kind, the group it stands in.

    `notes` say more of it, for people: `required`, `default 1`. `env` is the variable that may give it instead.
    `is_typed` is false for a secret, which has no flag.
    """

    __slots__ = ("choices", "doc", "env", "group", "is_typed", "metavar", "names", "notes", "repeats", "values")

    def __init__(
        self,
        names: tuple[str, ...],
        doc: str,
        *,
        group: str = OPTIONS,
        metavar: str = "",
        values: str = SWITCH,
        choices: tuple[str, ...] = (),
        repeats: bool = False,
        notes: tuple[str, ...] = (),
        env: str = "",
        is_typed: bool = True,
    ) -> None:
        self.names = names
        self.doc = doc
        self.group = group
        self.metavar = metavar
        self.values = values or (CHOICE if choices else TEXT if metavar else SWITCH)
        self.choices = choices
        self.repeats = repeats
        self.notes = notes
        self.env = env
        self.is_typed = is_typed

    @property
    def text(self) -> str:
        """What it does, and the notes."""
        return f"{self.doc} [{'; '.join(self.notes)}]".lstrip() if self.notes else self.doc

    @property
    def is_bool(self) -> bool:
        """Whether it is a switch that may be off: --no-x says so, and =true or =false may follow."""
        return self.values == SWITCH and self.group in (DATA, INPUTS, PARAMS)


class Argument:
    """A word beside the flags: its name as the synopsis has it, its kind, whether several may stand there."""

    __slots__ = ("choices", "metavar", "repeats", "values")

    def __init__(
        self, metavar: str, values: str = TEXT, *, repeats: bool = False, choices: tuple[str, ...] = ()
    ) -> None:
        self.metavar = metavar
        self.values = CHOICE if choices else values
        self.repeats = repeats
        self.choices = choices


class Usage:
    """Everything about one command. `name` is what is typed: `pflow-llm`, `pflow runs`.

    `writes` are pairs of key and text, `notes` further paragraphs, `words` what `pflow` alone may be followed by.
    """

    def __init__(self, name: str, summary: str, synopsis: tuple[str, ...] = ()) -> None:
        self.name = name
        self.summary = summary
        self.synopsis = synopsis or (f"{name} [FLAG]…",)
        self.description = ""
        self.flags: list[Flag] = []
        self.arguments: list[Argument] = []
        self.writes: list[tuple[str, str]] = []
        self.actions = ""
        self.effects: tuple[str, ...] | None = None
        self.examples: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.is_node = False

    def groups(self) -> Iterator[tuple[str, list[Flag]]]:
        """The flags, group by group."""
        for group in TITLES:
            flags = [flag for flag in self.flags if flag.group == group]
            if flags:
                yield group, flags


def split_flags(words: list[str], known: list[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    """The flags and the other words of a tool: each flag's values, by its long name.

    Raises PflowError (2) at a flag that is not known.
    """
    by_name = {name: flag for flag in known for name in flag.names}
    flags: dict[str, list[str]] = {}
    others: list[str] = []
    rest = words[::-1]
    while rest:
        word = rest.pop()
        name, equals, value = word.partition("=")
        flag = by_name.get(name)
        if word == "--":
            return flags, others + rest[::-1]
        if flag is not None and not flag.metavar and not equals:
            flags.setdefault(flag.names[-1], []).append("")
        elif flag is not None and flag.metavar:
            if not equals and not rest:
                raise PflowError(f"cannot take {name}: it needs a value", exit=USAGE)
            flags.setdefault(flag.names[-1], []).append(value if equals else rest.pop())
        elif word.startswith("-") and len(word) > 1:
            raise PflowError(f"cannot take '{word}': no such flag", hint="--help lists them", exit=USAGE)
        else:
            others.append(word)
    return flags, others


_COLUMN = 28


def help_text(usage: Usage) -> str:
    """The help of a node or tool: its flags in their groups, what it writes, its actions, effects and exit codes."""
    head = "\n".join(("Usage: " if n == 0 else "       ") + line for n, line in enumerate(usage.synopsis))
    parts = [f"{head}\n\n{usage.summary}\n"]
    if usage.description:
        parts.append(f"{usage.description}\n")
    parts += [group_text(TITLES[group], list(map(flag_row, flags))) for group, flags in usage.groups()]
    parts.append(group_text("Writes", usage.writes))
    parts += [f"{note}\n" for note in usage.notes]
    if usage.actions:
        parts.append(f"Actions: {usage.actions}\n")
    if usage.effects is not None:
        parts.append(f"Effects: {', '.join(usage.effects) or 'none'}\n")
    if usage.examples:
        parts.append("Examples:\n" + "\n".join([f"  {line}" for line in usage.examples]) + "\n")
    parts.append(exit_codes_text())
    return "\n".join(part for part in parts if part)


def flag_row(flag: Flag) -> tuple[str, str]:
    names = ", ".join(flag.names) if flag.is_typed else flag.names[0].removeprefix("--").replace("-", "_")
    return names + (f" {flag.metavar}" if flag.metavar else ""), flag.text


def group_text(title: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    lines = [title + ":"]
    for left, right in rows:
        if len(left) > _COLUMN - 3:
            lines += [f"  {left}", f"  {'':{_COLUMN}}{right}"]
        else:
            lines.append(f"  {left:{_COLUMN}}{right}")
    return "\n".join(lines) + "\n"


def exit_codes_text() -> str:
    import textwrap

    codes = [f"{code} {words}" for code, words in EXIT_CODES.items()]
    return (
        "Exit codes: "
        + textwrap.fill(" · ".join([*codes, "128+n ended by signal n"]), 96, subsequent_indent="  ")
        + "\n"
    )
