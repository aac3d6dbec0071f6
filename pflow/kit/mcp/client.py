"""A call of a tool through the broker: the one that listens, or one that is started for it."""

from __future__ import annotations

import _socket  # socket's C part, as with signal
import os
import sys

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.errors import BAD_DATA, DENIED, UNAVAILABLE, PflowError, no_memory, reason_of
from pflow.kit.mcp.place import UP, make_place, owner_of, run_socket, socket_of
from pflow.process.signals import time_left
from pflow.values.jsontext import encode, scan

if TYPE_CHECKING:
    Tell = Callable[[str], None]

_PART = 1 << 18


def call(server: str, tool: str, arguments: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Call a tool and return its reply: `result`, `files` with bytes as data, and `links`.

    `tell` gets its progress. An exception, a signal's too, cancels the call. Raises PflowError.
    """
    about = {"server": server, "tool": tool, "arguments": arguments, "timeout": None}
    act = f"cannot call '{tool}' of the MCP server '{server}'"
    path = run_socket()
    if not path:
        up = socket_of(UP)
        path = up if is_listening(up) else socket_of(str(os.getpid()))
    reply: dict[str, Any] = request(path, {"call": about}, act, tell)
    if reply["files"]:
        from binascii import a2b_base64

        try:
            reply["files"] = [{**each, "data": a2b_base64(each["data"])} for each in reply["files"]]
        except ValueError:
            raise PflowError(f"{act}: its files are not in base64", exit=BAD_DATA) from None
    return reply


def request(path: str, about: dict[str, Any], act: str, tell: Tell | None = None) -> Any:
    """Send a request to the broker with this socket, which is started if nobody listens, and return the result.

    Raises PflowError: the broker's, or one that begins with `act`: 65 for what JSON cannot hold, 69 without an answer.
    """
    line = encode(about, escape=False) + b"\n"
    if b'{"$bytes":"' in line:
        raise PflowError(f"{act}: its arguments hold bytes, which are no text", hint="base64 is", exit=BAD_DATA)
    connection = _connect(path, act)
    try:
        connection.sendall(line)
        return _answer(connection, act, tell)
    except MemoryError as error:
        raise no_memory(act, error) from error
    except OSError as error:
        time_left()  # which may have passed
        raise PflowError(f"{act}: the connection to the broker ended: {reason_of(error)}", exit=UNAVAILABLE) from None
    finally:
        connection.close()


def is_listening(path: str) -> bool:
    """Return True if a broker listens. Raises PflowError (77)."""
    connection = _try(path) if os.path.exists(path) else None
    if connection is not None:
        connection.close()
    return connection is not None


def _answer(connection: _socket.socket, act: str, tell: Tell | None) -> Any:
    """Read lines until one is the answer. Raises OSError, PflowError."""
    data = bytearray()
    while True:
        while (end := data.find(b"\n", max(0, len(data) - _PART))) < 0:
            connection.settimeout(time_left())
            part = connection.recv(_PART)
            if not part:
                raise PflowError(f"{act}: the broker ended", exit=UNAVAILABLE)
            data += part
        answer = _read(data[:end], act)
        del data[: end + 1]
        if "progress" not in answer:
            return answer["result"]
        if tell is not None:
            tell(answer["progress"])


def _read(line: bytes | bytearray, act: str) -> dict[str, Any]:
    """Return a line of the broker's. Raises PflowError: its error, 65 for what is not pflow's JSON."""
    try:
        answer: dict[str, Any] = scan(line.decode())[0]
    except ValueError as error:
        raise PflowError(f"{act}: its answer is no JSON: {error}", exit=BAD_DATA) from None
    if failed := answer.get("error"):
        raise PflowError(failed["message"], hint=failed["hint"], exit=failed["exit"])
    return answer


def _connect(path: str, act: str) -> _socket.socket:
    """Connect to a broker. If nobody listens start one; of many processes that want one, only one does."""
    make_place(path)
    connection = _try(path)
    if connection is None:
        lock = _lock(path.removesuffix(".sock") + ".lock")
        try:
            connection = _try(path)
            if connection is None:
                _start(path, act)
                connection = _try(path)
        finally:
            os.unlink(path.removesuffix(".sock") + ".lock")
            os.close(lock)
    if connection is None:
        raise PflowError(f"{act}: the broker ended", exit=UNAVAILABLE)
    return connection


def _try(path: str) -> _socket.socket | None:
    """Return a connection to a broker of ours; None if nobody listens. Raises PflowError (77)."""
    make_place(path)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    if hasattr(_socket, "SO_PEERCRED"):
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # its process, user and group
        if int.from_bytes(peer[4:8], sys.byteorder) != os.geteuid():
            connection.close()
            raise PflowError(f"cannot use '{path}': another user's process listens", exit=DENIED)
    return connection


def _lock(path: str) -> int:
    """Lock this file, which whoever has it removes; wait while another process has it."""
    from pflow.files.atomic import take_turn

    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        take_turn(fd)
        try:
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)


def _start(path: str, act: str) -> None:
    """Start a broker, in a session of its own, and wait until it listens. Raises PflowError: its own, 78."""
    ours, theirs = os.pipe()
    try:
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
        words = [sys.executable, "-P", "-m", "pflow.broker.broker", path, str(owner_of(path))]
        actions = [*null, (os.POSIX_SPAWN_DUP2, theirs, 1)]
        os.posix_spawn(words[0], words, os.environ, file_actions=actions, setsid=True)
        os.close(theirs)
        theirs = -1
        line = b""
        while not line.endswith(b"\n") and (part := os.read(ours, _PART)):
            line += part
    except OSError as error:
        raise PflowError(f"{act}: cannot start the broker: {reason_of(error)}", exit=UNAVAILABLE) from None
    finally:
        for fd in (ours, theirs):
            if fd >= 0:
                os.close(fd)
    if line:
        _read(line, act)
        return
    from pflow.files.installation import no_extra

    raise no_extra(act, "the official MCP SDK in its present form", "mcp")
