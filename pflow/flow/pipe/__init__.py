"""Pipe syntax: a flow as a person writes it in a line, read and written."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.catalog.kinds import Catalog
    from pflow.errors import PflowError
    from pflow.flow.flow import Flow


def is_pipe(words: Sequence[str]) -> bool:
    """Whether a command's words are pipe syntax: a separator among them, or one text that holds one after a node."""
    from pflow.flow.pipe.recognize import is_pipe

    return is_pipe(words)


def parse_pipe(words: Sequence[str], catalog: Catalog | None = None) -> Flow:
    """The flow that pipe syntax says, wired; what is doubtful in it is in its `warnings`.

    One word is a text, with quotes and comments; several are what a shell has taken apart already. Without a
    `catalog` its steps are nodes only. Raises PflowError (2) for wrong syntax and flags, with their place.
    """
    from pflow.catalog.kinds import Catalog
    from pflow.flow.pipe.read import parse_pipe

    return parse_pipe(words, catalog or Catalog())


def write_pipe(flow: Flow) -> str:
    """The pipe syntax of a flow, one step a line. Raises PflowError (65) where it cannot say the same."""
    from pflow.flow.pipe.write import write_pipe

    return write_pipe(flow)


def taken_for_redirection(words: Sequence[str]) -> PflowError | None:
    """The error (2) for a command line whose `=>` or `>>` the shell took for a redirection; None for any other."""
    from pflow.flow.pipe.recognize import taken_for_redirection

    return taken_for_redirection(words)
