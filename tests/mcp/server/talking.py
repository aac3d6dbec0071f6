"""Talking to `pflow mcp serve` as the official client does, in a home with some saved flows."""

import json
import os
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

BIN = Path(sys.executable).parent
PATIENCE = 60

COUNT = {
    "pflow": 1,
    "description": "Count the words of a file.",
    "inputs": {"file": {"type": "path", "description": "the file"}},
    "outputs": {"words": "count.stdout"},
    "nodes": [{"id": "read", "type": "read-file"}, {"id": "count", "type": "shell", "inputs": {"command": "wc -w"}}],
    "mappings": {
        "read": {"input_mappings": {"path": "file"}},
        "count": {"input_mappings": {"input": "read.content"}},
    },
}


def one_step(type, **inputs):
    return {"pflow": 1, "nodes": [{"id": "only", "type": type, "inputs": inputs}]}


NAP = one_step("shell", command="echo $$ >>nap.pid; sleep 1000")
"""A flow that goes on, and says which process does."""

NODE = """from pflow import Node, flow_safe
{before}
class {name}(Node):
    '''{name}.

    Interface:
{interface}    '''

    def post(self, shared, prep_res, exec_res):
        {post}
"""


class Home:
    """A directory that is a home, and where the server works."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.flows = place / ".local" / "share" / "pflow" / "flows"
        self.nodes = place / ".local" / "share" / "pflow" / "nodes"
        self.kept = None
        """Talks in the session that is kept for several tests."""
        self.flows.mkdir(parents=True)
        self.nodes.mkdir(parents=True)

    def save(self, name, flow):
        (self.flows / f"{name}.pflow.json").write_text(flow if isinstance(flow, str) else json.dumps(flow))

    def node(self, name, *interface, post="pass", before=""):
        lines = "".join(f"    - {line}\n" for line in interface)
        text = NODE.format(name=name.capitalize(), interface=lines, post=post, before=before)
        (self.nodes / f"{name}.py").write_text(text)

    def server(self, *words, **environment):
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        env = {"HOME": str(self.place), "PATH": path, **environment}
        return StdioServerParameters(
            command=str(BIN / "pflow"), args=["mcp", "serve", *(words or ["--all"])], env=env, cwd=str(self.place)
        )

    def napping(self):
        """The processes of the flow NAP that still run."""
        return [pid for pid in self.nappers() if is_running(pid)]

    def nappers(self):
        file = self.place / "nap.pid"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def said(self):
        return (self.place / "said").read_text()


def furnished(place):
    made = Home(place)
    made.save("count", COUNT)
    made.save("nap", NAP)
    (place / "three.txt").write_text("one two three\n")
    return made


def is_running(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return not any(line.startswith("State:") and line.split()[1] in "ZX" for line in status.splitlines())


@asynccontextmanager
async def session(home, *words, **environment):
    """A session of the official client, initialized; what the server says on stderr goes to `said` in the home."""
    with (home.place / "said").open("a") as said:
        server = stdio_client(home.server(*words, **environment), errlog=said)
        async with server as (read, write), ClientSession(read, write) as client:
            await client.initialize()
            yield client


@contextmanager
def kept_session(home):
    """Keep one session for all talks in this home that ask for no other."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(session(home)) as client:

        async def whole(work):
            with anyio.fail_after(PATIENCE):
                return await work(client)

        home.kept = lambda work: portal.call(whole, work)
        yield


def talk(home, work, *words, **environment):
    """What a talk with the server comes to."""
    if home.kept is not None and not words and not environment:
        return home.kept(work)

    async def whole():
        with anyio.fail_after(PATIENCE):
            async with session(home, *words, **environment) as client:
                return await work(client)

    return anyio.run(whole)


def call(home, tool, arguments, *words, **environment):
    """The result of one call."""
    return talk(home, lambda client: client.call_tool(tool, arguments), *words, **environment)


def call_all(home, *calls):
    """The results of several calls, of a tool's name and its arguments each, in one session."""

    async def work(client):
        return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return talk(home, work)


def listed(home, *words):
    """The tools that are offered, by their names."""
    return {tool.name: tool for tool in talk(home, lambda client: client.list_tools(), *words).tools}


def words(result):
    return "\n".join(each.text for each in result.content)


async def until(is_so):
    """Wait until something is so; whoever waits has a limit."""
    while not is_so():
        await anyio.sleep(0.02)
