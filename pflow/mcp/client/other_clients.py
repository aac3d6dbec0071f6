"""The MCP servers that another client has in its configuration: Claude, Cursor, Codex, VS Code, or any file like these.

Values of variables and headers may be secrets: they go into what is kept of a server, and nowhere else.
"""

import json
import os
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError, reason_of, shorten
from pflow.mcp.client.servers import Server, check_server_name, inherited, kept_variables
from pflow.mcp.schema import as_dict, as_list
from pflow.words.naming import kebab, listed
from pflow.words.printable import one_line

_SYSTEM = "Library/Application Support" if sys.platform == "darwin" else ".config"
_PLACES = {
    "claude": (".mcp.json", "~/.claude.json", f"~/{_SYSTEM}/Claude/claude_desktop_config.json"),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "codex": (".codex/config.toml", "~/.codex/config.toml"),
    "vscode": (".vscode/mcp.json", f"~/{_SYSTEM}/Code/User/mcp.json"),
}
CLIENTS = tuple(_PLACES)
"""The clients whose files are known: those of the project come before those of the user."""

_KEYS = ("mcpServers", "servers", "mcp_servers")
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][\w.-]*)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class Found:
    """A server of a client's, or the reason why it cannot be taken. `file` has it, under `label`."""

    label: str
    file: str
    server: Server | PflowError


def find_servers(client: str) -> list[Found]:
    """Return the servers of a client, or of a file. Raises PflowError: 66 without a file, 65 for a damaged one."""
    if client in _PLACES:
        files = [os.path.abspath(os.path.expanduser(each)) for each in _PLACES[client]]
        if client == "codex" and (home := os.environ.get("CODEX_HOME")):
            files[1] = os.path.join(home, "config.toml")
    else:
        files = [os.path.abspath(client)]
    there = [file for file in files if os.path.exists(file)]
    if not there:
        what = f"cannot find the configuration of {client}" if client in _PLACES else f"cannot find '{client}'"
        hint = f"pflow looks for {listed(files)}" if client in _PLACES else f"--from takes {listed(CLIENTS)} or a file"
        raise PflowError(what, hint=hint, exit=MISSING)
    found: dict[str, Found] = {}
    for file in there:
        for label, about in _entries(_read(file)).items():
            found.setdefault(label, _found(label, file, as_dict(about)))
    return list(found.values())


def _read(file: str) -> dict[str, Any]:
    """Read a file of JSON, with comments and commas at ends as VS Code takes them, or of TOML."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
        document = tomllib.loads(text) if file.endswith(".toml") else json.loads(_without_comments(text))
    except OSError as error:
        raise PflowError(f"cannot read '{file}': {reason_of(error)}", exit=MISSING) from None
    except ValueError as error:  # its message may quote the file
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        kind = "TOML" if file.endswith(".toml") else "JSON"
        raise PflowError(f"cannot read '{file}': it is not {kind}{where}", exit=BAD_DATA) from None
    return as_dict(document)


def _without_comments(text: str) -> str:
    """Blank what JSON does not have, outside of strings: comments, and a comma before the end of a list or object."""
    parts = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
    text = parts.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    return re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda found: found[1] or " ", text)


def _entries(document: dict[str, Any]) -> dict[str, Any]:
    """Return the servers of a document by their names; Claude also has some for single directories."""
    project = as_dict(as_dict(document.get("projects")).get(os.getcwd()))
    places = (project.get("mcpServers"), *(document.get(key) for key in _KEYS))
    return {label: about for each in reversed(places) for label, about in as_dict(each).items()}


def _found(label: str, file: str, about: dict[str, Any]) -> Found:
    try:
        return Found(label, file, _server(label, about))
    except PflowError as error:
        return Found(label, file, error.within(f"cannot take the server '{shorten(one_line(label))}'"))


def _server(label: str, about: dict[str, Any]) -> Server:
    """Return the server that an entry describes. Raises PflowError (2, 78)."""
    server = Server(re.sub("[^a-z0-9]+", "-", kebab(label).lower()).strip("-"))
    check_server_name(server.name)
    if about.get("disabled") is True or about.get("enabled") is False:
        raise PflowError("it is turned off there", exit=BAD_CONFIG)
    command, url = about.get("command"), about.get("url")
    if about.get("type") == "sse" or not isinstance(command or url, str):
        what = "it has neither a command nor the URL of streamable HTTP"
        raise PflowError(what, hint=f"pflow mcp add {server.name} --url=URL", exit=BAD_CONFIG)
    words = [command, *as_list(about.get("args"))] if command else []
    server.command = [str(each) for each in words]  # it is shown: what is filled in may be secret
    server.run = [_filled(each) for each in server.command]
    server.url = "" if command else _filled(str(url))
    server.directory = os.path.abspath(os.path.expanduser(_filled(str(about.get("cwd") or "."))))
    server.env = inherited() | {name: _filled(str(text)) for name, text in as_dict(about.get("env")).items()}
    server.env |= kept_variables([each for each in as_list(about.get("env_vars")) if isinstance(each, str)])
    headers = as_dict(about.get("headers")) | as_dict(about.get("http_headers"))
    server.headers = {name: _header(str(text)) for name, text in headers.items()}
    server.headers |= {name: f"env:{variable}" for name, variable in as_dict(about.get("env_http_headers")).items()}
    if token := about.get("bearer_token_env_var"):
        server.headers["Authorization"] = f"Bearer env:{token}"
    return server


def _header(text: str) -> str:
    """Return a header's text as pflow has it: ${VAR}, ${env:VAR} and ${input:ID} become env:VAR."""
    return _VARIABLE.sub(lambda found: f"env:{_variable(found)}", text)


def _filled(text: str) -> str:
    """Fill in variables and places. Raises PflowError (78) for a variable that is not set and has no default."""

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
    """Return the variable that is meant; an input of VS Code's comes from one too: THE_KEY for the-key."""
    name = re.sub(r"\W", "_", found[2])
    return name.upper() if found[1] == "input" else name
