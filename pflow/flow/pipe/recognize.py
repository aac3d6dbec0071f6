"""What words are: pipe syntax or not, by separators and what is beside them; names of steps; what a shell cut off."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.catalog.kinds import find_kind
from pflow.catalog.registry import is_flow_type, saved_flow
from pflow.errors import USAGE, PflowError
from pflow.flow.build import id_after
from pflow.flow.pipe.scan import is_cut_separator, is_separator
from pflow.paths import is_step_name

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_pipe(words: Sequence[str]) -> bool:
    """Whether a command's words are pipe syntax: a separator among them, or one text that holds one after a node."""
    if any(is_separator(word) for word in words):
        return True
    return bool(words) and is_pipe_text(words[0])


def is_pipe_text(text: str) -> bool:
    """Whether one argument begins with a node's or a flow's name, or one a slip away, and holds a separator.

    Sentences hold `|` too: it separates where there are names of nodes around it, `pflow` or `pflow-…`.
    """
    words = _without_comments(text).split()
    if len(words) < 2:
        return False
    begins = names_node(words[1] if words[0] == "pflow" else words[0])
    separators = [at for at, word in enumerate(words) if is_separator(word) and word != "|"]
    return (bool(separators) and (begins or _is_slip(words, separators[0]))) or _holds_pipe(words, begins=begins)


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


def _is_slip(words: list[str], separator: int) -> bool:
    """Whether only flags are between the first word and a separator, and that word is near to a node's name."""
    if separator == 0 or not all(word.startswith("-") for word in words[1:separator]):
        return False
    from pflow.catalog.kinds import list_kinds
    from pflow.naming import nearest

    return nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()]) is not None


def taken_for_redirection(words: Sequence[str]) -> PflowError | None:
    """The error for a lone `=` (or `=failed=`) among words, or a stdout that is a file here, named like a node."""
    rest = next((word for word in words if is_cut_separator(word)), None)
    file = _file_of_stdout()
    if rest is not None:
        return _redirected(f"'{rest}>'", rest, file)
    if file and _is_step(file):
        return _redirected("'>>' or '>'", file, file)
    return None


def _is_step(file: str) -> bool:
    """Whether a step could be called like this file: a node, or a flow; an empty file is only to become one."""
    if is_flow_type(file):
        return os.path.getsize(file) > 0
    return find_kind(split_name(file.removeprefix("pflow-"))[0]) is not None


def _redirected(operator: str, left: str, file: str) -> PflowError:
    into = f" into the file '{file}', which is now here" if file else ""
    hint = "quotes around the flow ('a => b'), or :: between its steps (a :: b)"
    return PflowError(f"cannot read '{left}': the shell took {operator} for a redirection{into}", hint=hint, exit=USAGE)


def _file_of_stdout() -> str:
    """The name of the file in this directory that stdout goes to; "" for any other stdout."""
    import stat

    try:
        there = os.fstat(1)
        if stat.S_ISREG(there.st_mode):
            with os.scandir(".") as entries:
                own = (each for each in entries if each.inode() == there.st_ino)
                return next((each.name for each in own if os.path.samestat(each.stat(), there)), "")
    except OSError:
        pass
    return ""


def split_name(word: str) -> tuple[str, str | None]:
    """The type and the id of `llm`, `llm:draft`, `flow:NAME:id` and `./x.pflow.json:id`; None where it has no id."""
    scheme = "flow:" if word.startswith("flow:") else ""
    type, colon, id = word.removeprefix(scheme).rpartition(":")
    if not colon or (is_flow_type(word) and not scheme and not is_step_name(id)):
        return word, None
    return scheme + type, id


def full_type(type: str) -> str:
    """The type that a name in pipe syntax means: a node's, else a saved flow's as `flow:NAME`."""
    if is_flow_type(type) or find_kind(type) is not None:
        return type
    return f"flow:{type}" if saved_flow(type) else type


def free_id(type: str, taken: set[str]) -> str:
    """The id of a step without one: `llm`, then `llm-2`; `fix` for `flow:fix` and `./fix.pflow.json`."""
    base = id_after(type, set())
    if not is_step_name(base):
        base = "".join(each if each.isalnum() and each.isascii() else "-" for each in base).strip("-")
        base = base if is_step_name(base) else f"step-{base}".rstrip("-")
    return id_after(base, taken)
