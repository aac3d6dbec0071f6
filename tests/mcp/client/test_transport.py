"""An MCP server that is reached by its URL: both eras of the protocol, keys, and what HTTP itself answers."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pflow.errors import PflowError
from pflow.mcp.client.servers import Server, save_server
from pflow.mcp.client.session import list_tools
from tests.mcp.client.remote_server import WAYS, Hostile
from tests.mcp.client.remote_server import Server as HostileServer
from tests.mcp.client.test_broker import Broker, seconds_of


class Refusing(BaseHTTPRequestHandler):
    """Answers each request with an error that tells the key it got, and with the status that its path names."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        error = {"code": -32000, "message": f"not with {self.headers['Authorization']}"}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
        self.send_response(int(self.path.rpartition("/")[2]))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("value", ["Bearer canary", "Bearer env:KEY"])
def test_a_key_is_sent_and_never_shown(url: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "canary")
    with pytest.raises(PflowError) as error:
        list_tools(Server("r", url=f"{url}/200", headers={"Authorization": value}))
    assert error.value.exit == 69
    assert str(error.value).endswith("not with Bearer ***")


def test_a_server_on_this_machine_is_reached_without_a_proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:canary@127.0.0.1:1")
    for listed, said in (("", "not with"), ("x.example", "through the proxy 'http://127.0.0.1:1' of http_proxy")):
        monkeypatch.setenv("NO_PROXY", listed)
        with pytest.raises(PflowError, match=said):
            list_tools(Server("r", url=f"{url}/200", headers={"Authorization": "Bearer x"}))


@pytest.mark.parametrize(
    ("status", "exit", "said"), [(401, 77, "asks for a login"), (403, 77, "refuses access"), (503, 69, "HTTP 503")]
)
def test_what_http_refuses_is_one_error_that_says_so(url: str, status: int, exit: int, said: str) -> None:
    with pytest.raises(PflowError) as error:
        list_tools(Server("r", url=f"{url}/{status}"))
    assert (error.value.exit, said in str(error.value)) == (exit, True), error.value
    assert ("npx mcp-remote" in error.value.hint) == (status == 401)


MODERN = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("box")
server.tool(name="hi")(lambda: "")
server.run("streamable-http", port=int(sys.argv[1]))
"""

OLDER = Path(os.environ.get("MCP_SERVERS", "none"), "node_modules/.bin/mcp-server-everything")


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_a_server_is_spoken_to_in_its_own_version_of_the_protocol(protocol: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [sys.executable, "-c", MODERN, str(port)]
    if protocol < "2026":
        if not OLDER.exists():
            (pytest.fail if os.environ.get("CI") else pytest.skip)("the official servers are not there (MCP_SERVERS)")
        words = [str(OLDER), "streamableHttp"]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            until_it_listens(port)
            assert list_tools(Server("r", url=f"http://127.0.0.1:{port}/mcp"))["info"]["protocol"] == protocol
        finally:
            server.kill()


def until_it_listens(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.1)
        else:
            return


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, str]]:
    """Yield a broker, and the URL of servers that mean harm; then it ends, though no server ends its session."""
    folder = tmp_path_factory.mktemp("hostile")
    with HostileServer(("127.0.0.1", 0), Hostile) as server, pytest.MonkeyPatch.context() as patch:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        patch.setenv("XDG_DATA_HOME", str(folder))
        broker = Broker(folder, os.getpid())
        yield broker, f"http://127.0.0.1:{server.server_port}"
        broker.process.terminate()
        broker.process.wait(15)
        server.shutdown()


@pytest.mark.parametrize("way", WAYS)
def test_no_server_holds_a_call_or_the_broker_or_fills_its_memory(way: str, hostile: tuple[Broker, str]) -> None:
    broker, url = hostile
    before, began = seconds_of(broker.process), time.monotonic()
    save_server(Server(way, url=f"{url}/{way}"))
    failed = broker.call("go", way, timeout=1 if way == "silent" else 60).get("error", {})
    assert failed.get("exit", 0) == WAYS[way], failed
    (peak,) = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{broker.process.pid}/status").read_text())
    assert int(peak) < 700_000, "its memory grew"
    assert seconds_of(broker.process) - before < 15, "it spins"
    assert way not in ("mute", "nameless") or time.monotonic() - began < 9, "it waits for an answer that never comes"
