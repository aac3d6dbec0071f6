"""Words that name nothing: what was meant."""

from __future__ import annotations

import difflib

from pflow.catalog.discovery import fault_of
from pflow.catalog.flows import saved_flows
from pflow.catalog.kinds import list_kinds
from pflow.catalog.registry import names_in, tool_names
from pflow.commands._sentence import step_hint
from pflow.errors import NOT_FOUND, PflowError


def not_found(words: list[str]) -> PflowError:
    """The error (127) for words that are no command, node, saved flow or sentence, with the nearest names."""
    word = words[0]
    if fault := fault_of(word):
        return PflowError(f"cannot run '{word}': {fault}", exit=NOT_FOUND)
    shown = word if len(word) <= 60 else word[:59] + "…"
    names = [*(kind.name for kind in list_kinds()), *saved_flows(), *names_in("commands"), *tool_names()]
    near = difflib.get_close_matches(word, names, 2)
    hint = f"did you mean {' or '.join(near)}?" if near else "pflow --help lists what there is"
    if len(word.split()) > 1:
        hint = step_hint(word) or "a flow in one argument is 'a => b', its first word a node"
    elif len(words) > 2 and not near and not any(each.startswith("-") for each in words):
        hint = "a sentence is one argument: put quotes around it"
    return PflowError(f"cannot find '{shown}': no such command or node", hint=hint, exit=NOT_FOUND)
