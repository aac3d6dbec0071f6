"""pflow mcp: Use the tools of MCP servers as nodes, and offer pflow's own.

"add NAME -- COMMAND…" starts an MCP server once and makes a node of each of its tools: the program pflow-mcp-NAME-TOOL,
and mcp-NAME-TOOL in a flow. Nothing is started again for help, checks and dry runs. --url reaches a server over
streamable HTTP instead. The server gets the current directory, seven variables (HOME, LANG, LOGNAME, PATH, SHELL, TERM,
USER) and those of --env, all as they are now. What npx and uvx would run is looked up once, and stays the same until
"refresh". --header='Authorization: Bearer env:VAR' keeps the variable's name; its value is read for each session.

"add --from=CLIENT" takes the servers of claude, cursor, codex or vscode, or of a file like theirs; with NAMEs only
these. They are shown first and asked about; without a terminal, --yes adds them. Variables and headers are never shown.

"list" shows the servers; "refresh" takes their present tools and shows what differs; "test" only shows it, and its exit
code is then 1; "remove" takes servers away with their nodes. "up" starts servers, without NAMEs all of them, and keeps
them until "down" or ten minutes without a call; pipes use them then. "status" shows those that are kept.

Each server is a file in ~/.local/share/pflow/mcp/, readable only by you. A tool's description is the server's text, and
proves nothing about what the tool does: it counts as able to do anything, unless --trust-hints believes its hints.
stderr names each tool that is left out because its schema is not that of an object, and each whose node has another
name than the tool.

Exit codes: 65 for a damaged configuration or an unusable tool, 66 for a missing configuration, 69 for a server that
does not answer, 73 for a name that is taken, 77 for a server that asks for a login, 78 for one that does not start, 127
for an unknown name.

"serve" offers nodes and saved flows as tools to agents. A client of the Model Context Protocol starts the server, and
speaks to it on stdin and stdout. Most clients configure their servers in a file:

\b
{"mcpServers": {"pflow":
  {"command": "pflow",
   "args": ["mcp", "serve", "--root", "/srv/notes"]}}}

More words of the command are more args, and an env may set PFLOW_MODEL. If the client does not find pflow, use its full
path, which command -v pflow prints.

Each saved flow, and each node that only reads files, is a tool, with schemas of its arguments and results, and with its
effects. pflow's own tools are pflow_list, pflow_describe, pflow_check, pflow_plan, pflow_run and pflow_trace. With
NAMEs, exactly these nodes, flows and tools are offered, and --all offers every node. The list is updated as flows are
saved and removed. stderr names each node and flow that is not offered, with the reason.

Relative paths begin in --root, by default the working directory. Nodes and flows cannot read or write files outside it,
through a link that leads out of it, in a .git, or among pflow's own nodes and flows, which decide what is run (77).
Commands, and the servers that a node asks, are not limited this way. --read-only also leaves out the saved flows that
write, run commands or use the network. An answer over 1 MiB is cut off, and says so.

A client's arguments are values, never templates, flags or files. It can run what was saved, never a flow's text. It
cannot change the commands that a saved flow allows. Its values for a header or a proxy cannot name a variable of the
environment (77); those in a saved flow can. Nodes get their keys from the environment as usual. Each call is a process.
When the call is cancelled or the client hangs up, the process ends with all that it started, except programs that made
a session of their own, as setsid does.

All this needs the official SDK, pip install '.[mcp]' in the checkout. Without it, the exit code is 78.

\b
pflow mcp add own -- pflow mcp serve read-file template
pflow mcp-own-read-file --path=examples/notes.txt
pflow mcp list --json
pflow mcp remove own
pflow mcp serve --root examples
pflow mcp serve --read-only
pflow mcp serve read-file pflow_trace
pflow mcp serve --all
"""

from typing import Any

from pflow.commands._command import Command
from pflow.errors import USAGE, PflowError
from pflow.files.installation import no_extra
from pflow.help import spec as kinds
from pflow.interface.interface import PATH, TEXT, TEXTS, Flag, argument, choice, spell_flag

CLIENTS = ("claude", "cursor", "codex", "vscode")
_TAKEN = {
    "serve": ("all", "read_only", "root"),
    "add": ("url", "header", "env", "keep", "trust_hints", "from", "yes"),
    "list": ("json",),
    "status": ("json",),
}
ACTS = ("serve", "add", "refresh", "list", "test", "remove", "status", "up", "down")


@Command(
    __doc__,
    Flag("url", "with add, reach a server over streamable HTTP", type=TEXT, metavar="URL"),
    Flag("header", "send this header; env:VAR is a variable's value", type=TEXTS, metavar="NAME: VALUE"),
    Flag("env", "keep this variable for the server, with its value as it is now", type=TEXTS, metavar="VAR"),
    Flag("keep", "use the server only while pflow mcp up keeps it: its state matters"),
    Flag("trust_hints", "believe what its tools say of themselves: read-only, idempotent"),
    Flag("from", "add the servers of this client", type=PATH, metavar="|".join([*CLIENTS, "FILE"]), choices=CLIENTS),
    Flag("yes", "with --from, add the servers without asking"),
    Flag("json", "with list and status, print one JSON list"),
    Flag("all", "with serve, offer every node, those that write and run commands too"),
    Flag("read_only", "with serve, leave out tools that write files, run commands or use the network"),
    Flag(
        "root",
        "with serve, work in DIR, and let calls reach only files below it; the default is '.'",
        type=PATH,
        metavar="DIR",
    ),
    argument("|".join(ACTS), name="act", type=choice(*ACTS), required=True),
    argument("[NAME]…", kinds.SERVER, name="names", type=TEXTS),
)  # fmt: skip
def command(act: str, names: list[str], **chosen: Any) -> int:
    flags = {name.removesuffix("_"): value for name, value in chosen.items()}
    wrong = [name for name, value in flags.items() if value and name not in _TAKEN.get(act, ())]
    if wrong:
        raise PflowError(f"cannot take {spell_flag(wrong[0])} with {act}", hint="pflow mcp --help", exit=USAGE)
    try:
        from pflow.commands._mcp_acts import act_of

        return act_of[act](names, flags) or 0
    except ImportError as error:
        if not (error.name or "").startswith(("mcp", "anyio", "jsonschema", "httpx", "pydantic")):
            raise
        raise no_extra(f"cannot {act}", "the official MCP SDK in its present form", "mcp") from None
