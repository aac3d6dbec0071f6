"""The acts of `pflow mcp`. Each gets its words and flags, and may return an exit code."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pflow.commands._output import print_json, print_table, print_text
from pflow.errors import FAILED, USAGE, PflowError, Within, shorten
from pflow.mcp.client import servers
from pflow.mcp.client.add import Comparison, add_server, compare_server, refresh_server, remove_server
from pflow.mcp.client.node import is_listening, request
from pflow.mcp.client.other_clients import find_servers
from pflow.mcp.client.servers import ADD, Server, list_servers, load_server
from pflow.mcp.client.sockets import socket_of
from pflow.saved_flows.executables import executable_file, is_on_path
from pflow.terminal.ask import confirm
from pflow.terminal.columns import AUTO
from pflow.terminal.messages import say, say_error
from pflow.text.naming import kebab
from pflow.text.printable import clean, counted, foreign_line
from pflow.web.address import read_headers

Flags = dict[str, Any]


def serve(names: list[str], flags: Flags) -> None:
    from pflow.mcp.server.server import serve

    serve(names, flags["root"], is_all=flags["all"], read_only=flags["read_only"])


def add(words: list[str], flags: Flags) -> int:
    """Add the server whose command or URL is typed, or the servers of another client."""
    if flags["from"]:
        return _add_from(words, flags)
    name, *command = words or [""]
    if not name or bool(command) == bool(flags["url"]):
        what = "a command and a URL" if command else "neither a command nor a URL" if name else "no name"
        raise PflowError(f"cannot add a server with {what}", hint=ADD, exit=USAGE)
    with Within(f"cannot add '{name}'"):
        read_headers(list(flags["header"]))  # refuse a literal key, which the shell's history would keep
        env = servers.inherited() | servers.kept_variables(list(flags["env"]))
    pairs = (text.partition(":") for text in flags["header"])
    headers = {key.strip(): value.strip() for key, _, value in pairs}
    server = Server(name, command, url=flags["url"] or "", headers=headers, env=env, directory=os.getcwd())
    _add(server, flags)
    return 0


def _add_from(names: list[str], flags: Flags) -> int:
    """Show the servers of another client, or those with these names, and add them if a person agrees."""
    if flags["url"] or flags["header"] or flags["env"]:
        raise PflowError("cannot take --url, --header or --env with --from", hint=ADD, exit=USAGE)
    found = find_servers(flags["from"])
    wanted = [each for each in found if not names or {each.label, getattr(each.server, "name", "")} & {*names}]
    if not wanted:
        there = ", ".join(foreign_line(each.label) for each in found) or "none"
        raise PflowError("cannot find these servers there", hint=f"it has: {there}", exit=FAILED)
    known, new, codes = list_servers(), [], [0]
    for each in wanted:
        if isinstance(each.server, PflowError):
            codes.append(_failed(each.server))
        elif each.server.name in known:
            say("pflow mcp", f"'{each.server.name}' is there already: pflow mcp refresh {each.server.name}")
        else:
            new.append((each.server, each.file))
    if not new:
        return max(codes)
    print_table([_shown(*each) for each in new], AUTO)
    sys.stdout.flush()
    answer = flags["yes"] or confirm(f"Add {counted(len(new), 'server')}, starting each once?")
    if answer is None:
        raise PflowError("cannot ask whether to add them", hint="--yes adds them without asking", exit=USAGE)
    if not answer:
        return FAILED
    for server, _ in new:
        try:
            _add(server, flags)
        except PflowError as error:
            codes.append(_failed(error))
    return max(codes)


def _failed(error: PflowError) -> int:
    say_error("pflow mcp", error, debug=False)
    return error.exit


def _shown(server: Server, file: str) -> tuple[str, str, str]:
    """Return a server's row: its name, its command or URL, and the names of its variables and headers."""
    kept = [*(f"${name}" for name in server.env if name not in servers.inherited()), *server.headers]
    return (
        server.name,
        _source(server),
        foreign_line(" ".join([f"from {file}", *(["with", *kept] if kept else [])])),
    )


def _source(server: Server) -> str:
    """Return a server's command, or its URL without user and query, which may be secret."""
    scheme, _, rest = server.url.partition("://")
    url = f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}" if server.url else ""
    return foreign_line(" ".join(server.command) or url)


def _add(server: Server, flags: Flags) -> None:
    server.is_kept, server.trusts_hints = flags["keep"], flags["trust_hints"]
    change = add_server(server)
    _say_names(change)
    print_text("".join(f"pflow-{node.name}\n" for node in change.nodes))
    say("pflow mcp", f"added {counted(len(change.nodes), 'tool')} of '{server.name}'; pflow help NODE describes each")
    folder = os.path.dirname(executable_file(change.nodes[0].name))
    if not is_on_path(folder):
        say("pflow mcp", f"{folder} is not on PATH; in flows, and as pflow NODE, the tools work")


def _say_names(change: Comparison) -> None:
    """Print the tools whose nodes have other names, and the tools that are left out."""
    other = [node for node in change.nodes if not node.name.endswith(f"-{kebab(node.tool)}")]
    notes = [f"the tool '{shorten(foreign_line(node.tool))}' is the node {node.name}" for node in other]
    for note in [*notes, *change.left_out]:
        say("pflow mcp", f"'{change.server.name}': {note}")


def refresh(names: list[str], flags: Flags) -> None:
    """Rewrite the nodes for the servers' present tools, and show the differences."""
    _compare(names, takes=True)


def test(names: list[str], flags: Flags) -> int:
    """Start servers, and show how their tools differ from the nodes; 1 if they do."""
    return FAILED if _compare(names, takes=False) else 0


def _compare(names: list[str], *, takes: bool) -> int:
    """Show how the servers' tools differ from their nodes; rewrite the nodes if `takes`. Return the number of servers
    that differ.
    """
    differing = 0
    for name in names or list_servers():
        change = compare_server(name, is_anew=takes)
        _say_names(change)
        if takes:
            refresh_server(change)
        print_text(change.diff)
        differing += bool(change.diff)
        tools = f"{'other' if change.diff else 'the same'} tools"
        hint = f"; pflow mcp refresh {name} takes them" if change.diff else ""
        said = f"has {tools}: {len(change.nodes)}" if takes else f"answers, with {tools}{hint}"
        say("pflow mcp", f"'{name}' {said}")
    return differing


def remove(names: list[str], flags: Flags) -> None:
    """Remove servers with their nodes; remove none if one of the names is unknown."""
    if not names:
        raise PflowError("cannot remove a server without its name", hint="pflow mcp list", exit=USAGE)
    for name in names:
        load_server(name)
    for name in dict.fromkeys(names):
        print_text("".join(f"{clean(file)}\n" for file in remove_server(name)))


def show_servers(names: list[str], flags: Flags) -> None:
    """Print the servers, or those with these names."""
    there = [load_server(name) for name in names or list_servers()]
    rows = [(each.name, each.version, counted(len(each.tools), "tool"), _source(each)) for each in there]
    otherwise = "no server is added yet; pflow mcp add NAME -- COMMAND adds one"
    _print([_document(each) for each in there], rows, otherwise, flags)


def _print(documents: list[Any], rows: Sequence[Sequence[str]], otherwise: str, flags: Flags) -> None:
    if flags["json"]:
        print_json(documents)
        return
    if not rows:
        say("pflow mcp", otherwise)
    print_table([[foreign_line(cell) for cell in row] for row in rows], AUTO)


def _document(server: Server) -> dict[str, Any]:
    return {
        "name": server.name,
        "version": server.version,
        "command": server.command,
        "run": server.command if server.is_filled else server.run,
        "url": _source(server) if server.url else "",
        "directory": server.directory,
        "env": [*server.env],
        "headers": [*server.headers],
        "tools": server.tools,
        "keep": server.is_kept,
        "trust_hints": server.trusts_hints,
    }


def show_status(names: list[str], flags: Flags) -> None:
    """Print the servers that `up` keeps, or those with these names."""
    path = socket_of("up")
    kept = request(path, {"status": True}, "cannot ask the broker")["servers"] if is_listening(path) else []
    there = [each for each in kept if not names or each["name"] in names]
    rows = [(each["name"], each["version"], _process(each["pid"]), counted(each["calls"], "call")) for each in there]
    _print(there, rows, "no server is kept; pflow mcp up NAME keeps one", flags)


def _process(pid: int) -> str:
    return f"process {pid}" if pid else "reached by its URL"


def up(names: list[str], flags: Flags) -> None:
    """Start these servers, or all of them, and keep them."""
    wanted = [load_server(name).name for name in names or list_servers()]
    if not wanted:
        raise PflowError("cannot keep a server: none is added", hint=ADD, exit=FAILED)
    request(socket_of("up"), {"up": wanted}, "cannot keep the servers")
    say("pflow mcp", f"{', '.join(wanted)}: kept until pflow mcp down, or ten minutes without a call")


def down(names: list[str], flags: Flags) -> None:
    """End all servers that `up` keeps."""
    if names:
        raise PflowError("cannot end single servers: down ends all", hint="pflow mcp down", exit=USAGE)
    path = socket_of("up")
    if is_listening(path):
        request(path, {"down": True}, "cannot end the servers")
    else:
        say("pflow mcp", "no server is kept")


act_of: dict[str, Callable[[list[str], Flags], int | None]] = {
    "list": show_servers,
    "status": show_status,
    **{act.__name__: act for act in (serve, add, refresh, test, remove, up, down)},
}
