"""MCP: brokers, servers and stages that are killed or stopped, and servers that answer wrongly; the next call works."""

import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.faults.points import Point, processes, spread
from tests.faults.programs import Ended, children, end_of, run, start, wait_for
from tests.mcp.client import server as hostile

NEEDS: tuple[str, ...] = ()
WEIGHT = 52

MEMORY, SECONDS = 2_500_000_000, 30
"""The most address space, and the most CPU, of each process: what some servers send takes more, once it is read."""

WRONG = {
    "garbage": (69,),
    "deep": (69,),
    "cut": (69,),
    "end": (69,),
    "twice": (0,),
    "ask": (1,),
    "fail": (1,),
    "silent": (124,),
    "flood": (65,),
    "shout": (124,),
    "values": (65,),
    "huge": (65,),
}
"""What the server's tools do, and the codes of a call."""

CANARY = "canary-8c1f"
"""A secret of the server's, which it tells."""

SURFACES = ("stage", "run", "up")


def limit_processes() -> None:
    """Limit the memory and the CPU of each process that begins from now on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def prepare(directory: Path, surface: str) -> None:
    """Take the nodes of a server that was added once for all points, and start it for `pflow mcp up`."""
    kept = directory.parent / "mcp-data"
    if not kept.exists():
        os.chdir(directory.parent)  # where the server will begin
        words = ("box", "--env=SECRET", "--", sys.executable, str(Path(hostile.__file__).resolve()))
        ended = run("pflow", "mcp", "add", *words, SECRET=CANARY)
        assert ended.code == 0, ended
        os.chdir(directory / "work")
        shutil.copytree(directory / "data", directory / "draft")
        try:
            (directory / "draft").rename(kept)
        except OSError:  # another point was faster
            shutil.rmtree(directory / "draft")
    shutil.copytree(kept, directory / "data", dirs_exist_ok=True)
    (directory / "run").mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(directory / "run")
    if surface == "up":
        assert run("pflow", "mcp", "up", "box").code == 0


def call(surface: str, tool: str, *flags: str, server: str = "box") -> tuple[str, ...]:
    if surface == "run":
        return ("pflow", "run", " ".join((f"mcp-{server}-{tool}", *flags)), "-n", "-q")
    return ("pflow", f"mcp-{server}-{tool}", "-n", "-q", *flags)


def works(surface: str) -> None:
    words = ("pflow", "run", "mcp-box-echo --text=next", "-n", "-r")
    ended = run(*(words if surface == "run" else ("pflow", "mcp-box-echo", "-n", "-r", "--text=next")))
    assert (ended.code, ended.stdout.strip()) == (0, "next"), ended


def brokers() -> list[int]:
    found = processes(os.environ["FAULT_POINT"])
    return [pid for pid in found if "pflow.mcp.client.broker" in _line(pid)]


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def servers() -> list[int]:
    """List the servers of our brokers, which have none of our variables."""
    return [child for broker in brokers() for child in children(broker) if "server.py" in _line(child)]


def is_called(surface: str) -> bool:
    """Return True once a call has come to the one server."""
    if surface != "up":
        return len(servers()) == 1
    about = json.loads(run("pflow", "mcp", "status", "--json").stdout)
    return bool(about[0]["calls"])


def leave(known: list[int], surface: str = "") -> None:
    """End what is kept. Raises AssertionError if a server that was `known`, or a socket, is left."""
    if surface == "up":  # a broker that was killed has left its socket to the next one
        run("pflow", "mcp", "up", "box")
    run("pflow", "mcp", "down")
    wait_for(lambda: not brokers() and not any("server.py" in _line(pid) for pid in known), 20)
    assert not list(Path(os.environ["XDG_RUNTIME_DIR"]).rglob("*.sock"))


def wrong(seed: int) -> Iterator[Point]:
    for tool, codes in WRONG.items():
        for surface in SURFACES:

            def check(
                directory: Path, tool: str = tool, codes: tuple[int, ...] = codes, surface: str = surface
            ) -> None:
                limit_processes()
                prepare(directory, surface)
                flags = ("--timeout=1",) if codes == (124,) else ("--timeout=60",)
                ended = run(*call(surface, tool, *flags))
                assert ended.code in codes, ended
                assert "\x1b" not in ended.stderr, ended
                assert CANARY not in ended.stdout + ended.stderr, ended
                works(surface)
                leave([])

            yield Point(f"mcp/wrong/{tool}/{surface}", check)


def disturbed(seed: int) -> Iterator[Point]:
    """While a call is under way, or before it, a process is killed, or stopped until the call's time is over."""
    for how in ("kill", "stop"):
        for victim in ("broker", "server", "caller"):
            for surface in SURFACES:
                if (how, victim) == ("stop", "caller"):
                    continue

                def check(directory: Path, how: str = how, victim: str = victim, surface: str = surface) -> None:
                    prepare(directory, surface)
                    caller = start(*call(surface, "silent", f"--timeout={8 if how == 'stop' else 60}"))
                    wait_for(lambda surface=surface: is_called(surface))
                    known = servers()
                    (pid,) = {"broker": brokers, "server": servers, "caller": lambda: [caller.pid]}[victim]()
                    os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                    ended = end_of(caller, killed=victim == "caller")
                    _check_end(ended, how, victim)
                    if how == "stop":
                        os.kill(pid, signal.SIGCONT)
                    works(surface)
                    leave(known, surface)

                yield Point(f"mcp/{how}/{victim}/{surface}", check)


def _check_end(ended: Ended, how: str, victim: str) -> None:
    wanted = -9 if victim == "caller" else 69 if how == "kill" else 124
    assert ended.code == wanted, ended


def idle(seed: int) -> Iterator[Point]:
    """What `up` keeps is killed or stopped between two calls: the next call works, or ends at its time limit."""
    for how in ("kill", "stop"):
        for victim in ("broker", "server"):

            def check(directory: Path, how: str = how, victim: str = victim) -> None:
                prepare(directory, "up")
                known = servers()
                (pid,) = brokers() if victim == "broker" else known
                os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                if how == "stop":
                    ended = run(*call("up", "echo", "--text=x", "--timeout=1"))
                    assert ended.code == 124, ended
                    os.kill(pid, signal.SIGCONT)
                works("up")
                leave(known, "up")

            yield Point(f"mcp/idle/{how}/{victim}", check)


def shared(seed: int) -> Iterator[Point]:
    """Many calls at once share one server, or one start of a broker that nobody has started."""
    for surface in ("up", "run"):

        def check(directory: Path, surface: str = surface) -> None:
            prepare(directory, surface)
            if surface == "run":
                items = Path("items")
                items.write_text("".join(f"{number}\n" for number in range(60)))
                flow = "mcp-box-remember --text=$item"
                ended = run("pflow", "map", flow, "items", "--from=lines", "--jobs=30", "-r", "--order=done")
                assert ended.code == 0, ended
                assert max(len(line.split()) for line in ended.stdout.splitlines()) == 60, "there were several servers"
                return
            for _ in range(5):
                wave = [start("pflow", "mcp-box-echo", "-n", "-r", f"--text={number}") for number in range(12)]
                said = [end_of(each) for each in wave]
                assert [each.stdout.strip() for each in said] == [str(number) for number in range(12)], said
            assert json.loads(run("pflow", "mcp", "status", "--json").stdout)[0]["calls"] == 60
            leave(servers())

        yield Point(f"mcp/shared/{surface}", check)


def points(share: int, seed: int) -> Iterator[Point]:
    return spread(share, wrong(seed), disturbed(seed), idle(seed), shared(seed))
