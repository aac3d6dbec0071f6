"""pflow's own directories, as XDG names them, and the files of its cache."""

import os
import sys

from pflow.errors import BAD_CONFIG, Ignoring, PflowError
from pflow.files.reading import Opened, open_regular

_LARGEST_CACHED = 1 << 24
"""The most bytes read from a file of the cache."""

MOUNTS = "/proc/self/mountinfo"

_NETWORK = ("9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "pvfs2", "smb3", "smbfs")
"""The types of file systems that several machines may share."""


def pflow_directory(variable: str, default: str) -> str | None:
    """Return pflow's directory below the directory that an XDG variable names, else below `default` at home.

    None if neither is set. A relative path in the variable is ignored, as the XDG specification says.
    """
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get("HOME", ""), default)
    return os.path.join(base, "pflow") if os.path.isabs(base) else None


def data_directory(name: str) -> str | None:
    """Return pflow's directory of this name under XDG_DATA_HOME; None if the environment names no place."""
    data = pflow_directory("XDG_DATA_HOME", ".local/share")
    return os.path.join(data, name) if data else None


def cache_directory() -> str | None:
    """Return pflow's directory under XDG_CACHE_HOME; None if the environment names no place."""
    return pflow_directory("XDG_CACHE_HOME", ".cache")


def state_directory() -> str | None:
    """Return pflow's directory under XDG_STATE_HOME; None if the environment names no place."""
    return pflow_directory("XDG_STATE_HOME", ".local/state")


def llm_directory() -> str:
    """Return the directory of llm's settings by the rules of llm, which is slow to import."""
    if path := os.environ.get("LLM_USER_PATH"):
        return path
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/io.datasette.llm")
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "io.datasette.llm")


def required_directory(folder: str | None, act: str, variable: str) -> str:
    """Return `folder`. Raises PflowError (78) if it is None because neither `variable` nor HOME is set."""
    if folder is None:
        hint = f"set HOME or {variable}"
        raise PflowError(f"{act}: its directory is unknown", hint=hint, exit=BAD_CONFIG)
    return folder


def own_directories() -> list[str]:
    """Return pflow's directories: state, cache, settings, and data with its nodes, flows and MCP servers."""
    data, settings = pflow_directory("XDG_DATA_HOME", ".local/share"), pflow_directory("XDG_CONFIG_HOME", ".config")
    return [each for each in (state_directory(), cache_directory(), settings, data) if each]


def make_private(folder: str, mode: int = 0o700) -> None:
    """Make a directory and its missing parents, by default for their owner alone. Raises OSError."""
    if not os.path.isdir(above := os.path.dirname(folder) or "."):
        make_private(above, mode)
    os.makedirs(folder, mode, exist_ok=True)


def is_on_network(path: str) -> bool:
    """Return True if a file is on a file system that other machines may use, or if the system cannot tell."""
    real, kind, longest = os.path.realpath(path), "", 0
    if not os.path.exists(MOUNTS):
        return True
    with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            mount, _, about = line.partition(" - ")
            point = mount.split()[4].replace("\\040", " ").rstrip("/") + "/"
            if f"{real}/".startswith(point) and len(point) >= longest:
                kind, longest = about.split()[0], len(point)
    return kind in _NETWORK or kind.startswith("fuse.")


def read_cached(path: str, largest: int = _LARGEST_CACHED) -> bytes | None:
    """Read a file of the cache; None unless it is a regular file of at most `largest` bytes that only this user may
    write.
    """
    with Ignoring(OSError), Opened(open_regular(path)) as fd:
        status = os.fstat(fd)
        # A file that another user could have written must not decide what a stage does.
        is_ours = status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return os.read(fd, status.st_size) if is_ours and status.st_size <= largest else None
    return None
