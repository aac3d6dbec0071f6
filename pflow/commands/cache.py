"""pflow cache: Show, check, shrink or clear the cache of answers.

"info", the default, shows how many answers of each node the cache has, and how much space it takes. "prune" removes the
least recently used answers until the rest fits, which pflow also does by itself. PFLOW_CACHE_SIZE sets the limit (500M,
2G); the default is 1G. Answers that were used within the last minute stay. "verify" reads every answer, removes the
damaged ones and names them; its exit code is then 1. "clear" removes the answers of NODE, or the whole cache. You can
also delete the cache by hand.

Answers are kept in ~/.cache/pflow/results/, readable only by you. A damaged answer is never used: the step runs again
and replaces it. pflow-node(7) lists what an answer depends on.

\b
pflow-read-file --path=examples/notes.txt --cache -q
pflow cache
pflow cache clear read-file
pflow cache --json | jq .bytes
"""

import os
import time

from pflow.cache.directory import directory, files, prune, size_limit
from pflow.cache.entries import KeptAnswer, clear, drop, paths
from pflow.commands._command import Command
from pflow.commands._output import print_json, print_table
from pflow.errors import MISSING, USAGE, PflowError, not_written, result_of
from pflow.help.spec import NODE
from pflow.interface.interface import Flag, argument, choice
from pflow.interface.source import plain
from pflow.terminal.columns import AUTO
from pflow.terminal.messages import say
from pflow.text.printable import counted


@Command(
    __doc__,
    Flag("json", "with info, print a JSON object"),
    argument("[info|prune|verify|clear]", name="act", type=choice("info", "prune", "verify", "clear")),
    argument("[NODE]", NODE, name="node"),
)
def command(act: str | None, node: str | None, json: bool) -> int:
    if (node and act != "clear") or (json and act not in (None, "info")):
        what = f"the node '{node}'" if node else "--json"
        raise PflowError(f"cannot take {what} with {act}", hint="pflow cache --help", exit=USAGE)
    try:
        if act == "prune":
            return _prune()
        if act == "verify":
            return _verify()
        return _clear(node) if act == "clear" else _info(as_json=json)
    except OSError as error:
        raise not_written(f"cannot write '{error.filename or directory()}'", error) from None


def _info(*, as_json: bool) -> int:
    kept: dict[str, list[float]] = {}
    for path in paths():
        kept.setdefault(path.rsplit("/", 2)[1], []).append(_used(path))
    taken, limit = sum(status.st_blocks * 512 for _, status in files()), size_limit()
    if as_json:
        nodes = [{"node": node, "answers": len(used), "used": max(used)} for node, used in kept.items()]
        print_json({"directory": directory(), "bytes": taken, "limit": limit, "nodes": nodes})
        return 0
    last = {node: time.strftime("%F %T", time.localtime(max(used))) for node, used in kept.items()}
    rows = [[node, counted(len(used), "answer"), last[node]] for node, used in kept.items()]
    print_table([*rows, ["in all", f"{_size(taken)} of {_size(limit)}", directory()]], AUTO)
    return 0


def _used(path: str) -> float:
    return result_of(os.path.getmtime, path, otherwise=0.0)  # another process may have removed it meanwhile


def _prune() -> int:
    removed, taken = prune(size_limit())
    say("pflow cache", f"removed {removed:,} files; {_size(taken)} of {_size(size_limit())} are used")
    return 0


def _verify() -> int:
    good = bad = 0
    for path in paths():
        try:
            KeptAnswer(path).read()
            good += 1
        except OSError:
            drop(path)  # pruning removed the answer, but not yet this file about it
        except ValueError as error:
            drop(path)
            bad += 1
            say("pflow cache", f"dropped an answer of '{path.rsplit('/', 2)[1]}': {error}")
    say("pflow cache", f"{counted(good, 'answer')} {'is' if good == 1 else 'are'} whole; damaged: {bad}")
    return 1 if bad else 0


def _clear(node: str | None) -> int:
    names = {path.rsplit("/", 2)[1] for path in paths()}
    wanted = {name for name in names if node is None or plain(name) == plain(node)}
    if node is not None and not wanted:
        there = f"the cache has {', '.join(sorted(names))}" if names else "the cache is empty"
        raise PflowError(f"cannot clear the cache of '{node}': it has no answers", hint=there, exit=MISSING)
    say("pflow cache", f"removed {counted(clear(wanted if node else None), 'answer')}")
    return 0


def _size(size: int) -> str:
    power = min(max(size.bit_length() - 1, 0) // 10, 4)
    number = f"{size / (1 << 10 * power):,.1f}".removesuffix(".0")
    return f"{number} {('bytes', 'KB', 'MB', 'GB', 'TB')[power]}"
