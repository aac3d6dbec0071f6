"""The flags that every stage has and no node may use: one table for parser, help, man pages and completions."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.types import Type

if TYPE_CHECKING:
    from typing import Any


class CommonFlag:
    """A flag of every stage: its letter, type (None for a switch), default, metavar and what it does."""

    __slots__ = ("default", "doc", "letter", "metavar", "repeats", "type")

    def __init__(
        self, doc: str, *, letter: str = "", type: Type | None = None, default: Any = None, metavar: str = "",
        repeats: bool = False,
    ) -> None:  # fmt: skip
        self.doc = doc
        self.letter = letter
        self.type = type
        self.default = default
        self.metavar = metavar
        self.repeats = repeats


SOURCES = Type("choice", choices=("auto", "store", "text", "json"))
_PATH, _COUNT, _SECONDS = Type("str"), Type("int"), Type("float")

COMMON = {
    "from": CommonFlag("what stdin holds", type=SOURCES, default="auto", metavar="auto|store|text|json"),
    "no_stdin": CommonFlag("read nothing: this stage starts the pipe", letter="n"),
    "allow_empty": CommonFlag("take an empty pipe as an empty text"),
    "id": CommonFlag("name this step: its data and writes go under NAME", type=_PATH, metavar="NAME"),
    "map_in": CommonFlag("read KEY from this place in the store", type=_PATH, metavar="KEY=PATH", repeats=True),
    "map_out": CommonFlag("write KEY to this place in the store", type=_PATH, metavar="KEY=PATH", repeats=True),
    "verbatim": CommonFlag("no templates in the flags: a $ is a $"),
    "raw": CommonFlag("print only what the pipe carries, as it is", letter="r"),
    "json": CommonFlag("print the store document, even to a terminal", letter="j"),
    "quiet": CommonFlag("print nothing", letter="q"),
    "dry_run": CommonFlag("say what would be read and done, and touch nothing"),
    "retries": CommonFlag("more tries when the node fails", type=_COUNT, default=0, metavar="N"),
    "wait": CommonFlag("seconds between tries", type=_SECONDS, default=1.0, metavar="SECONDS"),
    "timeout": CommonFlag("end the node after so many seconds, with 124", type=_SECONDS, metavar="SECONDS"),
    "debug": CommonFlag("show the traceback of a failure"),
    "verbose": CommonFlag("say where each value comes from and goes to", letter="v"),
    "describe": CommonFlag("print the interface as JSON"),
    "help": CommonFlag("print this help", letter="h"),
    "version": CommonFlag("print the version"),
}

LETTERS = {flag.letter: name for name, flag in COMMON.items() if flag.letter}

OF_RUNS = frozenset({*COMMON, "jobs", "isolate", "show_store"})
"""The flags of `pflow run` itself; no input of a flow has a flag of these names."""

# Names that no node may use: the flags of every stage, and those that are planned.
RESERVED = frozenset({*COMMON, "cache", "no_cache"})
