"""A synopsis in mdoc: `pflow-get [-e] [PATH]…` with its flags, values and options marked as such."""

from __future__ import annotations

import re

from pflow.docs.man import mdoc

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
