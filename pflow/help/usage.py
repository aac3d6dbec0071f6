"""How commands, tools and nodes are used: one declaration for parser, help, man pages and completion."""

from __future__ import annotations

from pflow import Any, Iterator, Sequence
from pflow.errors import USAGE, PflowError, shorten
from pflow.interface.common import COMMON as COMMON_FLAGS
from pflow.interface.common import CommonFlag
from pflow.interface.interface import IS, UNDECLARED, UNLESS, Interface, Item, spell_flag, word_reads
from pflow.values.types import Type
from pflow.words.printable import clean_json

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
MODEL, NODE, FLOW, SAVED, STEP, WORD = "model", "node", "flow", "saved", "step", "word"
RUN, UNFINISHED, RUNNING = "run", "unfinished", "running"
NODE_OR_FILE = "node or file"
SERVER = "server"
"""The kind of a value, for completion: none (a switch), any text, one of `choices`, a path (`choices` may replace a
directory); a model; a node or a saved flow by its name; a flow, which is a file or steps too; a saved flow; a run; a
step of the run that is named beside it; anything that may follow `pflow`; a node by its name or its
file; or an MCP server, after `serve` what it offers."""

SENTENCE = "pflow SENTENCE"
"""The name of the usage of a sentence, which is not a command."""


class Flag:
    """A flag: its names as typed, its text, its group, its value's kind and name (metavar).

    Without names it is a bare word. A secret, which has no flag, goes by its name without dashes. `env` is the variable
    that may give it instead. `words` is the number of words that may follow for its value: 2 after the letter of a
    pair, 0 if a value only comes after an =.
    """

    def __init__(
        self,
        names: Sequence[str],
        text: str,
        group: str = OPTIONS,
        values: str = SWITCH,
        choices: Sequence[str] = (),
        repeats: bool = False,
        words: int = 1,
        *,
        metavar: str = "",
        env: str = "",
    ) -> None:
        self.names = names
        self.text = text
        self.group = group
        self.values = values or (CHOICE if choices else TEXT if metavar else SWITCH)
        self.choices = choices
        self.repeats = repeats
        self.metavar = metavar
        self.env = env
        self.words = words

    @property
    def is_bool(self) -> bool:
        """True for a switch that may be off: --no-x turns it off, and =true or =false may follow."""
        return self.values == SWITCH and self.group in (DATA, INPUTS, PARAMS)


HELP = Flag(("-h", "--help"), "print this help")


def argument(metavar: str, values: str = TEXT, choices: Sequence[str] = (), *, repeats: bool = False) -> Flag:
    """Return a bare word, named as in the synopsis."""
    kind = CHOICE if choices and values == TEXT else values
    return Flag((), "", values=kind, choices=choices, repeats=repeats, metavar=metavar)


class CommandUsage:
    """Everything about one command. `name` is typed to run it: `pflow-llm`, `pflow runs`.

    `writes` are pairs of key and text, `notes` further paragraphs.
    """

    def __init__(self, name: str, summary: str, synopsis: tuple[str, ...] = ()) -> None:
        self.name = name
        self.summary = summary
        self.synopsis = synopsis or (f"{name} [FLAG]…",)
        self.description = ""
        self.flags: list[Flag] = []
        self.arguments: list[Flag] = []
        self.writes: list[tuple[str, str]] = []
        self.actions = ""
        self.effects: tuple[str, ...] | None = None
        self.repeats = ""
        self.examples: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.is_node = False

    def groups(self) -> Iterator[tuple[str, list[Flag]]]:
        """Yield the flags, group by group."""
        for group in TITLES:
            flags = [flag for flag in self.flags if flag.group == group]
            if flags:
                yield group, flags


def usage_of_command(name: str, docstring: str | None, *synopsis: str) -> CommandUsage:
    """Return the usage that a file's docstring declares: `NAME: Summary`, the description, and last the examples.

    A block that begins with \\b stays as it is; the last one has the examples.
    """
    first, *blocks = (docstring or "").strip().split("\n\n")
    usage = CommandUsage(name, first.partition(": ")[2], synopsis)
    if blocks and blocks[-1].startswith("\b"):
        usage.examples = tuple(blocks.pop().split("\n")[1:])
    shown = [each.replace("\n", "\n  ").removeprefix("\b\n") if each.startswith("\b") else each for each in blocks]
    usage.description = "\n\n".join(shown)
    return usage


_METAVARS = {"bool": "", "path": "PATH", "int": "N", "float": "X", "dict": "JSON", "list": "ITEM"}

_OPEN = (
    "It declares no interface: any other flag (--KEY=TEXT, --KEY:=JSON) is both data and a param, and it may read and "
    "write any key."
)


def usage_of_node(name: str, interface: Interface) -> CommandUsage:
    """Return the usage of a node: its interface, and the flags that every stage has."""
    usage = CommandUsage(f"pflow-{name}", interface.summary)
    usage.is_node = True
    usage.arguments = [_word_of(item) for item in word_reads(interface.reads)]
    words = (f" [{each.metavar}]{'…' * each.repeats}" for each in usage.arguments)
    usage.synopsis = ("".join([f"{usage.name} [FLAG]…", *words]),)
    usage.description = interface.description
    usage.flags = [flag_of(item, DATA, of_stage=True) for item in interface.reads.values()]
    usage.flags += [flag_of(item, PARAMS, of_stage=True) for item in interface.params.values()]
    own = {*interface.reads, *interface.params}
    usage.flags += [flag_of_common(each) for name, each in COMMON_FLAGS.items() if name not in own]
    usage.writes = [(item.name, noted(item.doc, _notes(item))) for item in interface.writes.values()]
    if not interface.open:
        usage.actions = ", ".join(interface.actions) + (f" ({interface.actions_doc})" if interface.actions_doc else "")
        usage.effects = interface.effects
        usage.repeats = _repeats(interface.repeats)
    usage.notes = (_OPEN,) * interface.open
    usage.examples = interface.examples
    return usage


def _repeats(said: str) -> str:
    if said == "no":
        return "no: after it was cut short, it may do harm to run it again"
    name, *values = said.replace(UNLESS, "yes, unless --").split(IS)
    return f"{IS.join([name.replace('_', '-'), *values])}: after it was cut short, it is safe to run it again"


def flag_of_common(flag: CommonFlag) -> Flag:
    """Return a common flag as help, man pages and completion show it."""
    names = tuple(flag.spellings)
    text = noted(flag.doc, default_note(flag.default if isinstance(flag.default, float) else None))
    repeats = flag.type.name == "list"
    words = 0 if flag.type.name == "bool" else 1
    choices = flag.type.choices or (flag.word,) * flag.word.islower()
    return Flag(names, text, COMMON, choices=choices, repeats=repeats, metavar=flag.metavar, words=words)


def _word_of(item: Item) -> Flag:
    """Return the bare word, or words, for a read, with the names of the flag that may give it instead."""
    word = flag_of(item, DATA)
    word.metavar = item.name.replace("_", "-").upper()
    return word


def flag_of(item: Item, group: str, *, of_stage: bool = False) -> Flag:
    """Return a read or a param as a flag; for a stage with its letter."""
    names = (f"-{item.letter}",) * (of_stage and bool(item.letter))
    names += tuple(map(spell_flag, [item.name, *item.flags]))
    if item.is_secret:
        names = (item.name,)
    return Flag(
        names,
        noted(item.doc, [*_notes(item), *(_short_forms(item) if of_stage else [])]),
        group,
        SWITCH if item.type.name == "bool" else _values(item),
        item.type.choices,
        repeats=item.type.name == "list",
        metavar=metavar(item.type),
        env=item.env,
        words=2 if _takes_two(item) else 1,
    )


def metavar(type: Type) -> str:
    """Return the name of the value of a flag of this type; empty for a switch."""
    return "|".join(type.choices) or _METAVARS.get(type.name, "TEXT")


def _values(item: Item) -> str:
    """Return the kind of an item's value, by its type or its mark, or by its name for a directory or a model."""
    type = item.type.items or item.type
    if type.name == "path":
        return DIRECTORY if item.name in ("directory", "dir", "folder") else FILE
    if item.kind == "param" and type.name in ("str", "any"):
        return FILE if "schema" in item.marks else MODEL if item.name.rpartition(".")[2] == "model" else TEXT
    return CHOICE if item.type.choices else TEXT


def _notes(item: Item) -> list[str]:
    """Return the notes on an item's declaration: its default, its marks, its variable."""
    notes = ["required"] if item.kind == "read" and item.required else []
    notes += default_note(item.default)
    if "pipe" in item.marks:
        notes.append("to the pipe" if item.kind == "write" else "from the pipe")
    if item.env:
        notes.append(f"or {item.env}")
    if item.type.name == "list" and item.kind != "write":
        notes.append("may be repeated, or a JSON list")
    return notes


def _short_forms(item: Item) -> list[str]:
    words = "or bare words" if item.type.name == "list" else "or a bare word"
    return [words] * ("word" in item.marks) + [f"-{item.letter} NAME VALUE"] * _takes_two(item)


def _takes_two(item: Item) -> bool:
    return bool(item.letter) and "pairs" in item.marks


def default_note(value: Any) -> list[str]:
    """Return the note on a default; none if it is empty."""
    from pflow.values.jsontext import encode

    if value in (None, [], {}, "", UNDECLARED):
        return []
    return [f"default {clean_json(str(encode(value), 'utf-8')).removesuffix('.0')}"]


def noted(text: str, notes: list[str]) -> str:
    return f"{text} [{'; '.join(notes)}]".lstrip() if notes else text


def split_flags(words: list[str], usage: CommandUsage, hint: str = "") -> tuple[dict[str, list[str]], list[str]]:
    """Split a tool's flags, with their values by long name, from other words.

    Raises PflowError (2) for an unknown flag, a value outside the flag's choices, and any word if the tool takes only
    flags; `hint` is the flag that the word may be meant for.
    """
    by_name = {name: flag for flag in usage.flags for name in flag.names}
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
            value = value if equals else rest.pop()
            if flag.choices and value not in flag.choices:
                what = f"cannot take {name}='{shorten(value)}': it is not one of {', '.join(flag.choices)}"
                raise PflowError(what, exit=USAGE)
            flags.setdefault(flag.names[-1], []).append(value)
        elif word.startswith("-") and len(word) > 1:
            raise PflowError(f"cannot take '{name}': no such flag", hint="--help lists them", exit=USAGE)
        elif not usage.arguments:
            what = f"cannot take '{shorten(word)}': {usage.name} takes no words"
            raise PflowError(what, hint=hint and f"{hint} {shorten(word)}", exit=USAGE)
        else:
            others.append(word)
    return flags, others
