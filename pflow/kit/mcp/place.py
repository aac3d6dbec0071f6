"""The sockets of brokers, in a directory that is ours alone, and the one that a run and all its processes share."""

from __future__ import annotations

import os
import stat

from pflow.errors import DENIED, PflowError, not_written
from pflow.files.beneath import CONFINED

RUN = "PFLOW_BROKER"
"""The variable with the socket of a run's own broker."""

UP = "up"

_ENDING = ".sock"
_LONGEST = 107
"""The most bytes of a socket's path."""


def begin_run() -> None:
    """Let this process and all that it starts share one broker, which the first call starts. It ends with us, unless we
    are part of another run already.
    """
    if not run_socket():
        os.environ[RUN] = socket_of(str(os.getpid()))


def run_socket() -> str:
    """Return the socket of the run that we are part of; empty if there is none, or it has ended."""
    path = os.environ.get(RUN, "")
    owner = owner_of(path)
    try:
        if owner:
            os.kill(owner, 0)
    except (OSError, OverflowError):
        return ""
    return path if owner else ""


def owner_of(path: str) -> int:
    """Return the process for which a broker with this socket works; 0 for nobody, as for `up`."""
    name = os.path.basename(path).removesuffix(_ENDING)
    return int(name) if name.isascii() and name.isdecimal() else 0


def socket_of(name: str) -> str:
    """Return the path of the socket of `up`, or of a process's number."""
    base = "" if os.environ.get(CONFINED) else os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "pflow", name + _ENDING)
    folder = os.path.abspath(os.environ.get("TMPDIR") or "/tmp")
    return os.path.join(folder, f"pflow-{os.geteuid()}", name + _ENDING)


def make_place(path: str) -> None:
    """Make the directory of a socket. Raises PflowError (77) unless it is ours alone and the path can be a socket's."""
    folder = os.path.dirname(path)
    if len(os.fsencode(path)) > _LONGEST:
        what = f"cannot make the socket '{path}': its path has more than {_LONGEST} bytes"
        raise PflowError(what, hint="set XDG_RUNTIME_DIR to a shorter one", exit=DENIED)
    try:
        try:
            about = os.lstat(folder)
        except FileNotFoundError:
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                pass  # another process was faster
            about = os.lstat(folder)
    except OSError as error:
        raise not_written(f"cannot use the directory '{folder}'", error) from None
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        what = f"cannot use '{folder}' for sockets: others may use it too"
        raise PflowError(what, hint=f"remove it, or chmod 700 '{folder}'", exit=DENIED)
