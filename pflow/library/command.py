"""The executable of a saved flow: pflow-NAME, a script on PATH that runs it wherever it is started."""

from __future__ import annotations

import os
import stat

from pflow.catalog.discovery import RUNS_FLOW, launcher
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, DENIED, PflowError
from pflow.library.held import in_words

_LARGEST = 1 << 14
"""Bytes of a script of ours, at most: three paths may stand in it."""


def command_file(name: str) -> str:
    """Where a flow's executable goes: ~/.local/bin, or ~/bin where that alone is on PATH.

    Raises PflowError (78) without a home.
    """
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home):
        raise PflowError("cannot tell where to put the command: HOME is not set", hint="set HOME", exit=BAD_CONFIG)
    folders = [os.path.join(home, ".local", "bin"), os.path.join(home, "bin")]
    folder = next((each for each in folders if is_on_path(each)), folders[0])
    return os.path.join(folder, f"pflow-{name}")


def is_on_path(folder: str) -> bool:
    there = {os.path.realpath(each) for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(each)}
    return os.path.realpath(folder) in there


def check_command(name: str, flow_file: str) -> None:
    """Raise PflowError where a flow's executable cannot be made: 73 where something stands in its way, 77, 78."""
    file = command_file(name)
    if os.path.lexists(file) and not _is_ours(file, flow_file):
        hint = "move it away, or choose another name"
        what = "it runs another flow" if _is_ours(file) else "somebody else's file is there"
        raise PflowError(f"cannot make the command '{file}': {what}", hint=hint, exit=CANNOT_WRITE)
    folder = os.path.dirname(file)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PflowError(f"cannot make the command '{file}': permission denied '{folder}'", exit=DENIED)
    _pflow()


def put_command(name: str, flow_file: str) -> str:
    """Make the executable of a flow, and give its file. Raises PflowError (73, 77, 78)."""
    from pflow.atomic import replace

    check_command(name, flow_file)
    file = command_file(name)
    is_new = not os.path.lexists(file)
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        replace(file, os.fsencode(_script(flow_file)), mode=0o777, overwrite=not is_new)
    except OSError as error:
        raise in_words(f"cannot make the command '{file}'", error) from None
    return file


def commands_of(name: str, flow_file: str) -> list[str]:
    """The executables of a flow, where it may have been given one or PATH has one."""
    return [file for file in _places(name) if _is_ours(file, flow_file)]


def changed_commands_of(name: str) -> list[str]:
    """The executables that were made for a flow of this name, and changed by somebody since."""
    return [file for file in _places(name) if _begins_as_ours(file) and not _is_ours(file)]


def _places(name: str) -> list[str]:
    home = os.environ.get("HOME", "")
    folders = [os.path.join(home, ".local", "bin"), os.path.join(home, "bin")] if os.path.isabs(home) else []
    folders += [each for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(each)]
    return list(dict.fromkeys(os.path.join(os.path.realpath(folder), f"pflow-{name}") for folder in folders))


def take_commands(name: str, flow_file: str) -> list[str]:
    """Take a flow's executables away, and give their files. Raises PflowError (73, 77)."""
    files = commands_of(name, flow_file)
    for file in files:
        try:
            os.unlink(file)
        except OSError as error:
            raise in_words("cannot take the command away", error) from None
    return files


def _script(flow_file: str) -> str:
    """An absolute path each for pflow and the flow: cron's PATH has neither, and its HOME may be another's.

    Where XDG_DATA_HOME names the library, it does so for the script: the flow may use others in it.
    """
    import shlex

    begin = f"{RUNS_FLOW.decode()}pflow remove takes it away.\n"
    data = os.environ.get("XDG_DATA_HOME", "")
    library = f"export XDG_DATA_HOME={shlex.quote(data)}\n" if os.path.isabs(data) else ""
    return f'{begin}{library}exec {shlex.quote(_pflow())} run {shlex.quote(flow_file)} "$@"\n'


def _pflow() -> str:
    file = launcher("pflow")
    if file is None:
        raise PflowError("cannot make a command: the pflow executable is not found", exit=BAD_CONFIG)
    return file


def _is_ours(file: str, flow_file: str = "") -> bool:
    """Whether a file is a script of ours as it was written; with `flow_file`, one that runs that flow."""
    import shlex

    end = f' run {shlex.quote(flow_file)} "$@"\n' if flow_file else ' "$@"\n'
    return _begins_as_ours(file) and _text(file).endswith(end)


def _begins_as_ours(file: str) -> bool:
    return _text(file).startswith(RUNS_FLOW.decode())


def _text(file: str) -> str:
    """What a file holds, if it is one, and no link."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return ""
        with open(file, "rb") as opened:
            return os.fsdecode(opened.read(_LARGEST))
    except OSError:
        return ""
