"""The flags that every stage has and no node may use: one table for parser, help, man pages and completions."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.interface.interface import Item
from pflow.values.types import Type

if TYPE_CHECKING:
    from typing import Any


STREAM, RUN, STEP, BOTH, NODE = "stream", "run", "step", "both", "node"
"""Where a common flag belongs in a flow: STREAM to the run, and a step passes over it with a warning; RUN and STEP to
one of the two, and the other refuses it; BOTH to either; NODE to neither as it is.
"""

SOURCES = Type("choice", choices=("auto", "store", "text", "json"))
_SWITCH, _PATH, _PATHS, _COUNT, _SECONDS = Type("bool"), Type("str"), Type("list"), Type("int"), Type("float")


class CommonFlag(Item):
    """A flag of every stage, with the name of its value.

    A switch with `word` takes that word behind an = too (one in capitals stands for any), and --no-NAME turns it off.
    `of` says where it belongs in a flow, `fd` which stream it is about (0 or 1), `excludes` which flags cannot stand
    beside it.
    """

    __slots__ = ("excludes", "fd", "metavar", "of", "word")

    def __init__(
        self, name: str, doc: str, *, letter: str = "", type: Type = _SWITCH, default: Any = None, metavar: str = "",
        word: str = "", of: str = STEP, fd: int | None = None, excludes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__("common", name, type)
        self.of = of
        self.fd = fd
        self.excludes = excludes
        self.word = word
        self.doc = doc
        self.letter = letter
        self.default = default
        self.metavar = metavar or word

    @property
    def spellings(self) -> list[str]:
        """The flag as it may be typed, its letter first."""
        return [f"-{self.letter}", self.flag] if self.letter else [self.flag]


_FLAGS = [
    CommonFlag(
        "from", "what stdin holds", type=SOURCES, default="auto", metavar="auto|store|text|json", of=STREAM, fd=0
    ),
    CommonFlag("no_stdin", "read nothing: this stage starts the pipe", letter="n", of=STREAM, fd=0),
    CommonFlag("allow_empty", "take an empty pipe as an empty text", of=STREAM, fd=0),
    CommonFlag(
        "skip_empty",
        "where nothing comes through the pipe, do nothing; nor does any later stage",
        of=RUN,
        fd=0,
        excludes=("no_stdin", "allow_empty"),
    ),
    CommonFlag("id", "name this step: its data and writes go under NAME", type=_PATH, metavar="NAME"),
    CommonFlag("map_in", "read KEY from this place in the store", type=_PATHS, metavar="KEY=PATH"),
    CommonFlag("map_out", "write KEY to this place in the store", type=_PATHS, metavar="KEY=PATH"),
    CommonFlag("verbatim", "no templates in the flags: a $ is a $"),
    CommonFlag("raw", "print only what the pipe carries; a text ends with a newline", letter="r", of=STREAM, fd=1),
    CommonFlag("exact", "with -r: add no newline to the text", of=STREAM, fd=1),
    CommonFlag("stream", "with -r: print it as it comes, of a node that fails later too", of=STREAM, fd=1),
    CommonFlag("json", "print the store document, even to a terminal", letter="j", of=STREAM, fd=1),
    CommonFlag("quiet", "print nothing", letter="q", of=STREAM, fd=1),
    CommonFlag("dry_run", "say what would be read and done, and touch nothing", of=RUN),
    CommonFlag("retries", "more tries when the node fails", type=_COUNT, default=0, metavar="N"),
    CommonFlag("wait", "seconds between tries", type=_SECONDS, default=1.0, metavar="SECONDS"),
    CommonFlag("timeout", "end the node after so many seconds, with 124", type=_SECONDS, metavar="SECONDS", of=BOTH),
    CommonFlag(
        "cache",
        "hand on what was kept for the same values, else keep it; require: else fail (66)",
        word="require",
        of=BOTH,
    ),
    CommonFlag("refresh", "run the node and keep what it gives, whatever was kept", of=NODE),
    CommonFlag("debug", "show the traceback of a failure", of=RUN),
    CommonFlag("verbose", "say where each value comes from and goes to, and what models took", letter="v", of=RUN),
    CommonFlag("describe", "print the interface as JSON", of=NODE),
    CommonFlag("help", "print help, with -v all of it", letter="h", of=NODE),
    CommonFlag("version", "print the version", of=NODE),
]

COMMON = {flag.name: flag for flag in _FLAGS}
LETTERS = {flag.letter: flag.name for flag in _FLAGS if flag.letter}

BATCH = {
    flag.name: flag
    for flag in (
        CommonFlag("each", "run once for each of what the pipe carries, or of the list at PATH", metavar="PATH"),
        CommonFlag("as", "what the step calls one item", type=_PATH, metavar="NAME"),
        CommonFlag("jobs", "how many items at the same time", type=_COUNT, metavar="N"),
        CommonFlag("keep_going", "null for an item that fails, and the failure in ID.errors"),
        CommonFlag("with_item", "each result beside its item: {item, WRITE}"),
    )
}
"""The flags that make a step of a flow a batch."""

REPEATS = CommonFlag("repeats", "cut short, it may run again unasked; --no-repeats: never")
OF_FLOWS = {**BATCH, REPEATS.name: REPEATS}
"""The flags of steps in flows alone."""

REFRESH = CommonFlag("refresh", "run what is cached, or STEP alone, and keep what it gives anew", word="STEP")
"""The same of `pflow run`, which has several steps."""

_OF_RUNS = "jobs isolate show_store locked no_journal keep_store resume max_cost max_tokens_total max_calls if_running"
OF_RUNS = frozenset({*COMMON, *_OF_RUNS.split()})
"""The flags of `pflow run` itself; no input of a flow has a flag of these names."""

# Names that no node may use: with --no-cache a flag of every stage is meant.
RESERVED = frozenset({*COMMON, *OF_FLOWS, "no_cache"})


def is_shared(item: Item | None) -> bool:
    """Whether it is a node's own switch that is a common flag too, which then gives both."""
    return item is not None and (item.kind, item.name, item.type.name) == ("param", "exact", "bool")
