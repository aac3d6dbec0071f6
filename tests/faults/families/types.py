"""Each file of a run or map is empty, cut, of another type or version; then every command that reads it is called."""

import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.faults.families.damage import Kept, call, check_shown
from tests.faults.points import Point, series, spread

NEEDS: tuple[str, ...] = ()
WEIGHT = 100

END = "shell 'cat; test -e go'"
RUN = ("run", f"template one => {END}", "-n", "-r")
MAP = ("map", f"template 'is $item' => {END}", "items", "--from=lines", "-r")
ROWS = {"run": b"one\n", "map": b"is a\nis b\n"}
"""What each prints once the file `go` is there."""
STATES = [f"{kind}-{how}" for kind in ROWS for how in ("done", "failed")]
LEDGER = "ledger.db"
FILES = (
    LEDGER,
    "trace.jsonl",
    "journal.jsonl",
    "snapshot.json",
    "flow.pflow.json",
    "keys.jsonl",
    "status.json",
    "lock",
)
OTHERS: tuple[Any, ...] = (None, True, -1, 2.5, "é", "", [], [1], {}, {"a": 1}, 10**12)
VALUES = (*OTHERS[:6], "[]", "{}", '{"a":1}', '{"a":1e999}', "[1]", b"\xff", 1e300, float("inf"))
"""What a column of a ledger has instead."""
READERS = (("runs",), ("runs", "--json"))
OF_ONE = (("trace",), ("trace", "--json"), ("trace", "--html"), ("why", "template"), ("cancel",))
AGAIN = (("resume", "-r"), ("resume", "-r", "--failed"), ("replay", "-r"))


def points(share: int, seed: int) -> Iterator[Point]:
    import pflow.map.execution  # noqa: F401  # once, before the forks

    return spread(
        share, *(series(f"types/{file.partition('.')[0]}", STATES, seed, partial(check, file)) for file in FILES)
    )


def check(file: str, directory: Path, state: str, chances: random.Random) -> None:
    """No bug, no hang, no run that is another one: what ends well printed the right rows."""
    kind, _, how = state.partition("-")
    Path("items").write_text("a\nb\n")
    if how == "done":
        Path("go").touch()
    assert call(directory, *(MAP if kind == "map" else RUN)).code == (how == "failed")
    Path("go").touch()
    (kept,) = (directory / "state" / "pflow" / "runs").glob("[0-9A-Z]*")
    path = next((directory / "state" / "pflow" / "maps").glob("*.db"), kept / file) if file == LEDGER else kept / file
    before = Kept(directory)
    for name in [*WAYS, *["member"] * 5]:
        if name in ("cut", "version", "member") and (file == "lock" or not path.exists()):
            continue
        where = f"{state}: {file}: {damage(path, name, chances)}"
        for words in READERS:
            shown = call(directory, *words)
            check_shown(shown, where)
            is_listed = kept.name in str(shown.stdout) or (file, how, name) == ("trace.jsonl", "done", "gone")
            assert shown.code == 0, (where, shown)
            assert is_listed, (where, shown)
        if not path.is_file():  # it asks how large a file is, and never what is in it
            check_shown(call(directory, "doctor"), where)
        for command, *flags in OF_ONE + AGAIN:
            shown = call(directory, command, kept.name, *flags)
            check_shown(shown, f"{where}: {command}")
            if (command, *flags) in AGAIN:
                assert shown.code or shown.stdout == ROWS[kind], (where, command, shown)
                before.restore()
                damage(path, name, chances) if name in WAYS else None
        before.restore()


def other_value(path: Path, chances: random.Random) -> str:
    """Give one column of one row of a ledger another value."""
    with closing(sqlite3.connect(path)) as base:
        table = chances.choice(("items", "items", "map", "runs"))
        names = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
        name, value = chances.choice(names), chances.choice(VALUES)
        base.execute(f"UPDATE OR IGNORE {table} SET {name} = ? WHERE rowid = 1", (value,))
        base.commit()
    return f"{table}.{name}: {value!r}"


def other_member(path: Path, chances: random.Random) -> str:
    """Give one member of one line another type; the checksum of a journal's line is right again."""
    lines = path.read_bytes().splitlines()
    at = chances.choice((0, chances.randrange(len(lines))))
    checksum, data = (lines[at][:9], lines[at][9:]) if path.name == "journal.jsonl" else (b"", lines[at])
    whole = within = json.loads(data)
    if not isinstance(whole, dict):
        return "no members"
    while True:
        name = chances.choice([*within]) if isinstance(within, dict) else chances.randrange(len(within))
        if not within[name] or not isinstance(within[name], dict | list) or chances.random() < 0.4:
            break
        within = within[name]
    within[name] = chances.choice(OTHERS)
    data = json.dumps(whole, separators=(",", ":")).encode()
    lines[at] = (b"%08x " % crc32(data) if checksum else b"") + data
    path.write_bytes(b"\n".join(lines) + b"\n")
    return f"line {at}: {name}: {within[name]!r}"


def damage(path: Path, way: str, chances: random.Random) -> str:
    data = path.read_bytes() if path.exists() else b""
    if way == "member":
        return (other_value if path.suffix == ".db" else other_member)(path, chances)
    path.unlink(missing_ok=True)
    WAYS[way](path, data)
    return way


WAYS: dict[str, Callable[[Path, bytes], object]] = {
    "empty": lambda path, data: path.touch(),
    "cut": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "garbage": lambda path, data: path.write_bytes(b"\xff\x00{[\n" * 9),
    "version": lambda path, data: path.write_bytes(data.replace(b'"v":1', b'"v":9').replace(b'w":1', b'w":9')),
    "fifo": lambda path, data: os.mkfifo(path),
    "device": lambda path, data: path.symlink_to("/dev/zero"),
    "directory": lambda path, data: path.mkdir(),
    "gone": lambda path, data: None,
}
