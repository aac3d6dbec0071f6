"""The flags that every stage has, so that no node may use them: one table for parser, help, pages and completions."""

from __future__ import annotations

from pflow import Any
from pflow.interface.interface import Item
from pflow.values.types import Type

STREAM, RUN, STEP, BOTH, NODE = "stream", "run", "step", "both", "node"
"""Where a common flag belongs in a flow: STREAM to the run, and a step ignores it with a warning; RUN or STEP to that
one, and the other refuses it; BOTH to either; NODE to neither, unless `pflow run` has its own flag of that name.
"""

SOURCES = Type("choice", choices=("auto", "store", "text", "json"))
_SWITCH, _PATH, _PATHS, _COUNT, _SECONDS = Type("bool"), Type("str"), Type("list"), Type("int"), Type("float")


class CommonFlag(Item):
    """A flag of every stage, with the name of its value.

    A switch with `word` also takes that word after an = (one in capitals stands for any); --no-NAME turns it off.
    `of` says where it belongs in a flow, `fd` which stream it is about (0 or 1), `excludes` which flags it cannot stand
    beside.
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
        "from", "how to read stdin", type=SOURCES, default="auto", metavar="auto|store|text|json", of=STREAM, fd=0
    ),
    CommonFlag("no_stdin", "do not read stdin: this stage starts the pipe", letter="n", of=STREAM, fd=0),
    CommonFlag("allow_empty", "take an empty pipe as an empty text", of=STREAM, fd=0),
    CommonFlag(
        "skip_empty",
        "skip this stage and all later ones if the pipe is empty",
        of=RUN,
        fd=0,
        excludes=("no_stdin", "allow_empty"),
    ),
    CommonFlag("id", "name this step: its data and writes go under NAME", type=_PATH, metavar="NAME"),
    CommonFlag("map_in", "read KEY from this place in the store", type=_PATHS, metavar="KEY=PATH"),
    CommonFlag("map_out", "write KEY to this place in the store", type=_PATHS, metavar="KEY=PATH"),
    CommonFlag("verbatim", "expand no templates in the flags: a $ is a $"),
    CommonFlag(
        "raw", "print only what the pipe carries, a text with a newline at its end", letter="r", of=STREAM, fd=1
    ),
    CommonFlag("exact", "with -r: do not add a newline to the text", of=STREAM, fd=1),
    CommonFlag("stream", "with -r: print the output as it comes, even if the node fails later", of=STREAM, fd=1),
    CommonFlag("json", "print the store document, even to a terminal", letter="j", of=STREAM, fd=1),
    CommonFlag("quiet", "print nothing", letter="q", of=STREAM, fd=1),
    CommonFlag("dry_run", "show what would be read and done, without doing it", of=RUN),
    CommonFlag("retries", "try again up to N times if the node fails", type=_COUNT, default=0, metavar="N"),
    CommonFlag("wait", "seconds between tries", type=_SECONDS, default=1.0, metavar="SECONDS"),
    CommonFlag("timeout", "end the node after this many seconds, with 124", type=_SECONDS, metavar="SECONDS", of=BOTH),
    CommonFlag(
        "cache",
        "reuse the result kept for the same values, else keep it; require: fail (66) without one",
        word="require",
        of=BOTH,
    ),
    CommonFlag("refresh", "run the node and keep its result, even if one is kept already", of=NODE),
    CommonFlag("debug", "show the traceback of a failure", of=RUN),
    CommonFlag("verbose", "show where each value comes from and goes to, and the usage of models", letter="v", of=RUN),
    CommonFlag("describe", "print the interface as JSON", of=NODE),
    CommonFlag("help", "print help, with -v all of it", letter="h", of=NODE),
    CommonFlag("version", "print the version", of=NODE),
]

COMMON = {flag.name: flag for flag in _FLAGS}
LETTERS = {flag.letter: flag.name for flag in _FLAGS if flag.letter}

BATCH = {
    flag.name: flag
    for flag in (
        CommonFlag("each", "run once for each item in the pipe, or in the list at PATH", metavar="PATH"),
        CommonFlag("as", "the key of the current item", type=_PATH, metavar="NAME"),
        CommonFlag("jobs", "the number of items to run at the same time", type=_COUNT, metavar="N"),
        CommonFlag("keep_going", "give null for an item that fails, and put the failure into ID.errors"),
        CommonFlag("with_item", "put each result beside its item: {item, WRITE}"),
    )
}
"""The flags that make a step of a flow a batch."""

REPEATS = CommonFlag("repeats", "rerun it without asking if it was interrupted; --no-repeats: ask first")
OF_FLOWS = {**BATCH, REPEATS.name: REPEATS}
"""The flags that only steps of flows have."""

REFRESH = CommonFlag("refresh", "rerun the cached steps, or only STEP, and keep their results", word="STEP")
"""--refresh of `pflow run`, which has several steps."""

_OF_RUNS = "jobs isolate show_store locked no_journal keep_store resume max_cost max_tokens_total max_calls if_running"
OF_RUNS = frozenset({*COMMON, *_OF_RUNS.split()})
"""The flags of `pflow run` itself, whose names no input of a flow may have."""

# Names that no node may use; --no-cache is a flag of every stage.
RESERVED = frozenset({*COMMON, *OF_FLOWS, "no_cache"})


def is_shared(item: Item | None) -> bool:
    """Return True for a node's own switch that is a common flag too: the flag then sets both."""
    return item is not None and (item.kind, item.name, item.type.name) == ("param", "exact", "bool")
