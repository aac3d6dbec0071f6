"""MCP servers that mean harm: whatever they answer, no process of pflow hangs, spins, grows, stays or tells a key."""

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.broker import server as program
from tests.broker.remote_server import WAYS, Hostile, Server
from tests.faults.families.mcp import brokers
from tests.faults.points import Point, spread
from tests.faults.programs import Ended, end_of, run, start, wait_for

NEEDS: tuple[str, ...] = ()
WEIGHT = 30

MEMORY, SECONDS = 2_500_000_000, 30
"""The most address space, and the most CPU, of each process: the bombs unpack to more."""

TOOLS = {"flood": 65, "shout": 124, "values": 65, "huge": 65}
SURFACES = ("stage", "run", "up")
CANARY = "canary-5e07"


def prepare(directory: Path) -> None:
    (directory / "run").mkdir(mode=0o700)
    os.environ |= {"XDG_RUNTIME_DIR": str(directory / "run"), "SECRET": CANARY, "NO_PROXY": "127.0.0.1"}
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def check_call(surface: str, node: str, wanted: int) -> None:
    limit = "--timeout=2" if wanted == 124 else "--timeout=60"
    if surface == "up":
        assert run("pflow", "mcp", "up").code == 0
    words = ("run", f"{node} {limit}", "-n", "-q") if surface == "run" else (node, "-n", "-q", limit)
    ended = run("pflow", *words)
    assert ended.code == wanted, ended
    check_words(ended)
    if surface == "up":  # while it has a call that does not end
        (broker,) = brokers()
        caller = start("pflow", *words)
        os.kill(broker, signal.SIGTERM)
        wait_for(lambda: broker not in brokers(), 10)
        end_of(caller)
        run("pflow", "mcp", "down")


def check_words(ended: Ended) -> None:
    assert CANARY not in ended.stdout + ended.stderr, ended
    assert len(ended.stderr) < 3000, ended.stderr


def remote(seed: int) -> Iterator[Point]:
    for surface in SURFACES:
        for way, wanted in WAYS.items():

            def check(directory: Path, surface: str = surface, way: str = way, wanted: int = wanted) -> None:
                prepare(directory)
                with Server(("127.0.0.1", 0), Hostile) as server:
                    threading.Thread(target=server.serve_forever, daemon=True).start()
                    url = f"--url=http://127.0.0.1:{server.server_port}/{way}"
                    added = run("pflow", "mcp", "add", "far", url, "--header=Authorization: Bearer env:SECRET")
                    check_words(added)
                    if way in ("pages", "cursors", "many"):
                        assert added.code == wanted, added
                    else:
                        check_call(surface, "mcp-far-go", wanted)
                    server.shutdown()

            yield Point(f"hostile/remote/{way}/{surface}", check)


def local(seed: int) -> Iterator[Point]:
    for surface in SURFACES:
        for tool, wanted in TOOLS.items():

            def check(directory: Path, surface: str = surface, tool: str = tool, wanted: int = wanted) -> None:
                prepare(directory)
                words = (sys.executable, str(Path(program.__file__).resolve()))
                added = run("pflow", "mcp", "add", "near", "--env=SECRET", "--", *words)
                assert added.code == 0, added
                check_call(surface, f"mcp-near-{tool}", wanted)

            yield Point(f"hostile/local/{tool}/{surface}", check)


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, remote(seed), local(seed))
