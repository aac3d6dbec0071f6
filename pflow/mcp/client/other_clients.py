"""The MCP servers in the configuration of Claude, Cursor, Codex or VS Code, or in a file with such a configuration.

The values of variables and headers may be secrets: they are written to the server's file, and nowhere else.
"""

import json
import os
import re
import sys
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, Attempt, PflowError, shorten
from pflow.files.schema import read_as
from pflow.mcp.client.servers import Server, check_server_name, inherited, kept_variables
from pflow.text.naming import kebab, listed
from pflow.text.printable import foreign_line

_SYSTEM = "Library/Application Support" if sys.platform == "darwin" else ".config"
_PLACES = {
    "claude": (".mcp.json", "~/.claude.json", f"~/{_SYSTEM}/Claude/claude_desktop_config.json"),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "codex": (".codex/config.toml", "~/.codex/config.toml"),
    "vscode": (".vscode/mcp.json", f"~/{_SYSTEM}/Code/User/mcp.json"),
}
CLIENTS = tuple(_PLACES)
"""The clients whose files are known. A project's files come before the user's."""

_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][\w.-]*)(?::-([^}]*))?\}")


class _ClientSettings(BaseModel):
    servers: dict[str, Any] = Field({}, validation_alias=AliasChoices("mcpServers", "servers", "mcp_servers"))
    projects: dict[str, Any] = {}


class _ServerSettings(BaseModel, coerce_numbers_to_str=True):
    """A server's settings in a configuration; each client knows some of these members."""

    command: str = ""
    args: list[str] = []
    url: str = ""
    type: str = ""
    cwd: str = "."
    env: dict[str, str] = {}
    env_vars: list[Any] = []
    headers: dict[str, str] = {}
    http_headers: dict[str, str] = {}
    env_http_headers: dict[str, str] = {}
    bearer_token_env_var: str = ""
    disabled: bool = False
    enabled: bool = True


@dataclass(frozen=True)
class ForeignServer:
    """A server in a client's `file`, where it is called `label`; or the error because of which it cannot be added."""

    label: str
    file: str
    server: Server | PflowError


def find_servers(client: str) -> list[ForeignServer]:
    """Return the servers of a client or a file. Raises PflowError: 66 if there is no file, 65 for a damaged one."""
    what, hint = f"cannot find '{client}'", f"--from takes {listed(CLIENTS)} or a file"
    files = [os.path.abspath(client)]
    if client in _PLACES:
        files = [os.path.abspath(os.path.expanduser(each)) for each in _PLACES[client]]
        if client == "codex" and (home := os.environ.get("CODEX_HOME")):
            files[1] = os.path.join(home, "config.toml")
        what, hint = f"cannot find the configuration of {client}", f"pflow looks for {listed(files)}"
    there = [file for file in files if os.path.exists(file)]
    if not there:
        raise PflowError(what, hint=hint, exit=MISSING)
    found: dict[str, ForeignServer] = {}
    for file in there:
        for label, about in _servers_in(file, _read(file)).items():
            found.setdefault(label, _foreign_server(label, file, about))
    return list(found.values())


def _read(file: str) -> Any:
    """Read a file of TOML, or of JSON, which may have comments and trailing commas, as VS Code allows."""
    try:
        with Attempt(f"cannot read '{file}'", exit=MISSING):
            text = Path(file).read_text(encoding="utf-8-sig")
        if file.endswith(".toml"):
            return tomllib.loads(text)
        return json.loads(_without_comments(text), object_pairs_hook=_without_nulls)
    except (ValueError, RecursionError) as error:  # the parser's message may quote the file, and so a key
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        kind = "TOML" if file.endswith(".toml") else "JSON"
        raise PflowError(f"cannot read '{file}': it is not {kind}{where}", exit=BAD_DATA) from None


def _without_comments(text: str) -> str:
    """Blank out comments, and a comma before the end of a list or object, but not in strings."""
    parts = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
    text = parts.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    return re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda found: found[1] or " ", text)


def _without_nulls(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in members if value is not None}


def _servers_in(file: str, document: Any) -> dict[str, Any]:
    """Return the servers of a document by their names, with those that Claude has for the working directory."""
    read = partial(read_as, _ClientSettings, act=f"cannot read '{file}'", exit=BAD_DATA)
    settings = read(document)
    return settings.servers | read(settings.projects.get(os.getcwd(), {})).servers


def _foreign_server(label: str, file: str, about: Any) -> ForeignServer:
    try:
        return ForeignServer(label, file, _server(label, about))
    except PflowError as error:
        return ForeignServer(label, file, error.within(f"cannot take the server '{shorten(foreign_line(label))}'"))


def _server(label: str, about: Any) -> Server:
    """Return the server that an entry describes. Raises PflowError (2, 78)."""
    settings = read_as(_ServerSettings, about, "its entry does not fit", exit=BAD_CONFIG)
    server = Server(re.sub("[^a-z0-9]+", "-", kebab(label).lower()).strip("-"))
    check_server_name(server.name)
    if settings.disabled or not settings.enabled:
        raise PflowError("it is turned off there", exit=BAD_CONFIG)
    if settings.type == "sse" or not (settings.command or settings.url):
        what = "it has neither a command nor the URL of streamable HTTP"
        raise PflowError(what, hint=f"pflow mcp add {server.name} --url=URL", exit=BAD_CONFIG)
    words = [settings.command, *settings.args] if settings.command else []
    server.command = words  # `pflow mcp list` shows it, so ${…} is not filled in: it may be secret
    server.run = [_filled(each) for each in words]
    server.url = "" if settings.command else _filled(settings.url)
    server.directory = os.path.abspath(os.path.expanduser(_filled(settings.cwd)))
    server.env = inherited() | {name: _filled(text) for name, text in settings.env.items()}
    server.env |= kept_variables([each for each in settings.env_vars if isinstance(each, str)])
    server.headers = {name: _header(text) for name, text in (settings.headers | settings.http_headers).items()}
    server.headers |= {name: f"env:{variable}" for name, variable in settings.env_http_headers.items()}
    if settings.bearer_token_env_var:
        server.headers["Authorization"] = f"Bearer env:{settings.bearer_token_env_var}"
    return server


def _header(text: str) -> str:
    """Return a header's text in pflow's form: ${VAR}, ${env:VAR} and ${input:ID} become env:VAR."""
    return _VARIABLE.sub(lambda found: f"env:{_variable(found)}", text)


def _filled(text: str) -> str:
    """Fill in variables and directories. Raises PflowError (78) for a variable that is not set and has no default."""

    def fill(found: re.Match[str]) -> str:
        kind, name, otherwise = found.groups()
        places = {"workspaceFolder": os.getcwd(), "userHome": os.path.expanduser("~")}
        if kind is None and name in places:
            return places[name]
        variable = _variable(found)
        value = os.environ.get(variable, otherwise)
        return kept_variables([variable])[variable] if value is None else value

    return _VARIABLE.sub(fill, text)


def _variable(found: re.Match[str]) -> str:
    """Return the variable that a ${…} names. An input of VS Code is a variable too: THE_KEY for the-key."""
    name = re.sub(r"\W", "_", found[2])
    return name.upper() if found[1] == "input" else name
