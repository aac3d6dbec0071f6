"""The spec of a command or a node: its use, declared once for the parser, the help, the man page and completion."""

from __future__ import annotations

from pflow import Iterator
from pflow.interface.common import COMMON as COMMON_FLAGS
from pflow.interface.interface import COMMON_FLAG, INPUT, OPTION, PARAM, READ, WRITE, Field, Flag, Interface, by_name
from pflow.text.printable import clean_json

DATA, INPUTS, PARAMS, OPTIONS, COMMON = "data", "inputs", "params", "options", "common"

TITLES = {
    DATA: "Data (into the store)",
    INPUTS: "Inputs",
    PARAMS: "Params (how it works)",
    OPTIONS: "Options",
    COMMON: "Common",
}
"""The groups of flags, in the order in which help, man page and completions show them."""

GROUPS = {READ: DATA, INPUT: INPUTS, PARAM: PARAMS, OPTION: OPTIONS, COMMON_FLAG: COMMON}
"""The group of each kind of flag."""

TEXT, CHOICE, FILE, DIRECTORY = "text", "choice", "file", "directory"
MODEL, NODE, FLOW, SAVED, STEP, WORD = "model", "node", "flow", "saved", "step", "word"
RUN, UNFINISHED, RUNNING = "run", "unfinished", "running"
NODE_OR_FILE = "node or file"
SERVER, PACK, CONFINED = "server", "pack", "confined"
"""The kinds of values for TAB (a field's `tab`; "" for a switch). TEXT is any text, CHOICE one of the field's choices,
FILE a path, DIRECTORY a directory or one of the choices. NODE is the name of a node or saved flow, FLOW that or a file
or steps, SAVED a saved flow, NODE_OR_FILE a node's name or file. STEP is a step of the run in the same command, WORD
any word that may follow `pflow`, SERVER an MCP server (after `serve`, a node or flow), CONFINED a pack or its node."""

SENTENCE = "pflow SENTENCE"
"""The name of the spec for a sentence after `pflow`, which has no command."""

HELP = Flag("help", "print this help", letter="h")

_COLUMN = 28


class CommandSpec:
    """The declaration of a command, a tool or a node. Its `name` is what a person types: `pflow-llm`, `pflow runs`.

    `writes` are pairs of key and text, `notes` are further paragraphs.
    """

    def __init__(self, name: str, summary: str, synopsis: tuple[str, ...] = ()) -> None:
        self.name = name
        self.summary = summary
        self.synopsis = synopsis or (f"{name} [FLAG]…",)
        self.description = ""
        self.flags: list[Field] = []
        self.arguments: list[Field] = []
        self.writes: list[tuple[str, str]] = []
        self.actions = ""
        self.effects: tuple[str, ...] | None = None
        self.repeats = ""
        self.examples: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.is_node = False

    @property
    def fields(self) -> dict[str, Field]:
        """The flags and the bare words, for the parser."""
        return by_name([*self.flags, *self.arguments])

    def groups(self) -> Iterator[tuple[str, list[Field]]]:
        """Yield the flags, group by group."""
        for group in TITLES:
            flags = [flag for flag in self.flags if GROUPS[flag.kind] == group]
            if flags:
                yield group, flags


def spec_of_command(name: str, docstring: str | None, *synopsis: str) -> CommandSpec:
    """Return the spec that a module's docstring describes: `NAME: Summary`, the description, then the examples.

    A paragraph that begins with \\b is not filled. If the last paragraph does, it has the examples.
    """
    first, *blocks = (docstring or "").strip().split("\n\n")
    spec = CommandSpec(name, first.partition(": ")[2], synopsis)
    if blocks and blocks[-1].startswith("\b"):
        spec.examples = tuple(blocks.pop().split("\n")[1:])
    shown = [each.replace("\n", "\n  ").removeprefix("\b\n") if each.startswith("\b") else each for each in blocks]
    spec.description = "\n\n".join(shown)
    return spec


_OPEN = (
    "It declares no interface: any other flag (--KEY=TEXT, --KEY:=JSON) is both data and a param, and it may read and "
    "write any key."
)


def spec_of_node(name: str, interface: Interface) -> CommandSpec:
    """Return the spec of a node: its interface, and the flags that every stage has."""
    spec = CommandSpec(f"pflow-{name}", interface.summary)
    spec.is_node = True
    spec.arguments = [field for field in interface.reads.values() if "word" in field.marks]
    names = [(each.name.replace("_", "-").upper(), each.type.name) for each in spec.arguments]
    words = (f" [{name}]{'…' * (type == 'list')}" for name, type in names)
    spec.synopsis = ("".join([f"{spec.name} [FLAG]…", *words]),)
    spec.description = interface.description
    own = {**interface.reads, **interface.params}
    spec.flags = [*own.values(), *(each for name, each in COMMON_FLAGS.items() if name not in own)]
    spec.writes = [(field.name, field_text(field)) for field in interface.writes.values()]
    if not interface.open:
        spec.actions = ", ".join(interface.actions) + (f" ({interface.actions_doc})" if interface.actions_doc else "")
        spec.effects = interface.effects
        spec.repeats = interface.repeats_in_words
    spec.notes = (_OPEN,) * interface.open
    spec.examples = interface.examples
    return spec


def field_text(field: Field) -> str:
    """Return the text of a field in help: its own, with notes on its default, marks, variable and short forms."""
    notes = ["required"] if field.kind in (READ, INPUT) and field.required else []
    notes += default_note(field) if not isinstance(field, Flag) or isinstance(field.default, float) else []
    if "pipe" in field.marks:
        notes.append("to the pipe" if field.kind == WRITE else "from the pipe")
    if field.env:
        notes.append(f"or {field.env}")
    is_list = field.type.name == "list"
    if is_list and field.kind in (READ, INPUT, PARAM):
        notes.append("may be repeated, or a JSON list")
    if "word" in field.marks:
        notes.append("or bare words" if is_list else "or a bare word")
    if word_count(field) == 2:
        notes.append(f"-{field.letter} NAME VALUE")
    return f"{field.doc} [{'; '.join(notes)}]".lstrip() if notes else field.doc


def word_count(field: Field) -> int:
    """Return the number of words in a flag's value: 2 after the letter of a flag for pairs, 0 for a switch, else 1."""
    return 0 if field.type.name == "bool" else 2 if field.letter and "pairs" in field.marks else 1


_METAVARS = {"bool": "", "path": "PATH", "int": "N", "float": "X", "dict": "JSON", "list": "ITEM"}


def metavar(field: Field) -> str:
    """Return the name of an item's value; empty for a switch, and for a secret, which is never typed."""
    if field.is_secret:
        return ""
    return field.metavar or field.word or "|".join(field.type.choices) or _METAVARS.get(field.type.name, "TEXT")


_TABS = {"FILE": FILE, "DIR": DIRECTORY, "MODEL": MODEL, "RUN": RUN, "STEP": STEP, "FLOW": SAVED}


def tab_of(field: Field) -> str:
    """Return the kind of a field's value for TAB: as declared, else by its metavar, type, mark or the field's name."""
    type = field.type.items or field.type
    tab = field.tab or _TABS.get((field.metavar or field.word).rpartition("|")[2], "")
    if tab or (type.name == "bool" and not (field.metavar or field.word)):
        return tab
    if type.name == "path":
        return DIRECTORY if field.name in ("directory", "dir", "folder") else FILE
    if field.kind == PARAM and type.name in ("str", "any"):
        return FILE if "schema" in field.marks else MODEL if field.name.rpartition(".")[2] == "model" else TEXT
    return CHOICE if choices_of(field) else TEXT


def choices_of(field: Field) -> tuple[str, ...]:
    """Return the values that TAB offers."""
    return field.choices or field.type.choices or tuple(field.word.split("|") if field.word.islower() else ())


def default_note(field: Field) -> list[str]:
    """Return a list with the note on the default; empty if the field has no default."""
    from pflow.values.jsontext import encode

    if field.required or field.default in (None, [], {}, ""):
        return []
    return [f"default {clean_json(str(encode(field.default), 'utf-8')).removesuffix('.0')}"]


def help_text(spec: CommandSpec, *, is_whole: bool = True) -> str:
    """Return the help: flags by group, writes, actions, effects. The short form omits common flags without a letter."""
    parts = [
        "\n".join(("Usage: " if n == 0 else "       ") + line for n, line in enumerate(spec.synopsis)),
        spec.summary,
        spec.description * is_whole,
        *(_group_text(TITLES[group], list(map(flag_row, flags))) for group, flags in spec.groups() if group != COMMON),
        _common_text([flag for flag in spec.flags if GROUPS[flag.kind] == COMMON], is_whole=is_whole),
        _group_text("Writes", spec.writes) if spec.writes else "",
        *spec.notes,
        f"Actions: {spec.actions}" if spec.actions and is_whole else "",
        "" if spec.effects is None or not is_whole else f"Effects: {', '.join(spec.effects) or 'none'}",
        f"Repeats: {spec.repeats}" if spec.repeats and is_whole else "",
        "\n  ".join(["Examples:", *spec.examples]) if spec.examples else "",
        "Exit codes: pflow help exit, or pflow-exit(7)",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _common_text(flags: list[Field], *, is_whole: bool) -> str:
    import textwrap

    shown = [flag for flag in flags if is_whole or flag.letter]
    rows = [_group_text(TITLES[COMMON], list(map(flag_row, shown)))] if shown else []
    if rest := " ".join(flag.names[-1] for flag in flags if flag not in shown):
        rest = f"{rest} (--help -v describes them)"
        rows.append(textwrap.indent(textwrap.fill(rest, 94, break_on_hyphens=False), "  "))
    return "\n".join(rows)


def flag_row(flag: Field) -> tuple[str, str]:
    name = metavar(flag)
    value = f" {name}" if word_count(flag) else f"[={name}]"
    return ", ".join(flag.names) + value * bool(name), field_text(flag)


def _group_text(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [title + ":"]
    for left, right in rows:
        if len(left) > _COLUMN - 3:
            lines += [f"  {left}", f"  {'':{_COLUMN}}{right}"]
        else:
            lines.append(f"  {left:{_COLUMN}}{right}")
    return "\n".join(lines)
