"""MCP servers on the network that mean harm: no process of pflow hangs, spins, grows, stays or tells a key."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

from tests.faults.families.mcp import SURFACES, brokers, call, limit_processes
from tests.faults.points import Point
from tests.faults.programs import Ended, end_of, run, start, wait_for
from tests.mcp.client.remote_server import WAYS, Hostile, Server

NEEDS: tuple[str, ...] = ()
WEIGHT = 18

CANARY = "canary-5e07"


def prepare(directory: Path) -> None:
    (directory / "run").mkdir(mode=0o700)
    os.environ |= {"XDG_RUNTIME_DIR": str(directory / "run"), "SECRET": CANARY, "NO_PROXY": "127.0.0.1"}
    limit_processes()


def check_call(surface: str, wanted: int) -> None:
    words = call(surface, "go", "--timeout=2" if wanted == 124 else "--timeout=60", server="far")
    if surface == "up":
        assert run("pflow", "mcp", "up").code == 0
    ended = run(*words)
    assert ended.code == wanted, ended
    check_words(ended)
    if surface == "up":  # while it has a call that does not end
        (broker,) = brokers()
        caller = start(*words)
        os.kill(broker, signal.SIGTERM)
        wait_for(lambda: broker not in brokers(), 10)
        end_of(caller)
        run("pflow", "mcp", "down")


def check_words(ended: Ended) -> None:
    assert CANARY not in ended.stdout + ended.stderr, ended
    assert len(ended.stderr) < 3000, ended.stderr


def check(directory: Path, surface: str, way: str) -> None:
    prepare(directory)
    with Server(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"--url=http://127.0.0.1:{server.server_port}/{way}"
        added = run("pflow", "mcp", "add", "far", url, "--header=Authorization: Bearer env:SECRET")
        check_words(added)
        if way in ("pages", "cursors", "many"):
            assert added.code == WAYS[way], added
        else:
            check_call(surface, WAYS[way])
        server.shutdown()


def points(share: int, seed: int) -> Iterator[Point]:
    pairs = [*product(SURFACES, WAYS)]
    random.Random(seed).shuffle(pairs)  # a small share has each surface too
    for surface, way in pairs[:share]:
        yield Point(f"hostile/{way}/{surface}", partial(check, surface=surface, way=way))
