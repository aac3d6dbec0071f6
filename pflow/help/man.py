"""The man pages of section 1: one for each executable, and for each command of the driver."""

from __future__ import annotations

import re

from pflow.errors import EXIT_CODES
from pflow.help import environment, mdoc
from pflow.help import usage as kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.help.usage import Flag, Usage

DATE = "November 21, 2026"
"""Of every page: what does not change, changes no page."""

_ABOUT = {
    kinds.DATA: "What it works on.",
    kinds.PARAMS: "How it works.",
}

_SEE = {
    "pflow": "pflow-nodes(1), pflow-plan(1), pflow-run(1), pflow-save(1), pflow-setup(1), pflow-flow(5), "
    "pflow-agents(7), pflow-exit(7), pflow-intro(7), pflow-node(7), pflow-store(7)",
    "pflow check": "pflow(1), pflow-explain(1), pflow-run(1), pflow-flow(5), pflow-agents(7), pflow-exit(7)",
    "pflow explain": "pflow(1), pflow-check(1), pflow-run(1), pflow-flow(5), pflow-exit(7)",
    "pflow export": "pflow(1), pflow-import(1), pflow-flow(5), pflow-exit(7)",
    "pflow find": "pflow(1), pflow-list(1), pflow-nodes(1), pflow-plan(1), pflow-save(1), pflow-exit(7)",
    "pflow import": "pflow(1), pflow-export(1), pflow-flow(5), pflow-exit(7), pflow-node(7)",
    "pflow list": "pflow(1), pflow-find(1), pflow-remove(1), pflow-save(1), pflow-show(1), pflow-exit(7)",
    "pflow mcp": "pflow(1), pflow-nodes(1), pflow-plan(1), pflow-save(1), pflow-trace(1), pflow-agents(7), "
    "pflow-exit(7)",
    "pflow new-node": "pflow(1), pflow-nodes(1), pflow-test-node(1), pflow-exit(7), pflow-node(7)",
    "pflow nodes": "pflow(1), pflow-new-node(1), pflow-setup(1), pflow-test-node(1), pflow-agents(7), pflow-exit(7), "
    "pflow-node(7)",
    "pflow plan": "pflow(1), pflow-check(1), pflow-explain(1), pflow-find(1), pflow-run(1), pflow-save(1), "
    "pflow-flow(5), pflow-agents(7), pflow-exit(7)",
    "pflow remove": "pflow(1), pflow-list(1), pflow-save(1), pflow-show(1), pflow-exit(7)",
    "pflow run": "pflow(1), pflow-check(1), pflow-explain(1), pflow-runs(1), pflow-trace(1), pflow-flow(5), "
    "pflow-exit(7), pflow-intro(7)",
    "pflow runs": "pflow(1), pflow-run(1), pflow-trace(1), pflow-exit(7)",
    "pflow save": "pflow(1), pflow-find(1), pflow-list(1), pflow-plan(1), pflow-remove(1), pflow-show(1), "
    "pflow-flow(5), pflow-exit(7)",
    "pflow setup": "man(1), pflow(1), pflow-new-node(1), pflow-nodes(1), pflow-exit(7), pflow-intro(7)",
    "pflow show": "pflow(1), pflow-explain(1), pflow-list(1), pflow-remove(1), pflow-save(1), pflow-flow(5), "
    "pflow-exit(7)",
    "pflow test-node": "pflow(1), pflow-new-node(1), pflow-nodes(1), pflow-exit(7), pflow-node(7), pflow-store(7)",
    "pflow trace": "pflow(1), pflow-run(1), pflow-runs(1), pflow-exit(7), pflow-store(7)",
    "command": "pflow(1), pflow-flow(5), pflow-exit(7), pflow-intro(7)",
    "node": "pflow(1), pflow-nodes(1), pflow-exit(7), pflow-intro(7), pflow-store(7)",
    "tool": "pflow(1), pflow-catch(1), pflow-get(1), pflow-set(1), pflow-exit(7), pflow-intro(7), pflow-store(7)",
}
"""Other pages, as text: of an Xr, mandoc says that it finds no such page until pflow's are installed for all."""


def files(usages: list[Usage]) -> dict[str, str]:
    """The pages by name, for these commands. Each depends on its own alone, the driver's on those of all commands."""
    return {f"{_page_name(usage)}.1": _page(usage, usages) for usage in usages}


def _page(usage: Usage, usages: list[Usage]) -> str:
    rows = [f'.\\" Made by pflow from how the command is declared.\n.Dd {DATE}', f".Dt {_title(usage)} 1", ".Os"]
    rows += [".Sh NAME", f".Nm {mdoc.word(_page_name(usage))}", f".Nd {_about(usage)}"]
    for title, write in _SECTIONS.items():
        section = write(usage)
        rows += [mdoc.heading(title), *section] if section else []
        if title == "DESCRIPTION":
            rows += _flags(usage)
            rows += _driven(usages) if usage.name == "pflow" else []
    return "\n".join([*rows, ""])


def _page_name(usage: Usage) -> str:
    return usage.name if usage.is_node else usage.name.replace(" ", "-")


def _title(usage: Usage) -> str:
    return "".join(
        [sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "_" for sign in _page_name(usage)]
    ).upper()


def _about(usage: Usage) -> str:
    """The one line that apropos finds."""
    text = " ".join(usage.summary.split()).partition(". ")[0].removesuffix(".").strip()
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return mdoc.word(text).replace("\\ ", " ") if text else "a node of pflow"


def _synopsis(usage: Usage) -> list[str]:
    program, command = (usage.name, "") if usage.is_node else usage.name.partition(" ")[::2]
    return synopsis(program, command, usage.synopsis)


def _description(usage: Usage) -> list[str]:
    notes = [note for note in usage.notes if not _is_titled(note)]
    return mdoc.paragraphs("\n\n".join(filter(None, [usage.summary, usage.description, *notes])))


def _is_titled(note: str) -> bool:
    return note.partition("\n")[0].endswith(":")


def _flags(usage: Usage) -> list[str]:
    """A section for each group of flags, for what is written, and for each note with a title."""
    made = []
    for group, flags in usage.groups():
        made.append(mdoc.heading(kinds.TITLES[group].partition(" (")[0].upper()))
        made += [_ABOUT[group]] if group in _ABOUT else []
        made += mdoc.listing([(_tag(flag), flag.text) for flag in flags], compact=group == kinds.COMMON)
    if usage.writes:
        made += [mdoc.heading("WRITES"), *mdoc.listing([(f"Va {mdoc.word(key)}", text) for key, text in usage.writes])]
    for note in filter(_is_titled, usage.notes):
        title, _, text = note.partition("\n")
        made += [mdoc.heading(title.removesuffix(":").upper()), *mdoc.paragraphs(text)]
    return made


def _tag(flag: Flag) -> str:
    """The names of a flag and its value; what has no flag goes by its name alone."""
    if not flag.is_typed:
        return f"Va {mdoc.word(flag.names[0].removeprefix('--').replace('-', '_'))}"
    names = " , ".join(f"Fl {mdoc.word(name[1:])}" for name in flag.names)
    return names + (f" Ar {mdoc.word(flag.metavar)}" if flag.metavar else "")


def _driven(usages: list[Usage]) -> list[str]:
    """The commands and the tools, on the driver's page; nodes come and go, and pflow nodes lists them."""
    commands = [each for each in usages if each.name.startswith("pflow ")]
    tools = [each for each in usages if each.name.startswith("pflow-") and not each.is_node]
    return [
        mdoc.heading("COMMANDS"),
        *mdoc.listing([(f"Cm {mdoc.word(each.name[6:])}", each.summary) for each in commands]),
        mdoc.heading("TOOLS"),
        *mdoc.listing([(f"Nm {mdoc.word(each.name)}", each.summary) for each in tools]),
    ]


def _actions(usage: Usage) -> list[str]:
    return mdoc.lines(usage.actions)


def _effects(usage: Usage) -> list[str]:
    return [] if usage.effects is None else mdoc.lines(", ".join(usage.effects) or "none")


def _environment(usage: Usage) -> list[str]:
    rows = [
        (" , ".join(f"Ev {mdoc.word(each)}" for each in name.split(", ")), text)
        for name, text in environment.environment(usage)
    ]
    return mdoc.listing(rows) if rows else []


def _files(usage: Usage) -> list[str]:
    rows = [(f"Pa {mdoc.word(path)}", text) for path, text in environment.files(usage)]
    return mdoc.listing(rows) if rows else []


def _exit_status(usage: Usage) -> list[str]:
    codes = [(str(code), words) for code, words in EXIT_CODES.items()]
    return mdoc.listing([*codes, ("128+n", "ended by signal n")], "128+n", compact=True)


def _examples(usage: Usage) -> list[str]:
    return mdoc.literal([line for example in usage.examples for line in mdoc.folded(example)]) if usage.examples else []


def _see_also(usage: Usage) -> list[str]:
    pages = (_SEE.get(usage.name) or _SEE[_kind(usage)]).split(", ")
    return mdoc.lines(", ".join(page for page in pages if page != f"{_page_name(usage)}(1)"))


def _kind(usage: Usage) -> str:
    if usage.is_node:
        return "node"
    return "command" if " " in usage.name else "tool"


_SECTIONS: dict[str, Callable[[Usage], list[str]]] = {
    "SYNOPSIS": _synopsis,
    "DESCRIPTION": _description,
    "ACTIONS": _actions,
    "EFFECTS": _effects,
    "ENVIRONMENT": _environment,
    "FILES": _files,
    "EXIT STATUS": _exit_status,
    "EXAMPLES": _examples,
    "SEE ALSO": _see_also,
}


_TOKEN = re.compile(r"\[(?P<inside>[^][]*)\](?P<more>…?)|(?P<word>\S+)")
_MORE = mdoc.word("...")
"""What may be repeated: as manuals write it, and every terminal shows it."""

_VALUE = re.compile(r"[A-Z][A-Z=:.py]*(…?)")


def synopsis(program: str, command: str, forms: tuple[str, ...]) -> list[str]:
    """Every form in which a command can be typed: a program, the driver's command if it is one, and what follows."""
    made = []
    for form in forms:
        rest = form.removeprefix(program).lstrip().removeprefix(command)
        macros = [f"Cm {mdoc.word(command)}"] * bool(command) + _macros(rest)
        made += [f".Nm {mdoc.word(program)}", *["." + " ".join(macros)] * bool(macros)]
    return made


def _macros(text: str) -> list[str]:
    macros = []
    for token in _TOKEN.finditer(text):
        if token["word"]:
            macros.append(_word(token["word"]))
            continue
        inside = " ".join(_word(each) for each in token["inside"].split())
        macros.append(f"Oo {inside} Oc" + f" Ns {_MORE}" * bool(token["more"]))
    return macros


def _word(text: str) -> str:
    if text.startswith("-"):
        return f"Fl {mdoc.word(text[1:])}"
    value = _VALUE.fullmatch(text)
    if value and value[1]:
        return f"Ar {mdoc.word(text[:-1])} Ns {_MORE}"
    return f"Ar {mdoc.word(text)}" if value else f"No {mdoc.word(text.replace('…', '...'))}"
