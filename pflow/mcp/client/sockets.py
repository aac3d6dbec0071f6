"""The sockets of brokers, in a directory that only our user may enter; a run and all its processes share one."""

from __future__ import annotations

import os
import stat
import sys

from pflow import Any
from pflow.errors import DENIED, PflowError, result_of
from pflow.files.directories import make_private, pflow_directory

RUN = "PFLOW_BROKER"
"""The variable with the socket of a run's own broker."""

SOCKET = ".sock"
"""The ending of a broker's socket."""

PEER = ".peer-"
"""The beginning of the name of a client's socket."""

_LONGEST = 107
"""The most bytes of a socket's path: Linux has 108 in sockaddr_un, one of them for the NUL."""


def begin_run() -> None:
    """Let this process and its children share a broker. The first call of a tool starts it; it ends with this process.

    Inside another run, the broker of that run is used.
    """
    if not run_socket():
        # Set in the environment, so that pflow in a step's command uses the run's broker too.
        os.environ[RUN] = socket_of(str(os.getpid()))


def run_socket() -> str:
    """Return the socket of the run around this process; empty outside a run, or if that run has other servers."""
    path = os.environ.get(RUN, "")
    owner = owner_of(path)
    return path if owner and is_running(owner) and path.endswith(_ending()) else ""


def owner_of(path: str) -> int:
    """Return the process with which the broker of this socket ends; 0 if there is none, as for `pflow mcp up`."""
    name = os.path.basename(path).partition("-")[0]
    return int(name) if name.isascii() and name.isdecimal() else 0


def is_running(pid: int) -> bool:
    """Return True if our user has a process with this number."""
    return result_of(os.kill, pid, 0, of=(OSError, OverflowError), otherwise=False) is None


def socket_of(name: str) -> str:
    """Return the path of a socket for our servers; `name` is "up" or the number of the process that owns it."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "pflow", name + _ending())
    folder = os.path.abspath(os.environ.get("TMPDIR") or "/tmp")
    return os.path.join(folder, f"pflow-{os.geteuid()}", name + _ending())


def _ending() -> str:
    """Return the ending of our sockets' names. It depends on XDG_DATA_HOME: a broker knows only the servers there."""
    from binascii import crc32

    servers = os.fsencode(pflow_directory("XDG_DATA_HOME", ".local/share") or "")
    return f"-{crc32(servers):08x}{SOCKET}"


def make_place(path: str) -> None:
    """Make the directory of a socket. Raises OSError; PflowError (77) if it is open to others, or the path too long."""
    folder = os.path.dirname(path)
    make_private(folder)
    about = os.lstat(folder)
    is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
    if is_ours and len(os.fsencode(path)) <= _LONGEST:
        return
    why = f"a socket's path has at most {_LONGEST} bytes" if is_ours else "others may use it too"
    raise PflowError(f"cannot use '{folder}' for sockets: {why}", hint="set XDG_RUNTIME_DIR", exit=DENIED)


def is_peer_ours(peer: Any) -> bool:
    """Return True if the process at the other end of a connection is our user's, or if the system cannot tell."""
    import _socket

    if not hasattr(_socket, "SO_PEERCRED"):
        return True  # only Linux tells it in this way; elsewhere the directory's mode alone keeps others out
    about = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(about[4:8], sys.byteorder) == os.geteuid()


def name_peer(peer: Any, path: str) -> str:
    """Bind our end of a connection to a name beside the socket `path`, and return the name.

    Raises OSError; PflowError (77) in a confined process, which cannot make a file there.
    """
    name = os.path.join(os.path.dirname(path), PEER + os.urandom(4).hex())
    try:
        peer.bind(name)
    except PermissionError:
        what = "cannot ask an MCP server: this process may only write where its run may"
        raise PflowError(what, hint="make the tool a step of the run, with --allow=mcp-NAME", exit=DENIED) from None
    return name


def was_named(peer: Any, path: str) -> bool:
    """Return True if the other end of a connection has a name from `name_peer`; remove the name."""
    name = os.fsdecode(peer.getpeername())
    if os.path.dirname(name) != os.path.dirname(path) or not os.path.basename(name).startswith(PEER):
        return False
    os.unlink(name)
    return True
