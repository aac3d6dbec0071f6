"""A `=>` or `>>` that the shell took for a redirection: what is left of it, and the file that it made."""

from __future__ import annotations

import os

from pflow.catalog.flows import is_flow_type
from pflow.catalog.kinds import find_kind
from pflow.errors import USAGE, PflowError
from pflow.flow.pipe.names import split_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def taken_for_redirection(words: Sequence[str]) -> PflowError | None:
    """The error for a lone `=` (or `=failed=`) among words, or a stdout that is a file here, named like a node."""
    rest = next((word for word in words if is_rest(word)), None)
    file = _file_of_stdout()
    if rest is not None:
        return _error(f"'{rest}>'", rest, file)
    if file and _is_step(file):
        return _error("'>>' or '>'", file, file)
    return None


def _is_step(file: str) -> bool:
    """Whether a step could be called like this file: a node, or a flow that is not only to become one."""
    if is_flow_type(file):
        return os.path.getsize(file) > 0
    return find_kind(split_name(file.removeprefix("pflow-"))[0]) is not None


def is_rest(word: str) -> bool:
    """Whether a word is what the shell leaves of a `=>` or `=failed=>` that it took for a redirection."""
    return word == "=" or (len(word) > 2 and word.startswith("=") and word.endswith("="))


def _error(sign: str, left: str, file: str) -> PflowError:
    into = f" into the file '{file}', which is now here" if file else ""
    hint = "quotes around the flow ('a => b'), or :: between its steps (a :: b)"
    return PflowError(f"cannot read '{left}': the shell took {sign} for a redirection{into}", hint=hint, exit=USAGE)


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
