"""Add the tools of an MCP server as nodes, compare them with the tools that it has now, and remove them.

A server's file lists its nodes. It is written after the files of the nodes, and removed after them. If a change is
interrupted, the next change removes the nodes' files that no server's file lists.
"""

import difflib
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import cache_from_source
from pathlib import Path

from pflow.catalog.find import find_node, forget_types
from pflow.catalog.registry import data_directory
from pflow.errors import (
    BAD_DATA,
    CANNOT_WRITE,
    NOT_FOUND,
    UNAVAILABLE,
    Attempt,
    PflowError,
    Within,
    not_written,
    result_of,
    shorten,
)
from pflow.files.atomic import failpoint
from pflow.files.atomic import replace as write_file
from pflow.files.directories import make_private
from pflow.mcp.client import servers
from pflow.mcp.client.servers import Server, list_servers, load_server
from pflow.mcp.client.tools import MADE, ToolNode, tool_nodes
from pflow.process.children import output_of
from pflow.process.signals import Deadline, TimedOut
from pflow.saved_flows.executables import check_executable, make_executable, remove_executables, tool_script
from pflow.saved_flows.saved import lock_folder
from pflow.terminal.messages import error_text
from pflow.text.printable import clean, foreign_line


@dataclass(frozen=True)
class Comparison:
    """The nodes that a server's present tools make.

    `server` is the record that its file would hold after the change, `before` the one it holds now. `left_out` names
    the tools that cannot be nodes, with the reasons. `diff` has the lines of the nodes' files that differ; it is empty
    if none does.
    """

    server: Server
    before: Server
    nodes: list[ToolNode]
    left_out: list[str]
    diff: str


def add_server(server: Server) -> Comparison:
    """Make a node of each tool of a new server. Raises PflowError (2, 65, 73, 77, 78); in that case write nothing."""
    servers.check_server_name(server.name)
    _check_new(server.name)
    with Within(f"cannot add '{server.name}'"):
        _resolve(server)
    change = _compare(server)
    with _locked(f"cannot add '{server.name}'"):
        _check_new(server.name)
        _write(change)
    return change


def compare_server(name: str, *, is_anew: bool = False) -> Comparison:
    """Compare a server's nodes with its present tools. With `is_anew`, look up again what npx or uvx runs.

    Raises PflowError: 65, 127, and the errors of asking the server.
    """
    server = load_server(name)
    if is_anew:
        _resolve(server)
    return _compare(server)


def refresh_server(change: Comparison) -> None:
    """Write the nodes that a comparison has found. Raises PflowError (73, 77, 78, 127)."""
    with _locked(f"cannot refresh '{change.server.name}'"):
        load_server(change.server.name)
        _write(change)


def remove_server(name: str) -> list[str]:
    """Remove a server with its nodes and their executables; return their files. Raises PflowError (127, 73, 77)."""
    with _locked(f"cannot remove '{name}'"):
        removed = [file for each in load_server(name).tools for file in _remove_node(each)]
        failpoint("mcp-remove")
        # Last, so that after an interrupt the server can still be removed.
        servers.remove_file(servers.server_file(name), f"cannot remove the MCP server '{name}'")
        return removed


def node_file(name: str) -> str:
    """Return the file of a node's class."""
    return os.path.join(data_directory("nodes") or "", name.replace("-", "_") + ".py")


def _check_new(name: str) -> None:
    if name in list_servers():
        hint = f"pflow mcp refresh {name} reads its tools again, pflow mcp remove {name} takes it away"
        raise PflowError(f"cannot add '{name}': there is an MCP server '{name}'", hint=hint, exit=CANNOT_WRITE)


def _resolve(server: Server) -> None:
    """Set `run` to the program that a server's command runs. Values filled in for ${…} are only in `run`."""
    if server.command:
        server.run = resolve_command((server.is_filled and server.run) or server.command, server.env)


def _compare(before: Server) -> Comparison:
    from pflow.mcp.client.session import list_tools  # it loads the SDK, which is slow, and most acts do without it

    listed = list_tools(before)
    server = replace(before, version=foreign_line(str(listed["info"].get("version") or "")))
    faults, own = listed["left_out"], [*before.tools, *_leftovers()]
    found = {node: faults.get(node.tool) or _clash(node, own) for node in tool_nodes(server, listed["tools"])}
    nodes = [node for node, reason in found.items() if not reason]
    left_out = [f"left out a tool: {faults['']}"] if "" in faults else []
    left_out += [f"left out the tool '{shorten(foreign_line(node.tool))}': {why}" for node, why in found.items() if why]
    if not nodes:
        why = "; ".join(left_out) or "it has no tools"
        raise PflowError(f"cannot add '{server.name}': {why}", exit=BAD_DATA)
    texts = dict.fromkeys(before.tools, "") | {node.name: node.text for node in nodes}
    diff = [line for name, text in sorted(texts.items()) for line in _differences(name, text)]
    server = replace(server, tools={node.name: node.tool for node in nodes})
    return Comparison(server, before, nodes, left_out, "".join(f"{clean(line)}\n" for line in diff))


def _differences(name: str, text: str) -> Iterator[str]:
    old = _read(node_file(name))
    names = name if old else "/dev/null", name if text else "/dev/null"
    return difflib.unified_diff(old.splitlines(), text.splitlines(), *names, lineterm="", n=1)


def _write(change: Comparison) -> None:
    """Write the nodes, then the server's file; remove the nodes of tools that are gone."""
    _remove_leftovers()
    for node in change.nodes:
        if clash := _clash(node, [*change.before.tools]):
            raise PflowError(f"cannot add '{change.server.name}': {clash}", exit=CANNOT_WRITE)
    try:
        for node in change.nodes:
            file = node_file(node.name)
            make_private(os.path.dirname(file))
            write_file(file, node.text, mode=0o600)
            failpoint("mcp-add")
            make_executable(node.name, tool_script(node.name, file))
        servers.save_server(change.server)
    except OSError as error:
        raise not_written(f"cannot add '{change.server.name}'", error) from None
    finally:
        _remove_leftovers()


def _clash(node: ToolNode, own: list[str]) -> str:
    """Return the message about a node or file that a new node would replace; "" for none. `own` may be replaced.

    Raises PflowError (77, 78) if the executable cannot be made.
    """
    file = node_file(node.name)
    found = find_node(node.name)
    if (found or os.path.lexists(file)) and node.name not in own:
        return f"'{node.name}' is '{found.file if found else file}' already; choose another name for the server"
    try:
        check_executable(node.name, tool_script(node.name, file))
    except PflowError as error:
        if error.exit != CANNOT_WRITE:
            raise
        return error_text(error)
    return ""


def _remove_leftovers() -> None:
    for name in _leftovers():
        with suppress(PflowError):
            _remove_node(name)


def _leftovers() -> list[str]:
    """Return the made nodes that no server lists; none if the file of a server cannot be read."""
    with suppress(PflowError):
        known = {node for name in list_servers() for node in load_server(name).tools}
        files = Path(data_directory("nodes") or "").glob("mcp_*.py")
        made = [file.stem.replace("_", "-") for file in files if _read(str(file)).startswith(MADE)]
        return [name for name in made if name not in known]
    return []


def _remove_node(name: str) -> list[str]:
    """Remove the class of a tool and its executables, and return their files. Raises PflowError (73, 77)."""
    file = node_file(name)
    # First, since after an interrupt only the class tells to which node the executable belongs.
    removed = remove_executables(name, tool_script(name, file))
    for each in (cache_from_source(file), file):
        servers.remove_file(each, f"cannot remove '{each}'")
    return [*removed, file]


def _read(file: str) -> str:
    """Return the text of a file; empty if it cannot be read."""
    return result_of(lambda: Path(file).read_text(encoding="utf-8", errors="replace"), otherwise="")


@contextmanager
def _locked(act: str) -> Iterator[None]:
    """Let one process at a time change the servers, and delay signals, which would leave half a server."""
    with lock_folder(os.path.dirname(servers.server_file("any")), act):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            yield
        finally:
            forget_types()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_LAUNCHER_TIMEOUT = 300
_NOT_A_REASON = re.compile("^ *hint:|complete log")
_FLAGS = {"-y", "--yes", "-q", "--quiet", "--isolated", "--no-config", "--offline", "--prefer-offline"}
_WITH_VALUE = {"--from", "--with", "--python", "-p", "--package", "--index", "--index-url", "--default-index"}


def resolve_command(command: list[str], env: dict[str, str]) -> list[str]:
    """Return the program that npx or uvx would run, so that starts are quick and always the same; else the command.

    The program is installed with our own environment, which may name an index or a proxy, and the server's `env`. A
    command with flags unknown to this function is returned unchanged. Raises PflowError: 69 if the program cannot be
    installed, 127 if npx or uvx is missing.
    """
    tool = os.path.basename(command[0])
    env = {**os.environ, **env}
    flags, words = _split_flags(command[1:])
    if tool not in ("npx", "uvx") or not words or words[0].startswith("-"):
        return command
    find = _program_of_npx if tool == "npx" else _program_of_uvx
    program = find(command[0], flags, words[0], env)
    return [program, *words[1:]] if program else command


def _split_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the words of npx or uvx into their flags, and the package with its words."""
    at = 0
    while at < len(words) and (words[at] in _FLAGS or words[at].partition("=")[0] in _WITH_VALUE):
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[:at], words[at:]


def _program_of_uvx(uvx: str, flags: list[str], package: str, env: dict[str, str]) -> str:
    name, _, version = package.partition("@")
    if not any(each.partition("=")[0] == "--from" for each in flags):
        flags = [*flags, "--from", f"{name}=={version}" if version not in ("", "latest") else name]
    program = name.partition("[")[0]
    return _run_launcher([uvx, *flags, "sh", "-c", 'command -v "$1"', "sh", program], env)


def _program_of_npx(npx: str, flags: list[str], package: str, env: dict[str, str]) -> str:
    if any(each.partition("=")[0] in ("-p", "--package") for each in flags):
        return (
            _run_launcher([npx, "-y", *flags, "-c", f"command -v {package}"], env)
            if re.fullmatch(r"[\w.-]+", package)
            else ""
        )
    path = _run_launcher([npx, "-y", *flags, f"--package={package}", "-c", 'printf %s "$PATH"'], env)
    name = re.sub("(?<=.)@.*", "", package)
    for folder in path.split(os.pathsep):
        about = Path(folder).parent / name / "package.json"
        if Path(folder).name == ".bin" and about.is_file():
            programs = json.loads(about.read_text(encoding="utf-8-sig")).get("bin") or {}
            short = name.rpartition("/")[2]
            known = [short] if isinstance(programs, str) or short in programs else list(programs)
            return os.path.join(folder, known[0]) if len(known) == 1 else ""
    return ""


def _run_launcher(words: list[str], env: dict[str, str]) -> str:
    """Run npx or uvx, and return the last line that it prints."""
    act = f"cannot find out what '{shorten(os.path.basename(words[0]))}' runs"
    try:
        with Attempt(act, hint=f"install {words[0]}", exit=NOT_FOUND), Deadline(_LAUNCHER_TIMEOUT):
            code, printed, errors = output_of(words, env)
    except TimedOut:
        raise PflowError(f"{act}: it took longer than {_LAUNCHER_TIMEOUT} s", exit=UNAVAILABLE) from None
    if code:
        said = [line for line in errors.splitlines() if line.strip() and not _NOT_A_REASON.search(line)]
        why = shorten(foreign_line(said[-1]), 200) if said else f"it ended with {code}"
        raise PflowError(f"{act}: {why}", exit=UNAVAILABLE)
    return (printed.splitlines() or [""])[-1]
