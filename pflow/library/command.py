"""The executable of a saved flow: pflow-NAME, a script on PATH that runs it from anywhere."""

import os
import shlex
from contextlib import suppress
from pathlib import Path

from pflow.catalog.kinds import RUNS_FLOW, launcher
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, DENIED, PflowError
from pflow.files.atomic import replace
from pflow.library.save import as_error

_LARGEST = 1 << 14
"""The most bytes of such a script."""


def command_file(name: str) -> str:
    """Return the file of a flow's executable: in ~/.local/bin, or in ~/bin if only that is on PATH.

    Raises PflowError (78).
    """
    folders = _home_folders()
    if not folders:
        raise PflowError("cannot tell where to put the command: HOME is not set", hint="set HOME", exit=BAD_CONFIG)
    return os.path.join(next(filter(is_on_path, folders), folders[0]), f"pflow-{name}")


def is_on_path(folder: str) -> bool:
    return os.path.realpath(folder) in map(os.path.realpath, _path())


def check_command(name: str, flow_file: str) -> None:
    """Raise PflowError if the executable cannot be made: 73 for a file in its way, 77, 78."""
    file = command_file(name)
    if os.path.lexists(file) and not _runs(file, flow_file):
        what = "it runs another flow, or was changed" if _is_ours(file) else "the file is not pflow's"
        hint = "move it away, or choose another name"
        raise PflowError(f"cannot make the command '{file}': {what}", hint=hint, exit=CANNOT_WRITE)
    folder = next(parent for parent in Path(file).parents if os.path.lexists(parent))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PflowError(f"cannot make the command '{file}': permission denied '{folder}'", exit=DENIED)
    _pflow()


def make_command(name: str, flow_file: str) -> str:
    """Make a flow's executable, and return its file. Raises PflowError (73, 77, 78)."""
    check_command(name, flow_file)
    file = command_file(name)
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        replace(file, os.fsencode(_script(flow_file)), mode=0o777, overwrite=os.path.lexists(file))
    except OSError as error:
        raise as_error(f"cannot make the command '{file}'", error) from None
    return file


def commands_of(name: str, flow_file: str) -> list[str]:
    """Return the executables on PATH, in ~/.local/bin and in ~/bin that run this flow."""
    return [file for file in _places(name) if _runs(file, flow_file)]


def changed_commands_of(name: str) -> list[str]:
    """Return the executables that were made for a flow of this name and edited since."""
    return [file for file in _places(name) if _is_ours(file) and not _text(file).endswith(' "$@"\n')]


def remove_commands(name: str, flow_file: str) -> list[str]:
    """Remove a flow's executables, and return their files. Raises PflowError (73, 77)."""
    files = commands_of(name, flow_file)
    for file in files:
        try:
            os.unlink(file)
        except OSError as error:
            raise as_error("cannot remove the command", error) from None
    return files


def _places(name: str) -> list[str]:
    """Return every place of a flow's executable: in ~/.local/bin, in ~/bin, and on PATH."""
    folders = dict.fromkeys(map(os.path.realpath, [*_home_folders(), *_path()]))
    return [os.path.join(folder, f"pflow-{name}") for folder in folders]


def _home_folders() -> list[str]:
    home = os.environ.get("HOME", "")
    return [os.path.join(home, ".local", "bin"), os.path.join(home, "bin")] if os.path.isabs(home) else []


def _path() -> list[str]:
    return [each for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(each)]


def _script(flow_file: str) -> str:
    """Return the script. It names pflow, the flow and the library in full: cron has another PATH and HOME."""
    begin = f"{RUNS_FLOW.decode()}pflow remove takes it away.\n"
    data = os.environ.get("XDG_DATA_HOME", "")
    library = f"export XDG_DATA_HOME={shlex.quote(data)}\n" if os.path.isabs(data) else ""
    return f"{begin}{library}exec {shlex.quote(_pflow())}{_last_words(flow_file)}"


def _last_words(flow_file: str) -> str:
    return f' run {shlex.quote(flow_file)} "$@"\n'


def _pflow() -> str:
    file = launcher("pflow")
    if file is None:
        raise PflowError("cannot make a command: the pflow executable is not found", exit=BAD_CONFIG)
    return file


def _is_ours(file: str) -> bool:
    return _text(file).startswith(RUNS_FLOW.decode())


def _runs(file: str, flow_file: str) -> bool:
    return _is_ours(file) and _text(file).endswith(_last_words(flow_file))


def _text(file: str) -> str:
    """Return the content of a regular file; empty for anything else."""
    with suppress(OSError):
        if os.path.isfile(file) and not os.path.islink(file):
            return os.fsdecode(Path(file).read_bytes()[:_LARGEST])
    return ""
