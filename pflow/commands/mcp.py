"""pflow mcp: nodes and saved flows as tools for agents (MCP)."""

from __future__ import annotations

import click

from pflow.errors import BAD_CONFIG, PflowError


@click.command
@click.option("--read-only", is_flag=True, help="Offer only what changes nothing: no files, no commands, no network.")
@click.option("--root", metavar="DIR", help="Work in DIR and hold the files of all calls below it (.).")
@click.argument("act", type=click.Choice(["serve"]), metavar="serve")
@click.argument("node", nargs=-1, metavar="[NAME]…")
def command(read_only: bool, root: str | None, act: str, node: tuple[str, ...]) -> None:
    """Offer saved flows and nodes as tools to a client of the Model Context Protocol, on stdin and stdout.

    The client starts it. Most clients name their servers in a file, as

    \b
    {"mcpServers": {"pflow":
      {"command": "pflow",
       "args": ["mcp", "serve", "--root", "/srv/notes"]}}}

    where the words after serve are more args, and an env may set PFLOW_MODEL. A client that does not find pflow needs
    its full path, which command -v pflow prints.

    Each node with an interface and each saved flow is a tool, with schemas of its arguments and results and with its
    effects; so are pflow_list, pflow_describe, pflow_check, pflow_plan, pflow_run and pflow_trace. With NAMEs, only
    these nodes, flows and tools are offered. The list follows the flows as they are saved and removed. stderr says what
    is not offered, and why.

    Relative paths begin in --root, by default the working directory, and no path that a node or a flow reads or writes
    leads out of it, by a link neither, nor into a .git or to pflow's own nodes and flows, which say what is run (77).
    What a command does is not held, nor which servers are asked: to leave these out, name what is offered, or say
    --read-only. An answer over 1 MiB is cut, and says so.

    A client gives values, which are never templates, flags or files, and runs what was saved, never a flow's text. It
    cannot change which commands a saved flow allows, and what it gives for a header or a proxy names no variable of
    the environment (77); a saved flow's own may. Nodes have their keys from the environment here as anywhere. A
    call is a process of its own. It ends, with all that it started, when it is cancelled or the client hangs up; only
    what made a session of its own, as setsid does, goes on.

    It needs the official SDK: pip install 'pflow-shell[mcp]' gets it; without it, the exit code is 78.

    \b
    pflow mcp serve --root examples
    pflow mcp serve --read-only
    pflow mcp serve read-file pflow_trace
    """
    try:
        from pflow.mcp.server import serve
    except ImportError as error:
        if not (error.name or "").startswith(("mcp", "anyio", "jsonschema")):
            raise
        what = "cannot serve: the official MCP SDK is not installed, or too old"
        raise PflowError(what, hint="pip install 'pflow-shell[mcp]'", exit=BAD_CONFIG) from None
    serve(list(node), root, read_only=read_only)
