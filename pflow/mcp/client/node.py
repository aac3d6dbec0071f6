"""The tools of MCP servers as nodes: their base class, and calls through the broker, which is started if needed.

The files that `pflow mcp add` writes import McpNode from here.
"""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING, Callable, Mapping
from pflow.binding.sources import without_newline
from pflow.errors import BAD_DATA, DENIED, UNAVAILABLE, Attempt, Ignoring, PflowError
from pflow.mcp.client.sockets import is_peer_ours, make_place, name_peer, owner_of, run_socket, socket_of
from pflow.node import Any, Node, Shared, declared_interface
from pflow.process.signals import time_left
from pflow.process.start import spawn
from pflow.values.jsontext import encode, scan

if TYPE_CHECKING:
    from socket import socket
else:
    from _socket import socket  # the C part: socket.py loads selectors and enum, for some milliseconds


class McpNode(Node):
    """A tool of an MCP server. `properties` has the server's name for each read. `pflow mcp add` writes subclasses."""

    server = ""
    tool = ""
    properties: Mapping[str, str]
    waits = True

    def prep(self, shared: Shared) -> dict[str, Any]:
        reads = declared_interface(type(self)).reads
        given = {name: shared.get(name) for name in reads}
        for name in [name for name, field in reads.items() if "pipe" in field.marks]:
            given[name] = without_newline((("stdin",),), given[name])  # `echo Oslo |` means Oslo
        return {self.properties.get(name, name): value for name, value in given.items() if value is not None}

    def exec(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return call(self.server, self.tool, arguments, self._report)

    def post(self, shared: Shared, arguments: object, reply: dict[str, Any]) -> None:
        shared.update(reply)

    def _report(self, progress: str) -> None:
        from pflow.terminal import messages

        if not messages.is_quiet:
            messages.say(self.id, progress)


def call(server: str, tool: str, arguments: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Call a tool and return its reply: `result`, `files` with bytes as data, and `links`.

    `tell` gets its progress. Any exception here, also one raised by a signal, cancels the call. Raises PflowError.
    """
    from binascii import a2b_base64

    act, path = f"cannot call '{tool}' of the MCP server '{server}'", run_socket()
    if not path:
        path = socket_of("up") if is_listening(socket_of("up")) else socket_of(str(os.getpid()))
    about = {"server": server, "tool": tool, "arguments": arguments, "timeout": time_left()}
    reply: dict[str, Any] = request(path, {"call": about}, act, tell)
    try:
        return {**reply, "files": [{**each, "data": a2b_base64(each["data"])} for each in reply["files"]]}
    except (LookupError, TypeError, ValueError):  # a broker that `up` started may be of another version, without files
        raise PflowError(f"{act}: its files are not in base64", exit=BAD_DATA) from None


def request(path: str, about: dict[str, Any], act: str, tell: Callable[[str], None] = lambda text: None) -> Any:
    """Send a request to the broker on the socket `path` and return the result; start the broker if none listens.

    Raises PflowError: the broker's, or one that begins with `act`: 65 for values that JSON cannot hold, 69 without a
    reply.
    """
    message = encode(about, escape=False) + b"\n"
    if b'{"$bytes":"' in message:
        raise PflowError(f"{act}: its arguments hold bytes", hint="give it a text, such as base64", exit=BAD_DATA)
    with Attempt(act):
        connection = _connect(path, act)
        connection.sendall(message)
        with os.fdopen(connection.detach(), "rb") as lines:
            for line in lines:
                reply = _read(line, act)
                if "progress" not in reply:
                    return reply["result"]
                tell(reply["progress"])
    raise PflowError(f"{act}: the broker ended", exit=UNAVAILABLE)


def is_listening(path: str) -> bool:
    """Return True if a broker listens on this socket. Raises PflowError (77)."""
    try:
        _open(path).close()
    except OSError:
        return False
    return True


def _read(line: bytes, act: str) -> dict[str, Any]:
    """Read a line from the broker.

    Raises PflowError: the error in the line, 65 for a number that pflow's JSON cannot have, 69 for another version.
    """
    with Attempt(f"{act}: its answer cannot be kept", of=ValueError, exit=BAD_DATA):
        reply: dict[str, Any] = scan(line.decode())[0]
    if not _has_our_form(reply):
        what = f"{act}: the broker has another version than this pflow"
        raise PflowError(what, hint="pflow mcp down ends it", exit=UNAVAILABLE)
    if failed := reply.get("error"):
        raise PflowError(failed.pop("message"), **failed)
    return reply


_ERROR = {"message": str, "hint": str, "exit": int, "details": dict}


def _has_our_form(reply: Any) -> bool:
    """Return True if a reply has this version's form: pflow may have been updated since `pflow mcp up`."""
    if not isinstance(reply, dict):
        return False
    if failed := reply.get("error"):
        types = {name: type(value) for name, value in failed.items()} if isinstance(failed, dict) else {}
        return "message" in types and types.items() <= _ERROR.items() and 0 < failed.get("exit", 1) < 256
    return "result" in reply or isinstance(reply.get("progress"), str)


def _connect(path: str, act: str) -> socket:
    """Connect to a broker; if none listens, start one. If several processes try at once, only one starts it."""
    from pflow.files.atomic import take_turn
    from pflow.files.reading import Opened

    with Ignoring(FileNotFoundError, ConnectionRefusedError):
        return _open(path)
    # Lock the directory, since the socket does not exist yet.
    with Opened(os.open(os.path.dirname(path), os.O_RDONLY)) as turn:
        take_turn(turn)
        if not is_listening(path):  # another process may have started one while we waited
            _start(path, act)
        return _open(path)


def _open(path: str) -> socket:
    """Connect to a broker that listens. Raises OSError; PflowError (77) if it is another user's."""
    make_place(path)
    connection = socket(1, 1)  # AF_UNIX and SOCK_STREAM; only socket.py has the names
    name = name_peer(connection, path)
    try:
        connection.connect(path)
    except BaseException:
        os.unlink(name)
        raise
    if not is_peer_ours(connection):
        raise PflowError(f"cannot use the socket '{path}': a process of another user listens there", exit=DENIED)
    return connection


def _start(path: str, act: str) -> None:
    """Start a broker in a session of its own, and wait until it listens. Raises PflowError: the broker's, or 78."""
    from pflow.files.installation import no_extra

    words = [sys.executable, "-P", "-m", "pflow.mcp.client.broker", path, str(owner_of(path))]
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as said:
        try:
            spawn(words, [-1, theirs, -1], is_ours=True)
        finally:
            os.close(theirs)
        line = said.readline()
    if not line:
        raise no_extra(act, "the official MCP SDK in its present form", "mcp")
    _read(line, act)
