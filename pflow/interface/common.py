"""The flags that every stage, flow or run has: one table for parser, help, pages and completions."""

from __future__ import annotations

from pflow.files.reading import MOST_INPUT
from pflow.interface.interface import COMMON_FLAG, COUNT, NUMBER, PARAM, TEXT, TEXTS, Field, Flag, choice

STREAM, RUN, STEP, BOTH, NODE = "stream", "run", "step", "both", "node"
"""Who takes a common flag in a flow. STREAM: the run; a step ignores it with a warning. RUN: the run; a step refuses
it. STEP: a step; the run refuses it. BOTH: either. NODE: neither, but `pflow run` may have a flag of that name itself.
"""

SOURCES = choice("auto", "store", "text", "json")
_MOST_INPUT = "the maximum size of stdin, and of each file that is read (65); default: 4 GB"
_ENCODING = "the encoding of stdin, and of files that steps load; utf-8:replace takes wrong bytes too"
_SKIP = "skip this stage and all later ones if the pipe is empty"
_TIMEOUT = "end the node after this many seconds, with 124"
_CACHE = "reuse the result kept for the same values, else keep it; require: fail (66) without one"
_UNCONFINED = "let the installed node or pack NAME do more than it declares"
_YEARS = 10 * 365 * 24 * 3600
_VISITS = 1_000_000_000

MOST_JOBS = 256
"""The most items, or branches of a fork, that run at the same time."""


def _table(*flags: Flag) -> dict[str, Flag]:
    for flag in flags:
        flag.kind = COMMON_FLAG
        flag.of = flag.of or STEP
    return {flag.name: flag for flag in flags}


COMMON = _table(
    Flag("from", "how to read stdin", type=SOURCES, default="auto", of=STREAM, fd=0),
    Flag("encoding", _ENCODING, type=TEXT, metavar="CODEC[:HANDLER]", of=RUN, fd=0),
    Flag("no_stdin", "do not read stdin: this stage starts the pipe", letter="n", of=STREAM, fd=0),
    Flag("allow_empty", "take an empty pipe as an empty text", of=STREAM, fd=0),
    Flag("skip_empty", _SKIP, of=RUN, fd=0, excludes=("no_stdin", "allow_empty")),
    Flag("id", "name this step: its data and writes go under NAME", type=TEXT, metavar="NAME"),
    Flag("map_in", "read KEY from this place; KEY= alone keeps the pipe out", type=TEXTS, metavar="KEY=PATH"),
    Flag("map_out", "write KEY to this place in the store", type=TEXTS, metavar="KEY=PATH"),
    Flag("verbatim", "expand no templates in the flags: a $ is a $"),
    Flag("raw", "print only what the pipe carries, a text with a newline at its end", letter="r", of=STREAM, fd=1),
    Flag("exact", "with -r: do not add a newline to the text", of=STREAM, fd=1),
    Flag("stream", "with -r: print the output as it comes, even if the node fails later", of=STREAM, fd=1),
    Flag("json", "print the store document, even to a terminal", letter="j", of=STREAM, fd=1),
    Flag("quiet", "print nothing", letter="q", of=STREAM, fd=1),
    Flag("dry_run", "show what would be read and done, without doing it", of=RUN),
    Flag("retries", "try again up to N times if the node fails", type=COUNT, default=0, least=0, most=1_000_000),
    Flag("wait", "seconds between tries", type=NUMBER, default=1.0, metavar="SECONDS", least=0, most=_YEARS),
    Flag("timeout", _TIMEOUT, type=NUMBER, metavar="SECONDS", of=BOTH, least=0.001, most=_YEARS),
    Flag("max_input", _MOST_INPUT, type=COUNT, default=MOST_INPUT, metavar="BYTES", of=RUN, least=1),
    Flag("cache", _CACHE, word="require", of=BOTH),
    Flag("refresh", "run the node and keep its result, even if one is kept already", of=NODE),
    Flag("unconfined", _UNCONFINED, type=TEXTS, metavar="NAME", of=RUN, tab="confined"),
    Flag("debug", "show the traceback of a failure", of=RUN),
    Flag("verbose", "show where each value comes from and goes to, and the usage of models", letter="v", of=RUN),
    Flag("describe", "print the interface as JSON", of=NODE),
    Flag("help", "print help, with -v all of it", letter="h", of=NODE),
    Flag("version", "print the version", of=NODE),
)
LETTERS = frozenset(flag.letter for flag in COMMON.values() if flag.letter)

BATCH = _table(
    Flag("each", "run once for each item in the pipe, or in the list at PATH", word="PATH"),
    Flag("as", "the key of the current item", type=TEXT, metavar="NAME"),
    Flag("jobs", "the number of items to run at the same time", type=COUNT, least=1, most=MOST_JOBS),
    Flag("keep_going", "give null for an item that fails, and put the failure into ID.errors"),
    Flag("with_item", "put each result beside its item: {item, WRITE}"),
)
"""The flags that make a step of a flow a batch."""

OF_VISITS = _table(
    Flag("repeats", "rerun it without asking if it was interrupted; --no-repeats: ask first"),
    Flag("max_visits", "fail if a loop leads here more than N times", type=COUNT, least=1, most=_VISITS),
)
OF_FLOWS = {**BATCH, **OF_VISITS}
"""The flags that only steps of flows have."""

_TURNS = choice("skip", "wait", "fail")
_TURN = "if another run of this flow is going: skip this one, wait for its end, or fail (75)"
_COST = "end the run (79) before a call of a model that may bring its cost above this, in dollars"
_TOKENS = "end the run (79) before a call of a model that may bring its tokens above this"
_CALLS = "end the run (79) before a call of a model after this many calls"
_LOOPS = "fail if a loop leads to any step more than N times (default: 100, 20 if it asks a model)"
_RESUME = "resume the newest unfinished run of this flow, inputs and params, or begin one"
RUN_FLAGS = _table(
    COMMON["refresh"].but(doc="rerun the cached steps, or only STEP, and keep their results", of=STEP, word="STEP"),
    BATCH["jobs"].but(doc="run at most this many branches of a fork at once (default: all)"),
    Flag("isolate", "run each step in a process of its own"),
    Flag("show_store", "print the final store on stderr"),
    Flag("no_journal", "keep no journal: pflow resume cannot resume the run"),
    Flag("keep_store", "keep the journal, and with it the store, of a successful run"),
    Flag("resume", _RESUME, excludes=("no_journal",)),
    Flag("locked", "fail if a node or flow differs from the lock file (pflow lock)"),
    Flag("if_running", _TURN, type=_TURNS),
    Flag("max_cost", _COST, type=NUMBER, metavar="X"),
    Flag("max_tokens_total", _TOKENS, type=COUNT),
    Flag("max_calls", _CALLS, type=COUNT),
    OF_VISITS["max_visits"].but(doc=_LOOPS),
)
"""The flags that only `pflow run` has; its --refresh may name a step."""


def _of_runs(flag: Flag) -> Flag:
    """Return a common flag as a flow takes or refuses it. Steps refuse --describe and --version too."""
    hint = "it is for a step, in the flow" if flag.of == STEP else ""
    hint = {"describe": "pflow explain describes a flow", "version": "pflow --version"}.get(flag.name, hint)
    return flag.but(refused=(" for a flow (PF01)", hint)) if hint else flag


OF_RUNS = {**{name: _of_runs(flag) for name, flag in COMMON.items()}, **RUN_FLAGS}
"""The flags of `pflow run` itself, refused ones too, whose names no input of a flow may have."""

ALLOW_EMPTY = "allow_empty"
"""The param of a node that runs on empty data only if a person allows it."""

# No node may use these names, since each is a flag of every stage. A node with an `encoding` takes that flag itself.
RESERVED = frozenset({*COMMON, *OF_FLOWS, "no_cache"} - {"encoding"})


def is_shared(field: Field | None) -> bool:
    """Return True for a node's own param that is a common flag too: the flag then sets both."""
    if field is None or field.kind != PARAM:
        return False
    is_codec = (field.name, field.type.name, field.default) == ("encoding", "str", None)
    return is_codec or (field.name, field.type.name) in (("exact", "bool"), (ALLOW_EMPTY, "bool"))
