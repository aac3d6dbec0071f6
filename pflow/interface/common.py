"""The flags that every stage, flow or run has: one table for parser, help, pages and completions."""

from __future__ import annotations

from pflow import Any, Sequence
from pflow.files.reading import MOST_INPUT
from pflow.interface.interface import Item
from pflow.values.types import Type

STREAM, RUN, STEP, BOTH, NODE = "stream", "run", "step", "both", "node"
"""Where a common flag belongs in a flow: STREAM to the run, and a step ignores it with a warning; RUN or STEP to that
one, and the other refuses it; BOTH to either; NODE to neither, unless `pflow run` has its own flag of that name.
"""

SOURCES = Type("choice", choices=("auto", "store", "text", "json"))
_MOST_INPUT = "the maximum size of stdin, and of each file that is read (65); default: 4 GB"
_ENCODING = "the encoding of stdin, and of files that steps load; utf-8:replace takes wrong bytes too"
_SWITCH, _PATH, _PATHS, _COUNT, _NUMBER = Type("bool"), Type("str"), Type("list"), Type("int"), Type("float")


class CommonFlag(Item):
    """A flag that belongs to no node, with the name of its value.

    A switch with `word` also takes that word after an = (one in capitals stands for any); --no-NAME turns it off.
    `of` says where it belongs in a flow, `fd` which stream it is about (0 or 1), `excludes` which flags it cannot stand
    beside.
    """

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


def _by_name(*flags: CommonFlag) -> dict[str, CommonFlag]:
    return {flag.name: flag for flag in flags}


COMMON = _by_name(
    CommonFlag(
        "from", "how to read stdin", type=SOURCES, default="auto", metavar="auto|store|text|json", of=STREAM, fd=0
    ),
    CommonFlag("encoding", _ENCODING, type=_PATH, metavar="CODEC[:HANDLER]", of=RUN, fd=0),
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
    CommonFlag("map_in", "read KEY from this place; KEY= alone keeps the pipe out", type=_PATHS, metavar="KEY=PATH"),
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
    CommonFlag("wait", "seconds between tries", type=_NUMBER, default=1.0, metavar="SECONDS"),
    CommonFlag("timeout", "end the node after this many seconds, with 124", type=_NUMBER, metavar="SECONDS", of=BOTH),
    CommonFlag("max_input", _MOST_INPUT, type=_COUNT, default=MOST_INPUT, metavar="BYTES", of=RUN),
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
)
LETTERS = {flag.letter: flag.name for flag in COMMON.values() if flag.letter}

BATCH = _by_name(
    CommonFlag("each", "run once for each item in the pipe, or in the list at PATH", metavar="PATH"),
    CommonFlag("as", "the key of the current item", type=_PATH, metavar="NAME"),
    CommonFlag("jobs", "the number of items to run at the same time", type=_COUNT, metavar="N"),
    CommonFlag("keep_going", "give null for an item that fails, and put the failure into ID.errors"),
    CommonFlag("with_item", "put each result beside its item: {item, WRITE}"),
)
"""The flags that make a step of a flow a batch."""

OF_VISITS = _by_name(
    CommonFlag("repeats", "rerun it without asking if it was interrupted; --no-repeats: ask first"),
    CommonFlag("max_visits", "fail if a loop leads here more than N times", type=_COUNT, metavar="N"),
)
OF_FLOWS = {**BATCH, **OF_VISITS}
"""The flags that only steps of flows have."""

_TURNS = Type("choice", choices=("skip", "wait", "fail"))
_TURN = "if another run of this flow is going: skip this one, wait for its end, or fail (75)"
_COST = "end the run (79) before a call of a model that may bring its cost above this, in dollars"
_TOKENS = "end the run (79) before a call of a model that may bring its tokens above this"
_CALLS = "end the run (79) before a call of a model after this many calls"
RUN_FLAGS = _by_name(
    CommonFlag("refresh", "rerun the cached steps, or only STEP, and keep their results", word="STEP"),
    CommonFlag("jobs", "run at most this many branches of a fork at once (default: all)", type=_COUNT, metavar="N"),
    CommonFlag("isolate", "run each step in a process of its own"),
    CommonFlag("show_store", "print the final store on stderr"),
    CommonFlag("no_journal", "keep no journal: pflow resume cannot resume the run"),
    CommonFlag("keep_store", "keep the journal, and with it the store, of a successful run"),
    CommonFlag("resume", "resume the newest unfinished run of this flow, inputs and params, or begin one"),
    CommonFlag("locked", "fail if a node or flow differs from the lock file (pflow lock)"),
    CommonFlag("if_running", _TURN, type=_TURNS, metavar="skip|wait|fail"),
    CommonFlag("max_cost", _COST, type=_NUMBER, metavar="X"),
    CommonFlag("max_tokens_total", _TOKENS, type=_COUNT, metavar="N"),
    CommonFlag("max_calls", _CALLS, type=_COUNT, metavar="N"),
    CommonFlag(
        "max_visits",
        "fail if a loop leads to any step more than N times (default: 100, 20 if it asks a model)",
        type=_COUNT,
        metavar="N",
    ),
)
"""The flags that only `pflow run` has; its --refresh may name a step."""

OF_RUNS = frozenset({*COMMON, *RUN_FLAGS})
"""The flags of `pflow run` itself, whose names no input of a flow may have."""

ALLOW_EMPTY = "allow_empty"
"""The param of a node that is not to run on empty data unless a person says so."""

# Names that no node may use; --no-cache is a flag of every stage. One that has an `encoding` takes that flag itself.
RESERVED = frozenset({*COMMON, *OF_FLOWS, "no_cache"} - {"encoding"})


def is_asked(name: str, words: Sequence[str]) -> bool:
    """Return True if a common flag is among the words before a `--`, even as the value of another."""
    return not {*COMMON[name].spellings}.isdisjoint(words[: (*words, "--").index("--")])


def is_shared(item: Item | None) -> bool:
    """Return True for a node's own param that is a common flag too: the flag then sets both."""
    if item is None or item.kind != "param":
        return False
    is_codec = (item.name, item.type.name, item.default) == ("encoding", "str", None)
    return is_codec or (item.name, item.type.name) in (("exact", "bool"), (ALLOW_EMPTY, "bool"))
