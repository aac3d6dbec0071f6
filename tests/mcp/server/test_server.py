"""How calls and the server end: nothing that they began goes on."""

import json
import select
import signal
import subprocess

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp_types.version import LATEST_MODERN_VERSION

from pflow.mcp.server.calls import Children
from tests.mcp.server.talking import BIN, COUNT, PATIENCE, session, until


@pytest.fixture
def server(home):
    """A server that is spoken to by hand, with the flow NAP running in it."""
    started = subprocess.Popen(
        [BIN / "pflow", "mcp", "serve", "--all"],
        bufsize=0,  # select knows nothing of what is in a buffer, which holds 128 kB from Python 3.14 on
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home.place,
        env=home.server().env,
    )
    begin(started)
    ask(started, 2, "tools/call", name="nap", arguments={})
    wait(home.napping)
    with started:
        yield started
        started.kill()
    assert not home.napping()


def ask(server, id, method, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": id} if id else {})
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def begin(server, version="2025-11-25"):
    """Shake hands; what the server says of itself."""
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    ask(server, 1, "initialize", **about)
    answer = json.loads(server.stdout.readline())["result"]
    ask(server, None, "notifications/initialized")
    return answer


def wait(is_so):
    async def whole():
        with anyio.fail_after(PATIENCE):
            await until(is_so)

    anyio.run(whole)


def test_a_call_that_is_cancelled_ends_what_it_began_and_no_other_call(home):
    async def whole():
        with anyio.fail_after(PATIENCE):
            async with session(home) as client, anyio.create_task_group() as first:
                async with anyio.create_task_group() as second:
                    first.start_soon(client.call_tool, "nap", {})
                    await until(lambda: len(home.napping()) == 1)
                    second.start_soon(client.call_tool, "nap", {})
                    await until(lambda: len(home.napping()) == 2)
                    second.cancel_scope.cancel()
                await until(lambda: len(home.napping()) == 1)
                assert home.napping() == home.nappers()[:1]
                result = await client.call_tool("count", {"file": "three.txt"})
                assert result.structured_content == {"words": "3\n"}
                first.cancel_scope.cancel()

    anyio.run(whole)
    wait(lambda: not home.napping())


def test_a_client_that_hangs_up_ends_everything(home, server):
    server.stdin.close()
    assert server.wait(PATIENCE) == 0
    assert not home.napping()


def test_a_client_that_is_gone_ends_everything(home, server):
    server.stdout.close()
    ask(server, 3, "ping")
    server.stdin.close()
    assert server.wait(PATIENCE) in (0, -signal.SIGPIPE)
    assert b"Traceback" not in server.stderr.read()
    assert not home.napping()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(home, server, signum):
    server.send_signal(signum)
    assert server.wait(PATIENCE) == -signum
    assert not home.napping()


def test_a_server_that_is_killed_leaves_nothing_behind(home, server):
    server.kill()
    wait(lambda: not home.napping())


LOUD = "head -c 300000 /dev/zero | tr '\\0' x >&2; yes | head -n 50000 >&2"


def test_stderr_that_nobody_reads_holds_nothing_up(home, server):
    def hear(id):
        wait(lambda: select.select([server.stdout], [], [], 0)[0])
        assert json.loads(server.stdout.readline())["id"] == id

    ask(server, 3, "tools/call", name="shell", arguments={"command": LOUD})
    hear(3)
    for number in range(200):
        home.save(f"broken-{number}", "{" + "x" * 1000)
    for _ in range(1000):
        server.stdin.write(b"nonsense\n")
    ask(server, 4, "tools/list")
    for _ in range(1000):
        hear(None)
    hear(4)
    server.stdin.close()
    assert server.wait(PATIENCE) == 0


def test_a_client_of_the_newest_protocol_is_served_in_it_and_hears_of_changes(home):
    async def whole():
        with anyio.fail_after(PATIENCE):
            async with (
                Client(stdio_client(home.server()), mode=LATEST_MODERN_VERSION) as client,
                client.listen(tools_list_changed=True) as changes,
            ):
                assert "count" in {tool.name for tool in (await client.list_tools()).tools}
                result = await client.call_tool("count", {"file": "three.txt"})
                assert result.structured_content == {"words": "3\n"}
                home.save("new", COUNT)
                async for _ in changes:
                    break
                assert "new" in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(whole)


def test_a_last_line_without_an_end_is_passed_on():
    lines = []
    words = ["run", "shell 'echo one >&2; printf two >&2'", "-n"]
    code, document, last = anyio.run(Children(lines.append).run, words, b"")
    assert (code, lines, [*last]) == (0, ["one", "two"], lines)
    assert b"stdout" in document
