"""The man pages of section 1: one for each executable, and for each command of the driver."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pflow.errors import EXIT_CODES
from pflow.help import environment, mdoc
from pflow.help.mdoc import word
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
    title = re.sub(r"[^A-Za-z0-9._-]", "_", name).upper()
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {title} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {word(name)}", f".Nd {_about(usage)}"]
    for heading, section in _sections(usage, usages):
        rows += [mdoc.heading(heading), *section] if section else []
    return "\n".join([*rows, ""])


def _sections(usage: Usage, usages: list[Usage]) -> Iterable[tuple[str, list[str]]]:
    """The sections in their order, each with its lines; those without lines are left out of the page."""
    notes = [note.partition("\n") for note in usage.notes if note.partition("\n")[0].endswith(":")]
    yield "SYNOPSIS", _synopsis(usage)
    yield "DESCRIPTION", _description(usage)
    for group, flags in usage.groups():
        rows = mdoc.listing([(_tag(flag), flag.text) for flag in flags], compact=group == COMMON)
        yield TITLES[group].partition(" (")[0].upper(), _SENTENCES.get(group, []) + rows
    yield "WRITES", mdoc.listing([(f"Va {word(key)}", text) for key, text in usage.writes])
    for title, _, text in notes:
        yield title.removesuffix(":").upper(), mdoc.paragraphs(text)
    if usage.name == "pflow":  # nodes come and go: pflow nodes lists them
        commands = [each for each in usages if each.name.startswith("pflow ")]
        tools = [each for each in usages if each.name.startswith("pflow-") and not each.is_node]
        yield "COMMANDS", mdoc.listing([(f"Cm {word(each.name[6:])}", each.summary) for each in commands])
        yield "TOOLS", mdoc.listing([(f"Nm {word(each.name)}", each.summary) for each in tools])
    yield "ACTIONS", mdoc.lines(usage.actions)
    yield "EFFECTS", [] if usage.effects is None else mdoc.lines(", ".join(usage.effects) or "none")
    yield (
        "ENVIRONMENT",
        mdoc.listing([(_tag_of(names), text) for names, text in environment.variables(usage)]),
    )
    yield "FILES", mdoc.listing([(f"Pa {word(path)}", text) for path, text in environment.files(usage)])
    codes = [*((str(code), words) for code, words in EXIT_CODES.items()), ("128+n", "ended by signal n")]
    yield "EXIT STATUS", mdoc.listing(codes, "128+n", compact=True)
    yield "EXAMPLES", mdoc.literal([line for example in usage.examples for line in mdoc.folded(example)])
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
    return mdoc.paragraphs("\n\n".join(filter(None, [usage.summary, usage.description, *notes])))


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
    return mdoc.lines(", ".join(page for page in pages if page != f"{_page_name(usage)}(1)"))


_SYNOPSIS_PART = re.compile(r"\[(?P<inside>[^][]*)\](?P<more>…?)|(?P<word>\S+)")
_VALUE = re.compile(r"[A-Z][A-Z=:.py]*(…?)")
_MORE = word("...")
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
    return f"Oo {inside} Oc" + f" Ns {_MORE}" * bool(part["more"])


def _macro_of_word(text: str) -> str:
    if text.startswith("-"):
        return f"Fl {word(text[1:])}"
    value = _VALUE.fullmatch(text)
    if value and value[1]:
        return f"Ar {word(text[:-1])} Ns {_MORE}"
    return f"Ar {word(text)}" if value else f"No {word(text.replace('…', '...'))}"
