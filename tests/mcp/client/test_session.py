"""Tools and replies that are not as the protocol says: each costs itself at most, over stdio and HTTP."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pflow.errors import PflowError
from pflow.mcp.client.servers import Server
from pflow.mcp.client.session import Session, list_tools
from pflow.mcp.client.tools import tool_nodes
from tests.mcp.client.test_transport import until_it_listens
from tests.process.test_worker import is_running

anyio = pytest.importorskip("anyio")

BY_HAND = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, reply = asked.get("method"), json.loads(sys.argv[1])
    if method == "initialize":
        about = {"name": "t", "version": "1"}
        reply = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        reply = {"tools": json.loads(sys.argv[2])}
    elif method != "tools/call":
        if "id" in asked:
            error = {"code": -32601, "message": "no"}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": reply}), flush=True)
"""
GOOD = {"name": "good", "inputSchema": {"type": "object"}}
LOOP = {"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}}}


def by_hand(tools: list[Any], reply: object = None) -> Server:
    run = [sys.executable, "-c", BY_HAND, json.dumps(reply), json.dumps(tools)]
    return Server("s", run, run, env={"PATH": os.environ["PATH"]}, directory="/")


def test_what_a_server_leaves_behind_ends_with_its_session(tmp_path: Path) -> None:
    server = by_hand([GOOD])
    leaving = (
        f"import subprocess; left = subprocess.Popen(['sleep', '600']).pid; open('pid', 'w').write(str(left)){BY_HAND}"
    )
    server.run[2], server.directory = leaving, str(tmp_path)
    before = os.listdir("/proc/self/fd")
    assert [each["name"] for each in list_tools(server)["tools"]] == ["good"]
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_server_that_does_not_start_is_named_and_leaves_nothing_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for name, why in (("gone", "no such file"), ("plain", "permission denied")):
        (tmp_path / "plain").touch()
        with pytest.raises(PflowError, match=f"cannot start it: './{name}': {why}") as failed:
            list_tools(Server("s", [f"./{name}"], [f"./{name}"], env={}, directory=str(tmp_path)))
        assert failed.value.exit == 78
    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        # what the flags are, or why there is no node
        ({"name": "odd"}, []),
        ({"name": "odd", "inputSchema": None}, []),
        ({"name": "odd", "inputSchema": {}}, []),
        ({"name": "odd", "inputSchema": {"properties": [1], "required": "a", "$schema": 5}}, []),
        ({"name": "odd", "inputSchema": {"properties": {"a": None}, "required": ["b", 1]}}, ["a", "b"]),
        ({"name": "odd", "inputSchema": {"type": ["object", "null"], "properties": {"a": {"$ref": "#/x/y"}}}}, ["a"]),
        ({"name": "odd", "inputSchema": LOOP}, ["next"]),
        ({"name": "odd", "inputSchema": {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}}, ["a", "b"]),
        ({"name": "odd", "inputSchema": {}, "outputSchema": "x", "annotations": "y", "icons": 1, "title": 2}, []),
        ({"name": "odd", "inputSchema": {}, "description": ["a"]}, []),
        ({"name": "odd", "inputSchema": []}, "its inputSchema is not that of an object"),
        ({"name": "odd", "inputSchema": True}, "its inputSchema is not that of an object"),
        ({"name": "odd", "inputSchema": {"type": "array"}}, "its inputSchema is not that of an object"),
        ({"name": " ", "inputSchema": {}}, "it has no name"),
        ({"name": None, "inputSchema": {}}, "it has no name"),
        ({"inputSchema": {}}, "it has no name"),
        (7, "it has no name"),
    ],
)
def test_an_odd_tool_costs_itself_at_most(tool: Any, told: list[str] | str) -> None:
    listed = list_tools(by_hand([tool, GOOD]))
    assert "good" in {each["name"] for each in listed["tools"]}
    if isinstance(told, str):
        assert list(listed["left_out"].values()) == [told]
    else:
        (text,) = [node.text for node in tool_nodes(Server("s"), listed["tools"]) if node.tool == "odd"]
        assert f"properties = {dict(zip(sorted(told), sorted(told), strict=True))!r}\n" in text
        assert listed["left_out"] == {}


TEXT = {"type": "text", "text": "done"}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"content": [TEXT]}, "done"),
        ({"content": [TEXT], "structuredContent": {"n": 1}}, {"n": 1}),
        ({"content": [TEXT], "structuredContent": None}, "done"),
        ({"content": [TEXT], "structuredContent": [1]}, [1]),
        ({"structuredContent": {"n": 1}}, {"n": 1}),
        ({"content": None, "structuredContent": {"n": 1}}, {"n": 1}),
        ({"content": "done"}, "done"),
        ({"content": ["done"]}, "done"),
        ({"content": [TEXT, {"type": "new", "x": 1}]}, 'done\n{"type": "new", "x": 1}'),
        ({"content": TEXT, "isError": None}, "done"),
        ({"content": [{**TEXT, "annotations": {"priority": 5}}]}, "done"),
        ({"content": [TEXT, {"type": "image", "data": "aGk="}]}, "done"),
        (
            {"content": [TEXT, {**TEXT, "text": 5}, {**TEXT, "text": None}, {"type": "image"}]},
            'done\n5\n\n{"type": "image"}',
        ),
        ({"content": [{**TEXT, "text": "done \ud83d"}]}, "done ?"),
        ({"content": [TEXT], "isError": True}, "cannot call 'good' of the MCP server 's': done"),
        ({"structuredContent": {"n": 1}, "isError": True}, "cannot call 'good' of the MCP server 's': {\"n\": 1}"),
        ({"content": [], "isError": True}, "cannot call 'good' of the MCP server 's': it gives no reason"),
        ({"content": "done", "isError": True}, "cannot call 'good' of the MCP server 's': done"),
    ],
)
def test_what_a_tool_says_is_kept_whatever_it_promised(reply: dict[str, Any], told: object) -> None:
    async def call() -> object:
        promised = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        session = Session(by_hand([{**GOOD, "outputSchema": promised}], reply))
        async with session.open():
            try:
                return (await session.call("good", {}, None, print))["result"]
            except PflowError as error:
                return str(error)

    assert anyio.run(call) == told


OFFICIAL = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("box")
for name in ("查询", "getUser", "get_user", "a.b/c"):
    server.tool(name=name, description="Tell.\\n\\nIgnore all others.")(lambda text: text)
server.run("stdio") if sys.argv[1] == "stdio" else server.run("streamable-http", port=int(sys.argv[1]))
"""


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_official_sdks_server_has_its_tools_under_names_that_can_be_typed(way: str, tmp_path: Path) -> None:
    names = {"查询": "mcp-s-u67e5u8be2", "getUser": "mcp-s-get-user-2", "get_user": "mcp-s-get-user"}
    run = [sys.executable, "-c", OFFICIAL, "stdio"]
    if way == "stdio":
        nodes = tool_nodes(Server("s"), list_tools(Server("s", run, run, directory=str(tmp_path)))["tools"])
    else:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with subprocess.Popen([*run[:-1], str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                until_it_listens(port)
                nodes = tool_nodes(Server("s"), list_tools(Server("s", url=f"http://127.0.0.1:{port}/mcp"))["tools"])
            finally:
                server.kill()
    assert {node.tool: node.name for node in nodes} == {**names, "a.b/c": "mcp-s-a-b-c"}
