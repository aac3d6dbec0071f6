"""pflow cache: what is kept of answers; checked, made smaller, removed."""

from __future__ import annotations

import os
import time

import click

from pflow.cache.entries import Entry, clear, drop, paths
from pflow.cache.place import directory, files, prune, size_limit
from pflow.commands._click import cannot_write, print_json, print_table
from pflow.errors import MISSING, USAGE, PflowError
from pflow.interface.source import plain
from pflow.terminal.columns import AUTO
from pflow.terminal.messages import say

ACTS = ("info", "prune", "verify", "clear")


@click.command
@click.argument("act", required=False, type=click.Choice(ACTS), metavar="[info|prune|verify|clear]")
@click.argument("node", required=False)
@click.option("--json", "as_json", is_flag=True, help="Of info: print a JSON object.")
def command(act: str | None, node: str | None, as_json: bool) -> int:
    """Print how many answers of each node the cache has, and how much room all of it takes; or look after it.

    "prune" removes what was not used for longest until the rest fits. That happens by itself, too: PFLOW_CACHE_SIZE is
    the most that the cache may take (500M, 2G; 1G where it says nothing), and nothing that was used within the last
    minute is removed. "verify" reads every answer, drops those that are damaged and names them; then its exit code
    is 1. "clear" removes the answers of NODE, or without one the whole cache; it can be removed by hand as well.

    Answers are kept below ~/.cache/pflow/results/, for their owner alone. A damaged one is never used: the step that
    wants it runs, and makes it again. pflow-node(7) says what an answer depends on.

    \b
    pflow cache
    pflow cache clear llm
    pflow cache --json | jq .bytes
    """
    if (node and act != "clear") or (as_json and act not in (None, "info")):
        what = f"the node '{node}'" if node else "--json"
        raise PflowError(f"cannot take {what} with {act}", hint="pflow cache --help", exit=USAGE)
    try:
        if act == "prune":
            return _prune()
        if act == "verify":
            return _verify()
        return _clear(node) if act == "clear" else _info(as_json=as_json)
    except OSError as error:
        raise cannot_write(error.filename or directory(), error) from None


def _info(*, as_json: bool) -> int:
    kept: dict[str, list[float]] = {}
    for path in paths():
        kept.setdefault(path.rsplit("/", 2)[1], []).append(_used(path))
    taken, limit = sum(status.st_blocks * 512 for _, status in files()), size_limit()
    if as_json:
        nodes = [{"node": node, "answers": len(used), "used": max(used)} for node, used in kept.items()]
        print_json({"directory": directory(), "bytes": taken, "limit": limit, "nodes": nodes})
        return 0
    rows = [[node, _count(len(used)), time.strftime("%F %T", time.localtime(max(used)))] for node, used in kept.items()]
    print_table([*rows, ["in all", f"{_size(taken)} of {_size(limit)}", directory()]], AUTO)
    return 0


def _used(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0  # it was pruned just now


def _prune() -> int:
    removed, taken = prune(size_limit())
    say("pflow cache", f"removed {removed:,} files; {_size(taken)} of {_size(size_limit())} are used")
    return 0


def _verify() -> int:
    good = bad = 0
    for path in paths():
        try:
            Entry(path).read()
            good += 1
        except OSError:
            drop(path)  # its answer was pruned before it
        except ValueError as error:
            drop(path)
            bad += 1
            say("pflow cache", f"dropped an answer of '{path.rsplit('/', 2)[1]}': {error}")
    say("pflow cache", f"{_count(good)} are whole, {bad} were damaged")
    return 1 if bad else 0


def _clear(node: str | None) -> int:
    names = {path.rsplit("/", 2)[1] for path in paths()}
    wanted = {name for name in names if node is None or plain(name) == plain(node)}
    if node is not None and not wanted:
        there = f"there is: {', '.join(sorted(names))}" if names else "the cache is empty"
        raise PflowError(f"cannot clear the cache of '{node}': nothing of it is kept", hint=there, exit=MISSING)
    say("pflow cache", f"removed {_count(clear(wanted if node else None))}")
    return 0


def _count(number: int) -> str:
    return f"{number:,} answer{'s' * (number != 1)}"


def _size(size: int) -> str:
    """So many bytes in words."""
    power = min(max(size.bit_length() - 1, 0) // 10, 4)
    number = f"{size / (1 << 10 * power):,.1f}".removesuffix(".0")
    return f"{number} {('bytes', 'KB', 'MB', 'GB', 'TB')[power]}"
