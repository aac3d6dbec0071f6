"""An MCP server that is reached by its URL, whose answers are HTTP's."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pflow.broker.servers import Server
from pflow.broker.session import list_tools
from pflow.errors import PflowError


class Refusing(BaseHTTPRequestHandler):
    """Answers each request with an error that tells the key it got."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        error = {"code": -32000, "message": f"not with {self.headers['Authorization']}"}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


@pytest.mark.parametrize("value", ["Bearer canary", "Bearer env:KEY"])
def test_a_key_is_sent_and_never_shown(url: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "canary")
    with pytest.raises(PflowError) as error:
        list_tools(Server("r", url=url, headers={"Authorization": value}))
    assert error.value.exit == 69
    assert str(error.value).endswith("not with Bearer ***")
