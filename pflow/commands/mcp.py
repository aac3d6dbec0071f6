"""pflow mcp: Offer nodes and saved flows as tools to agents (MCP).

A client of the Model Context Protocol starts the server, and speaks to it on stdin and stdout. Most clients configure
their servers in a file:

\b
{"mcpServers": {"pflow":
  {"command": "pflow",
   "args": ["mcp", "serve", "--root", "/srv/notes"]}}}

More words of the command are more args, and an env may set PFLOW_MODEL. If the client does not find pflow, use its full
path, which command -v pflow prints.

Each saved flow, and each node that only reads files, is a tool, with schemas of its arguments and results, and with
its effects. pflow's own tools are pflow_list, pflow_describe, pflow_check, pflow_plan, pflow_run and pflow_trace. With
NAMEs, exactly these nodes, flows and tools are offered, and --all offers every node. The list is updated as flows are
saved and removed. stderr names each node and flow that is not offered, with the reason.

Relative paths begin in --root, by default the working directory. Nodes and flows cannot read or write files outside
it, through a link that leads out of it, in a .git, or among pflow's own nodes and flows, which decide what is run
(77). Commands, and the servers that a node asks, are not limited this way. --read-only leaves out the saved flows that
write, run commands or use the network, too. An answer over 1 MiB is cut off, and says so.

A client's arguments are values, never templates, flags or files. It can run what was saved, never a flow's text. It
cannot change the commands that a saved flow allows. Its values for a header or a proxy cannot name a variable of the
environment (77); those in a saved flow can. Nodes get their keys from the environment as usual. Each call is a process.
When the call is cancelled or the client hangs up, the process ends with all that it started, except programs that made
a session of their own, as setsid does.

The server needs the official SDK, pip install '.[mcp]' in the checkout. Without it, the exit code is 78.

\b
pflow mcp serve --root examples
pflow mcp serve --read-only
pflow mcp serve read-file pflow_trace
pflow mcp serve --all
"""

import click

from pflow.files.installation import no_extra


@click.command(help=__doc__)
@click.option("--all", "is_all", is_flag=True, help="Offer every node, those that write and run commands too.")
@click.option("--read-only", is_flag=True, help="Leave out tools that write files, run commands or use the network.")
@click.option("--root", metavar="DIR", help="Work in DIR, and let calls reach only files below it; the default is '.'.")
@click.argument("act", type=click.Choice(["serve"]), metavar="serve")
@click.argument("node", nargs=-1, metavar="[NAME]…")
def command(is_all: bool, read_only: bool, root: str | None, act: str, node: tuple[str, ...]) -> None:
    try:
        from pflow.mcp.server import serve
    except ImportError as error:
        if not (error.name or "").startswith(("mcp", "anyio", "jsonschema")):
            raise
        raise no_extra("cannot serve", "the official MCP SDK in its present form", "mcp") from None
    serve(list(node), root, is_all=is_all, read_only=read_only)
