"""The broker as a process: what servers do to it, one session for everybody, and that nothing stays behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pflow.mcp.client.servers import Server, load_server, save_server
from pflow.mcp.client.session import list_tools
from pflow.mcp.client.sockets import name_peer
from tests.mcp.client.server import TOOLS

SERVER = str(Path(__file__).with_name("server.py"))
CANARY = "canary-8c1f"


class Broker:
    """A broker of a test's own, whose servers are kept below `folder`."""

    def __init__(self, folder: Path, owner: int) -> None:
        self.path = str(folder / "broker.sock")
        words = [sys.executable, "-P", "-m", "pflow.mcp.client.broker", self.path, str(owner)]
        environment = {**os.environ, "XDG_DATA_HOME": str(folder), "CALLERS_OWN": "1"}
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
        assert self.process.stdout
        assert json.loads(self.process.stdout.readline()) == {"result": {}}

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(60)
        name_peer(peer, self.path)
        peer.connect(self.path)
        return peer

    def ask(self, **request: Any) -> list[dict[str, Any]]:
        """Return the lines that answer a request, the last of which is its result or its error."""
        with self.connect() as peer, peer.makefile("rw") as lines:
            return exchange(lines, request)

    def call(self, tool: str, server: str = "hostile", timeout: float | None = None, **given: Any) -> dict[str, Any]:
        return self.ask(call={"server": server, "tool": tool, "arguments": given, "timeout": timeout})[-1]


def exchange(lines: Any, request: dict[str, Any]) -> list[dict[str, Any]]:
    lines.write(json.dumps(request) + "\n")
    lines.flush()
    answers = [json.loads(lines.readline())]
    while "progress" in answers[-1]:
        answers.append(json.loads(lines.readline()))
    return answers


def keep(name: str, *words: str, **more: Any) -> None:
    run = [sys.executable, SERVER, *words]
    environment = {"PATH": os.environ["PATH"], "SECRET": CANARY}
    save_server(Server(name, run, run, env=environment, directory="/", **more))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        keep("hostile")
        broker = Broker(folder, os.getpid())
        yield broker
        broker.ask(down=True)
        assert broker.process.wait(20) == 0
        assert not os.path.exists(broker.path)


def are_gone(*pids: int) -> bool:
    """Wait until none of these processes runs."""
    for _ in range(500):
        if not any(is_running(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def seconds_of(process: Any) -> float:
    """Return the CPU time of a process."""
    times = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def pid_of(broker: Broker, server: str = "hostile") -> int:
    return int(broker.call("environment", server)["result"]["result"]["pid"])


@pytest.mark.parametrize(
    ("tool", "exit", "said"),
    [
        ("fail", 1, "such thing: ***"),
        ("ask", 1, "nobody: decline; it asked for 'user_name', which pflow declines"),
        ("huge", 65, "its answer is longer than 50 MB"),
        ("values", 65, "its answer is longer than 50 MB"),
        ("flood", 65, "it sends more and more that nobody asked for"),
        ("shout", 124, "it took longer than 1 s"),
        ("garbage", 69, "it writes what is not a message"),
        ("deep", 69, "it writes what is not a message"),
        ("cut", 69, "it writes what is not a message"),
        ("end", 69, "it has ended; it said: "),
        ("renamed", 127, "it has no such tool any more"),
    ],
)
def test_a_fault_of_a_server_is_one_error_and_the_next_call_works(
    broker: Broker, tool: str, exit: int, said: str
) -> None:
    before = seconds_of(broker.process)
    error = broker.call(tool, timeout=1 if tool == "shout" else None)["error"]
    assert tool != "shout" or seconds_of(broker.process) - before < 0.5, "it reads all that is said"
    assert (error["exit"], said in error["message"]) == (exit, True), error
    assert error["message"].startswith(f"cannot call '{tool}' of the MCP server 'hostile': ")
    assert CANARY not in json.dumps(error)
    assert "\n" not in error["message"]
    assert broker.call("echo", text="next")["result"]["result"] == "next"


@pytest.mark.parametrize(
    ("how", "exit", "said"), [("garbage", 69, "what is not a message"), ("end", 69, "it said: no key")]
)
def test_a_server_that_does_not_begin_is_one_error(broker: Broker, how: str, exit: int, said: str) -> None:
    keep(how, how)
    error = broker.call("echo", how, text="x")["error"]
    assert (error["exit"], said in error["message"]) == (exit, True), error


def test_a_program_that_npx_or_uvx_forgot_is_looked_up_again_by_refresh(broker: Broker) -> None:
    save_server(Server("gone", ["uvx", "box"], ["/no/such/box"], directory="/"))
    error = broker.call("echo", "gone", text="x")["error"]
    assert (error["exit"], error["hint"]) == (78, "pflow mcp refresh gone")


def test_a_server_that_is_silent_is_124_at_the_limit_of_a_call(broker: Broker) -> None:
    assert broker.call("silent", timeout=0.2)["error"]["exit"] == 124


def test_a_tools_own_error_has_its_payload_without_secrets(broker: Broker) -> None:
    assert broker.call("fail")["error"]["details"] == {"result": {"code": 7, "of": ["***"]}}


def test_a_result_has_text_files_and_links_and_tells_its_progress(broker: Broker) -> None:
    reply = broker.call("picture")["result"]
    assert reply == {
        "result": "a picture",
        "files": [{"type": "image/png", "data": "iVBORw0KGgo="}],
        "links": [{"uri": "file:///a.txt", "name": "a"}],
    }
    assert broker.call("twice")["result"]["result"] == "first"
    answers = broker.ask(call={"server": "hostile", "tool": "slow", "arguments": {}})
    assert [each.get("progress") for each in answers] == ["1/3 on it", "2/3 on it", "3/3 on it", None]


def test_a_server_gets_what_was_kept_and_not_its_callers(broker: Broker) -> None:
    about = broker.call("environment")["result"]["result"]
    assert (about["directory"], about["words"]) == ("/", [SERVER])
    assert about["environment"]["SECRET"] == CANARY
    assert "CALLERS_OWN" not in about["environment"]


def test_many_connections_use_one_session_and_a_changed_server_gets_a_new_one(broker: Broker) -> None:
    keep("shared")
    with ThreadPoolExecutor(20) as pool:
        pids = set(pool.map(lambda _: pid_of(broker, "shared"), range(20)))
    assert len(pids) == 1
    [status] = [each for each in broker.ask(status=True)[-1]["result"]["servers"] if each["name"] == "shared"]
    assert status == {"name": "shared", "pid": pids.pop(), "version": "1.2", "calls": 20}
    keep("shared", "another-word")
    assert broker.call("environment", "shared")["result"]["result"]["words"][1:] == ["another-word"]
    assert are_gone(status["pid"])


def test_a_killed_server_is_started_anew(broker: Broker) -> None:
    pid = pid_of(broker)
    os.kill(pid, signal.SIGKILL)
    assert are_gone(pid)
    assert pid_of(broker) != pid


def test_who_hangs_up_cancels_the_call_alone(broker: Broker) -> None:
    pid = pid_of(broker)
    with broker.connect() as peer:
        about = {"server": "hostile", "tool": "silent", "arguments": {}}
        peer.sendall(json.dumps({"call": about}).encode() + b"\n")
    assert pid_of(broker) == pid


def test_a_server_whose_state_matters_is_for_up_alone(broker: Broker, tmp_path: Path) -> None:
    keep("browser", is_kept=True)
    error = broker.call("echo", "browser", text="x")["error"]
    assert (error["exit"], error["hint"]) == (78, "pflow mcp up browser")


@pytest.mark.parametrize("who", ["broker", "owner"])
def test_nothing_stays_when_the_broker_or_its_owner_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep("hostile")
    with subprocess.Popen(["sleep", "100"]) as owner:
        broker = Broker(tmp_path, owner.pid)
        pid = pid_of(broker)
        (broker.process if who == "broker" else owner).kill()
        broker.process.wait(20)
        owner.kill()
    assert are_gone(pid)


def test_up_keeps_a_server_between_connections_until_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep("browser", is_kept=True)
    broker = Broker(tmp_path, 0)
    assert broker.ask(up=["browser"]) == [{"result": {}}]
    broker.call("remember", "browser", text="a")
    assert broker.call("remember", "browser", text="b")["result"]["result"] == "a b"
    pid = pid_of(broker, "browser")
    assert broker.ask(down=True) == [{"result": {}}]
    assert broker.process.wait(20) == 0
    assert are_gone(pid)


def test_all_pages_of_tools_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep("hostile")
    found = list_tools(load_server("hostile"))
    assert found["info"] == {"name": "hostile", "version": "1.2", "protocol": "2025-11-25"}
    assert [tool["name"] for tool in found["tools"]] == list(TOOLS)


def test_a_broker_that_nothing_interrupts_is_ended_by_the_kernel() -> None:
    code = """import asyncio, re; from pflow.mcp.client import broker
async def held():
    task = asyncio.create_task(broker._stay_alive())
    await asyncio.sleep(0)
    re.match("(a+)+$", "a" * 60 + "!")
broker._CPU = 0.5
asyncio.run(held())"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == -signal.SIGVTALRM
