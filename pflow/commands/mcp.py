"""pflow mcp: pflow as a server of the Model Context Protocol."""

from __future__ import annotations

from pflow.errors import BAD_CONFIG, PflowError
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.help import usage as kinds
from pflow.help.usage import Argument, Flag, Usage

USAGE = Usage(
    "pflow mcp",
    "Offer saved flows and nodes as tools to a client of the Model Context Protocol, on stdin and stdout.",
    ("pflow mcp serve [--read-only] [NAME]…",),
)
USAGE.description = """\
The client starts it, in the directory where relative paths begin. Most clients name their servers in a file, as
  {"mcpServers": {"pflow":
    {"command": "pflow", "args": ["mcp", "serve"]}}}

where the words after serve are more args, and an env may set PFLOW_MODEL. A client that does not find pflow needs its
full path, which command -v pflow prints.

Each node with an interface and each saved flow is a tool, with schemas of its arguments and results and with its
effects; so are pflow_list, pflow_describe, pflow_check, pflow_plan, pflow_run and pflow_trace. With NAMEs, only these
nodes, flows and tools are offered. The list follows the flows as they are saved and removed. stderr says what is not
offered, and why.

A client gives values, which are never templates, flags or files, and runs what was saved, never a flow's text. A call
is a process of its own. It ends, with all that it started, when it is cancelled or the client hangs up; only what made
a session of its own, as setsid does, goes on.

It needs the official SDK: pip install 'pflow-shell[mcp]' gets it; without it, the exit code is 78."""
USAGE.flags = [
    Flag(("--read-only",), "offer only what changes nothing: no files, no commands, no network"),
    Flag(("-h", "--help"), "print this help"),
]
USAGE.arguments = [Argument("serve", choices=("serve",)), Argument("NAME", kinds.NODE, repeats=True)]
USAGE.examples = (
    "pflow mcp serve",
    "pflow mcp serve --read-only",
    "pflow mcp serve read-file pflow_trace",
)


def main(words: list[str]) -> int:
    """Raises PflowError: 2 for wrong words, 78 without the SDK, 127 for an unknown name."""
    from pflow.help.usage import split_flags

    try:
        flags, names = split_flags(words, USAGE.flags)
    except PflowError as error:
        raise PflowError(error.message, hint="pflow mcp --help", exit=error.exit) from None
    if "--help" in flags:
        from pflow.help.usage import help_text
        from pflow.process.streams import write_pieces

        write_pieces(1, [help_text(USAGE).encode()])
        return 0
    if names[:1] != ["serve"]:
        what = f"cannot run mcp '{names[0]}': there is serve only" if names else "cannot run mcp: serve is missing"
        raise PflowError(what, hint="pflow mcp serve", exit=WRONG_FLAGS)
    _serve(names[1:], read_only="--read-only" in flags)
    return 0


def _serve(names: list[str], *, read_only: bool) -> None:
    try:
        from pflow.mcp.server import serve
    except ImportError as error:
        if not (error.name or "").startswith(("mcp", "anyio", "jsonschema")):
            raise
        what = "cannot serve: the official MCP SDK is not installed, or too old"
        raise PflowError(what, hint="pip install 'pflow-shell[mcp]'", exit=BAD_CONFIG) from None
    serve(names, read_only=read_only)
