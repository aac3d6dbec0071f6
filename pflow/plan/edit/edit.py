"""pflow plan --edit: a change in words to a flow."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError
from pflow.paths import write_path
from pflow.plan.change.faults import tell_findings
from pflow.plan.change.give import Change, check_options, give, say, show
from pflow.plan.change.place import place_of
from pflow.plan.hearing import unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.plan.change.place import Place

    Options = dict[str, Any]

_USE = "pflow plan --edit FLOW 'use b.txt instead of a.txt'"


def main_edit(words: Sequence[str], options: Options) -> int:
    """Change the flow that the first words name as the sentence after them says; the exit code.

    Raises PflowError: 2 without a flow or a sentence, 65 where no try passes the rules, 78 where only a model could
    tell and none is capable, and what asking a model raises.
    """
    from pflow.flow.take import take_flow

    of_flow, sentence = split(words)
    place = place_of(of_flow)
    check_options(place, options)
    loaded = take_flow(of_flow)
    errors = [each for each in loaded.findings if not each.is_warning]
    if errors:
        tell_findings(errors)
        raise unsettled(f"cannot edit '{place}': its parts have wrong shapes", errors, hint="mend the file first")
    flow, how = changed(loaded.flow, sentence, place, options)
    return give(Change(loaded.flow, flow, place, sentence=sentence, **how), options)


def split(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of the flow, and the sentence. Raises PflowError (2) where one of them is missing."""
    from pflow.flow.pipe import is_pipe
    from pflow.flow.take import find_file

    words = list(words)
    if not words:
        raise PflowError("cannot tell which flow to edit: no words", hint=_USE, exit=USAGE)
    is_whole = words[0] == "-" or find_file(words[0]) is not None or is_pipe(words[:1])
    has_flags = "".join(words[1:2]).startswith("--")
    at = len(words) - 1 if not is_whole and (is_pipe(words[:-1]) or has_flags) else 1
    sentence = " ".join(" ".join(words[at:]).split())
    if not sentence:
        raise PflowError(f"cannot edit '{words[0]}': nothing says what to change", hint=_USE, exit=USAGE)
    from pflow.plan.planner import checked_sentence

    return words[:at], checked_sentence(sentence, f"edit '{words[0]}'")


def changed(flow: Flow, sentence: str, place: Place, options: Options) -> tuple[Flow, dict[str, Any]]:
    """The changed flow, and how it came about: settled by the words alone, or by a model."""
    from pflow.plan.edit.plain import plain_edit

    plain = plain_edit(flow, sentence)
    if plain is not None:
        say(f"{write_path(plain.place)}: {plain.words}")
        tell_findings(plain.errors)
        return plain.flow, {"by": "words", "model": None}
    from pflow.plan.edit.model import NoTryPassed, edit_by_model

    try:
        edited = edit_by_model(flow, sentence, options, say)
    except NoTryPassed as failed:
        if failed.flow is not None:
            say("the best try, which will not do:")
            show(Change(flow, failed.flow, place), options)
        tell_findings(failed.findings)
        hint = "nothing was written; say it in other words, or name another model with --model"
        message = f"cannot edit '{place}': no flow of '{failed.model}' passed in {failed.tries} tries"
        raise unsettled(message, failed.findings, hint=hint) from None
    tell_findings(edited.warnings)
    return edited.flow, {"by": "model", "model": edited.model}
