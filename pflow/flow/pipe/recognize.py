"""Whether words are pipe syntax: told by their separators, and by what stands beside those."""

from __future__ import annotations

import os

from pflow.catalog.flows import is_flow_type, saved_flow
from pflow.catalog.kinds import find_kind
from pflow.flow.pipe.names import split_name
from pflow.flow.pipe.scan import is_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def is_pipe(words: Sequence[str]) -> bool:
    if any(is_sign(word) for word in words):
        return True
    return bool(words) and is_pipe_text(words[0])


def is_pipe_text(text: str) -> bool:
    """Whether one argument begins with a node's or a flow's name, or one a slip away, and holds a separator.

    `|` stands in sentences too: it is one between names of nodes, and beside `pflow` and `pflow-…`.
    """
    words = _without_comments(text).split()
    if len(words) < 2:
        return False
    begins = names_node(words[1] if words[0] == "pflow" else words[0])
    signs = [at for at, word in enumerate(words) if is_sign(word) and word != "|"]
    return (bool(signs) and (begins or _is_slip(words, signs[0]))) or _holds_pipe(words, begins=begins)


def _holds_pipe(words: list[str], *, begins: bool) -> bool:
    bars = [at for at, word in enumerate(words[:-1]) if word == "|"]
    beside = [words[0], *(words[at + 1] for at in bars)] if bars else []
    is_pasted = any(word == "pflow" or _is_program(word) for word in beside)
    return is_pasted or (bool(bars) and begins and all(names_node(word) for word in beside[1:]))


def _without_comments(text: str) -> str:
    lines = text.lstrip().split("\n")
    while lines and lines[0].lstrip().startswith("#"):
        del lines[0]
    return "\n".join(lines)


def _is_program(word: str) -> bool:
    return os.path.basename(word).startswith("pflow-")


def names_node(word: str) -> bool:
    """Whether a word names a node or a flow, as a step would."""
    if _is_program(word) or word.startswith("flow:"):
        return True
    type, _ = split_name(word)
    if is_flow_type(type):
        return type.endswith(".json")
    return bool(type) and (find_kind(type) is not None or saved_flow(type) is not None)


def _is_slip(words: list[str], sign: int) -> bool:
    """Whether flags alone stand between the first word and a separator, and that word is near to a node's name."""
    if sign == 0 or not all(word.startswith("-") for word in words[1:sign]):
        return False
    from pflow.catalog.kinds import list_kinds
    from pflow.naming import nearest

    return nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()]) is not None
