"""Recognizing pipe syntax by its separators and the words beside them; names of steps; remains of a redirection."""

from __future__ import annotations

import os
from itertools import pairwise

from pflow import Sequence
from pflow.catalog.kinds import find_kind, list_kinds
from pflow.catalog.registry import is_flow_type, saved_flow
from pflow.errors import USAGE, Ignoring, PflowError, result_of
from pflow.flow.build import id_after
from pflow.flow.pipe.scan import ARROWS, LINK, UNQUOTED, WORD, Token, is_cut_separator, is_separator, scan
from pflow.text.naming import nearest
from pflow.values.paths import is_step_name


def is_pipe(words: Sequence[str]) -> bool:
    """Return True if a command's words are pipe syntax: one is a separator, or the first is a flow by itself."""
    if any(is_separator(word) for word in words):
        return True
    return bool(words) and is_pipe_text(words[0])


def is_pipe_text(text: str) -> bool:
    """Return True if one argument is a flow: an unquoted separator beside the name of a node or a flow, or one step.

    One step is the name of a node or a flow that has a hyphen in it (`read-file`), or with a flag or only quoted words
    after it. A comment may follow: `git-status # clean?` is a step.
    Sentences may contain `|` too: it separates steps only next to names of nodes, `pflow` or `pflow-…`. So do `->` and
    `&&` between two nodes: they are mistakes, which reading the flow explains.
    """
    words = _tokens(text)
    step = _without_driver(words)
    if not _has_words(text, step):
        return False
    links = [at for at, word in enumerate(step) if word.kind == LINK and word.text != "|"]
    if links:
        beside = [word.text for at in (-1, *links) for word in step[at + 1 : at + 2]]
        return any(map(names_node, beside)) or any(map(is_slip, beside))
    begins = names_node(step[0].text)
    if begins and (_is_typed(step[0].text) or _is_one_step(step[1:])):
        return True
    return _holds_pipe(words, begins=begins) or _holds_arrow(step)


def is_misspelt_step(text: str) -> bool:
    """Return True if a text would be one step, but its name is a misspelt node."""
    step = _without_driver(_tokens(text))
    return _has_words(text, step) and (_is_typed(step[0].text) or _is_one_step(step[1:])) and is_slip(step[0].text)


def _has_words(text: str, step: list[Token]) -> bool:
    """Return True if a step has words after its first, or if that is a typed name with a comment behind it."""
    return len(step) > 1 or (len(step) == 1 and "#" in text and _is_typed(step[0].text))


def _tokens(text: str) -> list[Token]:
    """Return the words and separators of a text; split at blanks if a quote is never closed."""
    try:
        tokens = scan(text)
    except PflowError:
        tokens = [Token(LINK if is_separator(word) else WORD, 0, [(word, UNQUOTED)]) for word in text.split()]
    return [token for token in tokens if token.kind in (WORD, LINK)]


def _without_driver(words: list[Token]) -> list[Token]:
    """Return the words without the `pflow` or `pflow run` that a pasted command begins with."""
    first = [word.text for word in words[:2]]
    return words[2 if first == ["pflow", "run"] else first[:1] == ["pflow"] :]


def _is_typed(name: str) -> bool:
    """Return True if a name has a sign in it that the first word of a sentence rarely has; files may be its subject."""
    return not name.endswith(".json") and not set("-_:").isdisjoint(name.rstrip(":"))


def _is_one_step(words: list[Token]) -> bool:
    """Return True if the words after a name belong to a step, not a sentence: one is a flag, or all are quoted."""
    if words and not words[0].is_quoted and words[0].text.startswith(('"', "'")):
        return True  # a quote that is never closed
    return all(word.is_quoted for word in words) or any(is_flag_in_text(word.bare) for word in words)


def is_flag_in_text(word: str) -> bool:
    """Return True for a flag, False for a dash in a sentence."""
    return word[:1] == "-" and word.lstrip("-")[:1].isalpha()


def _holds_pipe(words: list[Token], *, begins: bool) -> bool:
    behind = [word.text for before, word in pairwise(words) if before.kind == LINK]
    is_pasted = any(word == "pflow" or _is_program(word) for word in (words[0].text, *behind))
    return bool(behind) and (is_pasted or (begins and all(map(names_node, behind))))


def _holds_arrow(step: list[Token]) -> bool:
    """Return True if what joins steps elsewhere stands between nodes, of which one may be misspelt."""
    sides = [step[0].text, *(word.text for before, word in pairwise(step) if before.bare in (*ARROWS, "&&", ">"))]
    known = [word for word in sides if names_node(word)]
    return len(sides) > 1 and len(known) > 0 and all(word in known or is_slip(word) for word in sides)


def _is_program(word: str) -> bool:
    return os.path.basename(word).startswith("pflow-")


def names_node(word: str) -> bool:
    """Return True if a word names a node or a flow, as a step would."""
    if _is_program(word) or word.startswith("flow:"):
        return True
    type, _ = split_name(word)
    if is_flow_type(type):
        return type.endswith(".json")
    return bool(type) and (find_kind(type) is not None or saved_flow(type) is not None)


def is_slip(word: str) -> bool:
    """Return True if a word is near to a node's name."""
    return nearest(split_name(word)[0], [kind.name for kind in list_kinds()]) is not None


def taken_for_redirection(words: Sequence[str]) -> PflowError | None:
    """Return the error for a lone `=` (or `=failed=`) among words, or for a stdout that is a file named like a node."""
    rest = next((word for word in words if is_cut_separator(word)), None)
    file = _file_of_stdout()
    if rest is not None:
        return _redirected(f"'{rest}>'", rest, file)
    if file and _is_step(file):
        return _redirected("'>>' or '>'", file, file)
    return None


def _is_step(file: str) -> bool:
    """Return True if a step could have this file's name: a node or a flow; an empty file is not yet a flow."""
    if is_flow_type(file):
        return os.path.getsize(file) > 0
    name = split_name(file.removeprefix("pflow-"))[0]
    return result_of(find_kind, name, of=PflowError, otherwise=None) is not None  # damaged packs break no other node


def _redirected(operator: str, left: str, file: str) -> PflowError:
    into = f" into the file '{file}', which is now here" if file else ""
    hint = "quotes around the flow ('a => b'), or :: between its steps (a :: b)"
    return PflowError(f"cannot read '{left}': the shell took {operator} for a redirection{into}", hint=hint, exit=USAGE)


def _file_of_stdout() -> str:
    """Return the name of the file in this directory that stdout goes to; "" for any other stdout."""
    import stat

    with Ignoring(OSError):
        there = os.fstat(1)
        if stat.S_ISREG(there.st_mode):
            with os.scandir(".") as entries:
                own = (each for each in entries if each.inode() == there.st_ino)
                return next((each.name for each in own if os.path.samestat(each.stat(), there)), "")
    return ""


def split_name(word: str) -> tuple[str, str | None]:
    """Split the type and the id of `llm`, `llm:draft`, `flow:NAME:id` and `./x.pflow.json:id`; None without an id."""
    scheme = "flow:" if word.startswith("flow:") else ""
    type, colon, id = word.removeprefix(scheme).rpartition(":")
    if not colon or (is_flow_type(word) and not scheme and not is_step_name(id)):
        return word, None
    return scheme + type, id


def full_type(type: str) -> str:
    """Return the type that a name in pipe syntax means: a node's, else a saved flow's as `flow:NAME`."""
    if is_flow_type(type) or find_kind(type) is not None:
        return type
    return f"flow:{type}" if saved_flow(type) else type


def free_id(type: str, taken: dict[str, int]) -> str:
    """Make the id of a step without one: `llm`, then `llm-2`; `fix` for `flow:fix` and `./fix.pflow.json`."""
    base = id_after(type, {})
    if not is_step_name(base):
        base = "".join(each if each.isalnum() and each.isascii() else "-" for each in base).strip("-")
        base = base if is_step_name(base) else f"step-{base}".rstrip("-")
    return id_after(base, taken)
