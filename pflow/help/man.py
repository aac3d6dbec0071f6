"""Man pages, made from how each command is used, in mdoc: any text as lines that show it as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pflow.errors import EXIT_CODES
from pflow.help import environment
from pflow.help.usage import COMMON, DATA, PARAMS, TITLES, Flag, Usage

DATE = "November 21, 2026"
"""The date of every page: only what a page says changes it."""

_SENTENCES = {DATA: ["What it works on."], PARAMS: ["How it works."]}

_SEE_ALSO = {
    "pflow": "nodes(1) plan(1) run(1) save(1) setup(1) flow(5) agents(7) intro(7) node(7) store(7)",
    "pflow check": "explain(1) run(1) flow(5) agents(7)",
    "pflow explain": "check(1) run(1) flow(5)",
    "pflow export": "import(1) flow(5)",
    "pflow find": "list(1) nodes(1) plan(1) save(1)",
    "pflow import": "export(1) flow(5) node(7)",
    "pflow list": "find(1) remove(1) save(1) show(1)",
    "pflow mcp": "nodes(1) plan(1) save(1) trace(1) agents(7)",
    "pflow new-node": "nodes(1) test-node(1) node(7)",
    "pflow nodes": "new-node(1) setup(1) test-node(1) agents(7) node(7)",
    "pflow plan": "check(1) explain(1) find(1) run(1) save(1) flow(5) agents(7)",
    "pflow remove": "list(1) save(1) show(1)",
    "pflow run": "check(1) explain(1) runs(1) trace(1) flow(5) intro(7)",
    "pflow runs": "run(1) trace(1)",
    "pflow save": "find(1) list(1) plan(1) remove(1) show(1) flow(5)",
    "pflow setup": "new-node(1) nodes(1) intro(7)",
    "pflow show": "explain(1) list(1) remove(1) save(1) flow(5)",
    "pflow test-node": "new-node(1) nodes(1) node(7) store(7)",
    "pflow trace": "run(1) runs(1) store(7)",
}
_SEE_ALSO_OF_NODES = "nodes(1) intro(7) store(7)"
_SEE_ALSO_OF_TOOLS = "catch(1) get(1) set(1) intro(7) store(7)"
_SEE_ALSO_OF_COMMANDS = "flow(5) intro(7)"


def files(usages: list[Usage]) -> dict[str, str]:
    """The pages by name. Each depends on its own usage alone, the driver's on those of commands and tools."""
    return {f"{_page_name(usage)}.1": _page(usage, usages) for usage in usages}


def _page(usage: Usage, usages: list[Usage]) -> str:
    name = _page_name(usage)
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", name).upper()
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {shown} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {word(name)}", f".Nd {_about(usage)}"]
    for title, section in _sections(usage, usages):
        rows += [heading(title), *section] if section else []
    return "\n".join([*rows, ""])


def _sections(usage: Usage, usages: list[Usage]) -> Iterable[tuple[str, list[str]]]:
    """The sections in their order, each with its lines; those without lines are left out of the page."""
    notes = [note.partition("\n") for note in usage.notes if note.partition("\n")[0].endswith(":")]
    yield "SYNOPSIS", _synopsis(usage)
    yield "DESCRIPTION", _description(usage)
    for group, flags in usage.groups():
        rows = listing([(_tag(flag), flag.text) for flag in flags], compact=group == COMMON)
        yield TITLES[group].partition(" (")[0].upper(), _SENTENCES.get(group, []) + rows
    yield "WRITES", listing([(f"Va {word(key)}", text) for key, text in usage.writes])
    for title, _, text in notes:
        yield title.removesuffix(":").upper(), paragraphs(text)
    if usage.name == "pflow":  # nodes come and go: pflow nodes lists them
        commands = [each for each in usages if each.name.startswith("pflow ")]
        tools = [each for each in usages if each.name.startswith("pflow-") and not each.is_node]
        yield "COMMANDS", listing([(f"Cm {word(each.name[6:])}", each.summary) for each in commands])
        yield "TOOLS", listing([(f"Nm {word(each.name)}", each.summary) for each in tools])
    yield "ACTIONS", lines(usage.actions)
    yield "EFFECTS", [] if usage.effects is None else lines(", ".join(usage.effects) or "none")
    yield (
        "ENVIRONMENT",
        listing([(_tag_of(names), text) for names, text in environment.variables(usage)]),
    )
    yield "FILES", listing([(f"Pa {word(path)}", text) for path, text in environment.files(usage)])
    codes = [*((str(code), words) for code, words in EXIT_CODES.items()), ("128+n", "ended by signal n")]
    yield "EXIT STATUS", listing(codes, "128+n", compact=True)
    yield "EXAMPLES", literal([line for example in usage.examples for line in folded(example)])
    yield "SEE ALSO", _see_also(usage)


def _page_name(usage: Usage) -> str:
    return usage.name if usage.is_node else usage.name.replace(" ", "-")


def _about(usage: Usage) -> str:
    """The one line that apropos finds."""
    text = " ".join(usage.summary.split()).partition(". ")[0].removesuffix(".").strip()
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return word(text).replace("\\ ", " ") if text else "a node of pflow"


def _description(usage: Usage) -> list[str]:
    notes = [note for note in usage.notes if not note.partition("\n")[0].endswith(":")]
    return paragraphs("\n\n".join(filter(None, [usage.summary, usage.description, *notes])))


def _tag(flag: Flag) -> str:
    """The names of a flag and its value; a secret, which has no flag, goes by its name."""
    if not flag.is_typed:
        return f"Va {word(flag.names[0].removeprefix('--').replace('-', '_'))}"
    names = " , ".join(f"Fl {word(name[1:])}" for name in flag.names)
    return names + (f" Ar {word(flag.metavar)}" if flag.metavar else "")


def _tag_of(names: str) -> str:
    return " , ".join(f"Ev {word(name)}" for name in names.split(", "))


def _see_also(usage: Usage) -> list[str]:
    """Other pages, as text: of an Xr, mandoc says that it finds no such page until pflow's are installed for all."""
    others = _SEE_ALSO_OF_NODES if usage.is_node else _SEE_ALSO_OF_COMMANDS if " " in usage.name else _SEE_ALSO_OF_TOOLS
    pages = [f"pflow-{page}" for page in [*_SEE_ALSO.get(usage.name, others).split(), "exit(7)"]]
    pages = sorted([*pages, "pflow(1)"], key=lambda page: (page[-2], page))
    return lines(", ".join(page for page in pages if page != f"{_page_name(usage)}(1)"))


_SYNOPSIS_PART = re.compile(r"\[(?P<inside>[^][]*)\](?P<more>…?)|(?P<word>\S+)")
_VALUE = re.compile(r"[A-Z][A-Z=:.py]*(…?)")
"""What may be repeated: as manuals write it, and as every terminal shows it."""


def _synopsis(usage: Usage) -> list[str]:
    """Every form in which the command is typed: `pflow-get [-e] [PATH]…` with its flags and values marked as such."""
    program, command = (usage.name, "") if usage.is_node else usage.name.partition(" ")[::2]
    rows = []
    for form in usage.synopsis:
        parts = _SYNOPSIS_PART.finditer(form.removeprefix(program).lstrip().removeprefix(command))
        macros = [f"Cm {word(command)}"] * bool(command) + [_macro(part) for part in parts]
        rows += [f".Nm {word(program)}", *["." + " ".join(macros)] * bool(macros)]
    return rows


def _macro(part: re.Match[str]) -> str:
    """The macros of an optional part in brackets, or of a word."""
    if part["word"]:
        return _macro_of_word(part["word"])
    inside = " ".join(_macro_of_word(each) for each in part["inside"].split())
    return f"Oo {inside} Oc" + f" Ns {word('...')}" * bool(part["more"])


def _macro_of_word(text: str) -> str:
    if text.startswith("-"):
        return f"Fl {word(text[1:])}"
    value = _VALUE.fullmatch(text)
    if value and value[1]:
        return f"Ar {word(text[:-1])} Ns {word('...')}"
    return f"Ar {word(text)}" if value else f"No {word(text.replace('…', '...'))}"


# What roff would take for something else, or print as a typographer would.
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}

_DELIMITERS = frozenset("([.,:;)]?!|")
_OF_CODE = frozenset("/_=$<>{}[(\\@#|")
_STANDARD = ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")

_WIDTH = 78
"""Where our own lines break; it does not show."""


def escaped(text: str) -> str:
    """A text inside a line."""
    return "".join([_ESCAPES.get(char) or (char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text])


def word(text: str) -> str:
    """A text as one word of a macro's line, which is neither a macro there nor begins or ends with a delimiter."""
    made = escaped(text).replace(" ", "\\ ")
    return "\\&" + made + "\\&" * (made[-1:] in _DELIMITERS)


def heading(title: str) -> str:
    """A section's heading. What ends ours is for mandoc, which takes ACTIONS for AUTHORS, mistyped."""
    return f".Sh {escaped(title)}" + "\\&" * (title not in _STANDARD)


def lines(text: str) -> list[str]:
    """A text to be filled: a line ends with each sentence, and where it gets long."""
    made: list[str] = []
    line = ""
    for each in map(_unbroken, text.split()):
        if line and (len(line) + len(each) >= _WIDTH or _ends_sentence(line, each)):
            made.append(line)
            line = ""
        line = f"{line} {each}" if line else _first(each)
    return [*made, line] if line else made


def _unbroken(word: str) -> str:
    """A word of a text; a path or the like is not hyphenated."""
    return "\\%" * (not _OF_CODE.isdisjoint(word)) + escaped(word)


def _ends_sentence(line: str, following: str) -> bool:
    return line.endswith((".", "!", "?")) and not line.endswith("..") and not following[:1].islower()


def _first(text: str) -> str:
    return "\\&" + text if text.startswith((".", "'")) else text


def literal(text: list[str], *, offset: bool = False) -> list[str]:
    """Lines as they are; nothing for none."""
    if not text:
        return []
    shown = [_first(escaped(line.rstrip())) for line in text]
    return [".Bd -literal" + " -offset indent" * offset, *shown, ".Ed"]


def listing(rows: list[tuple[str, str]], width: str = "Ds", *, compact: bool = False) -> list[str]:
    """A list of tags, each already in mdoc, and a text for each; nothing for none."""
    if not rows:
        return []
    made = [f".Bl -tag -width {width}" + " -compact" * compact]
    for tag, text in rows:
        made += [f".It {tag}", *lines(text)]
    return [*made, ".El"]


_LONGEST = 16
"""Characters of a tag that has its text beside it."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each after the first with a space before it."""
    made: list[str] = []
    for each in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
        prose, block = _split(each.split("\n"))
        if prose:
            made += [".Pp"] * bool(made) + lines(" ".join(prose))
        if block:
            made += _block(block, [".Pp"] * bool(made))
    return made


def _split(rows: list[str]) -> tuple[list[str], list[str]]:
    """A paragraph's lines, and those indented ones that it ends with."""
    start = next((n for n in range(len(rows)) if all(row.startswith("  ") for row in rows[n:])), len(rows))
    return rows[:start], rows[start:]


def _block(rows: list[str], space: list[str]) -> list[str]:
    pairs = [tuple(map(str.strip, row.strip().partition("  ")))[::2] for row in rows]
    if not all(tag and text for tag, text in pairs):
        return literal([row[2:] for row in rows], offset=True)
    width = max(len(tag) for tag, _ in pairs)
    shape = f"{width + 2}n" if width <= _LONGEST else "Ds"
    return [*space, *listing([(f"Sy {word(tag)}", text) for tag, text in pairs], shape, compact=True)]


_WIDEST = 72
"""How wide an example may be on a page of 80 columns."""

_SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ '"\\])+""", re.DOTALL)


def folded(command: str) -> list[str]:
    """A command in lines that are the same command to a shell: a long one goes on after each | of a pipe."""
    if len(command) <= _WIDEST:
        return [command]
    first, *words = _SHELL_WORD.findall(command)
    rows = [first]
    for each in words:
        is_piped = rows[-1].endswith(" |")
        if not is_piped and len(rows[-1]) + 1 + len(each) <= _WIDEST - 2:
            rows[-1] += f" {each}"
        else:
            rows[-1] += "" if is_piped else " \\"
            rows.append(f"    {each}")
    return rows
