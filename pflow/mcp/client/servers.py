"""The MCP servers that were added. Each has a file that only its owner can read, since it may hold keys."""

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from pflow.catalog.registry import needed_directory
from pflow.errors import BAD_CONFIG, BAD_DATA, NOT_FOUND, USAGE, Attempt, PflowError, not_written, result_of, shorten
from pflow.files.atomic import replace
from pflow.files.directories import make_private
from pflow.files.reading import read_regular
from pflow.text.naming import guess
from pflow.text.printable import foreign_line

INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""The variables that every server gets, as they are when it is added; `--env` adds others."""

MCP_PREFIX = "mcp-"
"""The beginning of the name of each node that is a tool."""

ADD = "pflow mcp add NAME -- COMMAND, or pflow mcp add NAME --url=URL"

_ENDING = ".json"
_LONGEST = 40


@dataclass
class Server:
    """An MCP server, as in its file: how it is started or reached, and its tools by the names of their nodes.

    `command` is the command that was typed. `run` is the command that is started: npx or uvx is replaced by a program
    of a fixed version. `env` and `headers` may hold secrets, which no message shows.
    """

    name: str
    command: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)
    version: str = ""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    env: dict[str, str] = field(default_factory=dict, repr=False)
    directory: str = ""
    is_kept: bool = False
    trusts_hints: bool = False
    tools: dict[str, str] = field(default_factory=dict)

    @property
    def is_filled(self) -> bool:
        """True if the command has ${…}, where another client's variables or inputs were filled in."""
        return any("${" in word for word in self.command)


def check_server_name(name: str) -> None:
    """Raise PflowError (2) for an invalid name."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > _LONGEST:
        hint = f"a name has lower-case letters, digits and -, at most {_LONGEST}: time"
        raise PflowError(f"cannot call a server '{shorten(name)}'", hint=hint, exit=USAGE)


def inherited() -> dict[str, str]:
    """Return the variables that every server gets, as they are now."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def kept_variables(names: list[str]) -> dict[str, str]:
    """Return these variables as they are now. Raises PflowError (78) for one that is not set."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        name = shorten(foreign_line(missing[0]))
        raise PflowError(f"the variable '{name}' is not set", hint=f"set and export {name}", exit=BAD_CONFIG)
    return {name: os.environ[name] for name in names}


def load_server(name: str) -> Server:
    """Read a server's file. Raises PflowError: 127 for an unknown name, 65 for a damaged file."""
    if name not in list_servers():
        hint = guess(name, list_servers(), otherwise=ADD)
        raise PflowError(f"cannot find the MCP server '{shorten(name)}'", hint=hint, exit=NOT_FOUND)
    file = server_file(name)
    with Attempt(f"cannot read '{file}'", exit=BAD_CONFIG):
        kept = read_regular(file)
    try:
        server, empty = Server(**json.loads(kept)), vars(Server(name))
        if server.name != name or any(type(each) is not type(empty[key]) for key, each in vars(server).items()):
            raise ValueError
    except (ValueError, TypeError):
        what = f"cannot read the MCP server '{name}': '{file}' is damaged"
        raise PflowError(what, hint=f"remove the file, then {ADD}", exit=BAD_DATA) from None
    return server


def save_server(server: Server) -> None:
    """Keep a server, whole or not at all. Raises PflowError (73, 77, 78)."""
    file = server_file(server.name)
    with Attempt(f"cannot keep the MCP server '{server.name}'", not_written):
        make_private(os.path.dirname(file))
        # replace() would keep the mode of an older file, which others may be able to read.
        with suppress(FileNotFoundError):
            os.chmod(file, 0o600)
        replace(file, json.dumps(asdict(server), indent=1) + "\n", mode=0o600)


def list_servers() -> list[str]:
    """Return the names of all servers, sorted."""
    files = result_of(os.listdir, os.path.dirname(server_file("any")), otherwise=[])
    return sorted(each.removesuffix(_ENDING) for each in files if each.endswith(_ENDING) and each[0] != ".")


def server_of(node: str) -> str:
    """Return the server that a node is a tool of; empty for any other node."""
    for name in list_servers() if node.startswith(MCP_PREFIX) else ():
        with suppress(PflowError):
            if node in load_server(name).tools:
                return name
    return ""


def remove_file(file: str, act: str) -> None:
    """Remove a file if it exists. Raises PflowError (73, 77), which begins with `act`."""
    with Attempt(act, not_written), suppress(FileNotFoundError):
        os.unlink(file)


def server_file(name: str) -> str:
    """Return the file of a server. Raises PflowError (78) if the environment names no directory for it."""
    return os.path.join(needed_directory("mcp", "MCP servers"), name + _ENDING)
