"""Loading the flow that a command's words name: a file, a saved flow, pipe syntax, or stdin."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.catalog.flows import saved_flow, saved_flows
from pflow.catalog.kinds import find_kind
from pflow.errors import MISSING, NOT_FOUND, USAGE, PflowError
from pflow.flow.load import Loaded, load_file, load_text, read_text
from pflow.flow.subflow import FlowCatalog

if TYPE_CHECKING:
    from collections.abc import Sequence


def load_named(words: Sequence[str]) -> Loaded:
    """Find and load it: `-` is stdin, one word a file or a saved flow, anything else pipe syntax.

    Raises PflowError: 66 for a missing file, 65 for one that does not parse, 2 for no words and for wrong pipe syntax.
    """
    from pflow.flow.pipe import is_pipe, parse_pipe

    if not words:
        raise PflowError("cannot tell which flow: no words", hint="a file, a saved flow or 'a => b'", exit=USAGE)
    word = words[0]
    if len(words) == 1 and word == "-":
        return load_text(read_text(0, "the flow on stdin"), "stdin", FlowCatalog())
    if len(words) == 1 and (file := find_file(word)):
        return load_file(file, FlowCatalog())
    if len(words) == 1 and not is_pipe(words) and _looks_like_file(word):
        raise PflowError(f"cannot find the flow '{word}': no such file", exit=MISSING)
    return Loaded(parse_pipe(words, FlowCatalog()), [])


def find_file(word: str) -> str | None:
    """The file of a flow: the saved flow of that name, or the word itself where it is a file.

    A name is never a file that happens to lie here: of a node's or saved flow's name, `./NAME` is the file.
    """
    if word.startswith("flow:") and not set(word) & set(" \t\n"):
        file = saved_flow(word.removeprefix("flow:"))
        if file is None:
            raise no_saved_flow(word.removeprefix("flow:"))
        return file
    if "\n" in word or "\0" in word or not FlowCatalog.opens_files or not os.path.isfile(word):
        return saved_flow(word)
    if "/" in word or word.endswith(".json"):
        return word
    return saved_flow(word) or (None if find_kind(word) else word)


def no_saved_flow(name: str) -> PflowError:
    """The error (127), with the nearest names."""
    import difflib

    near = difflib.get_close_matches(name, saved_flows(), 2)
    hint = f"did you mean {' or '.join(near)}?" if near else "pflow list lists them"
    return PflowError(f"cannot find the saved flow '{name}'", hint=hint, exit=NOT_FOUND)


def _looks_like_file(word: str) -> bool:
    return " " not in word and (word.endswith(".json") or "/" in word)
