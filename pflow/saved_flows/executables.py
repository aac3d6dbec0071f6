"""Executables called pflow-NAME, each of which runs a saved flow, a tool of an MCP server or a node of a pack."""

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pflow.catalog.find import RUNS_FLOW, RUNS_NODE, RUNS_TOOL, launcher
from pflow.catalog.packs import installed_packs
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, DENIED, Attempt, PflowError
from pflow.files.atomic import replace
from pflow.saved_flows.saved import file_failure

_LARGEST = 1 << 14
"""The most bytes of an executable made by pflow; a longer file is not one."""

_LONGEST_FIRST_LINE = 120
"""The most letters of a #! line on every system: old Linux cuts it at 127."""


_ENDS = (' "$@"\n', ", sys.argv[1:])\n")
"""The last characters of every executable, in sh and in Python."""


class Script(NamedTuple):
    """The text of an executable. `end` is its last part, which does not depend on where pflow is installed."""

    text: str
    end: str


def flow_script(file: str) -> Script:
    """Return the script for a flow, with full paths of pflow, the flow and the data directory, which cron does not set.

    Raises PflowError (78).
    """
    pflow = launcher("pflow")
    if pflow is None:
        raise PflowError("cannot make a command: the pflow executable is not found", exit=BAD_CONFIG)
    library = f"export XDG_DATA_HOME={shlex.quote(_data_home())}\n" if _data_home() else ""
    end = f' run {shlex.quote(file)} "$@"\n'
    return Script(f"{RUNS_FLOW.decode()}pflow remove takes it away.\n{library}exec {shlex.quote(pflow)}{end}", end)


def tool_script(name: str, file: str) -> Script:
    """Return the script for a tool's class, in Python, so that it starts as fast as any other node."""
    return _in_python(f"{RUNS_TOOL.decode()}pflow mcp remove takes it away.\n", "main_of_file", file, name)


def pack_script(pack: str, path: str, name: str) -> Script:
    """Return the script for a pack's node. It names no version, so that an update leaves it as it is."""
    return _in_python(f"{RUNS_NODE.decode()}pflow uninstall takes it away.\n", "main_of_pack", pack, path, name)


def _in_python(about: str, function: str, *arguments: str) -> Script:
    """Return a script that calls a function of pflow.stage.main with these arguments and its own command line."""
    first = f"#!{sys.executable} -P\n"  # -P: no module beside the executable counts as Python's own
    if len(first) > _LONGEST_FIRST_LINE or " " in sys.executable:
        first = "#!/bin/sh\n"  # sh runs the line after the comment; for Python that line is a string
        about += f"'''exec' {shlex.quote(sys.executable)} -P \"$0\" \"$@\"\n' '''\n"
    library = f'os.environ["XDG_DATA_HOME"] = {_data_home()!r}\n' if _data_home() else ""
    imports = f"import os\nimport sys\n\nfrom pflow.stage.main import {function}\n\n"
    end = f"{function}({', '.join(map(repr, arguments))}, sys.argv[1:])\n"
    return Script(f"{first}{about}{imports}{library}{end}", end)


def _data_home() -> str:
    """Return the user's XDG_DATA_HOME; empty if it is not set, or relative."""
    data = os.environ.get("XDG_DATA_HOME", "")
    return data if os.path.isabs(data) else ""


def executable_file(name: str) -> str:
    """Return the file of an executable: in ~/.local/bin, or in ~/bin if only that is on PATH.

    Raises PflowError (78).
    """
    folders = _home_folders()
    if not folders:
        raise PflowError("cannot tell where to put the command: HOME is not set", hint="set HOME", exit=BAD_CONFIG)
    return os.path.join(next(filter(is_on_path, folders), folders[0]), f"pflow-{name}")


def is_on_path(folder: str) -> bool:
    return os.path.realpath(folder) in map(os.path.realpath, _path_folders())


def path_fault(folder: str) -> str:
    """Return the message that a directory is not on PATH, and how to add it; empty if it is on PATH."""
    return "" if is_on_path(folder) else f"'{folder}' is not on PATH; export PATH=\"{folder}:$PATH\" in your profile"


def check_executable(name: str, script: Script) -> None:
    """Raise PflowError if the executable cannot be made: 73 for a file in the way, 77, 78."""
    file = executable_file(name)
    if os.path.lexists(file) and not _runs_same(file, script) and not _is_stale(file):
        what = "it runs something else, or was changed" if _is_ours(file) else "the file is not pflow's"
        hint = "move it away, or choose another name"
        raise PflowError(f"cannot make the command '{file}': {what}", hint=hint, exit=CANNOT_WRITE)
    folder = next(parent for parent in Path(file).parents if os.path.lexists(parent))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PflowError(f"cannot make the command '{file}': permission denied '{folder}'", exit=DENIED)


def make_executable(name: str, script: Script) -> str:
    """Make an executable, and return its file. Raises PflowError (73, 77, 78)."""
    check_executable(name, script)
    file = executable_file(name)
    with Attempt(f"cannot make the command '{file}'", file_failure):
        replace(file, os.fsencode(script.text), mode=0o777, overwrite=os.path.lexists(file))
    return file


def executables_of(name: str, script: Script) -> list[str]:
    """Return the executables of this name on PATH, in ~/.local/bin and in ~/bin that pflow made with this `end`."""
    return [file for file in _candidates(name) if _runs_same(file, script)]


def edited_executables_of(name: str) -> list[str]:
    """Return the executables for this name that pflow made and the user has edited."""
    return [file for file in _candidates(name) if _is_ours(file) and not _text(file).endswith(_ENDS)]


def remove_executables(name: str, script: Script) -> list[str]:
    """Remove the executables that `executables_of` finds; return their files. Raises PflowError (73, 77)."""
    files = executables_of(name, script)
    for file in files:
        with Attempt("cannot remove the command", file_failure):
            os.unlink(file)
    return files


def _candidates(name: str) -> list[str]:
    """Return every path where an executable may be: in ~/.local/bin, in ~/bin, and on PATH."""
    folders = dict.fromkeys(map(os.path.realpath, [*_home_folders(), *_path_folders()]))
    return [os.path.join(folder, f"pflow-{name}") for folder in folders]


def _home_folders() -> list[str]:
    home = os.environ.get("HOME", "")
    return [os.path.join(home, ".local", "bin"), os.path.join(home, "bin")] if os.path.isabs(home) else []


def _path_folders() -> list[str]:
    return [each for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(each)]


def _is_ours(file: str) -> bool:
    text = _text(file)
    marks = (RUNS_TOOL.decode(), RUNS_NODE.decode())
    return text.startswith(RUNS_FLOW.decode()) or text.partition("\n")[2].startswith(marks)


def _runs_same(file: str, script: Script) -> bool:
    return _is_ours(file) and _text(file).endswith(script.end)


def _is_stale(file: str) -> bool:
    """Return True for an executable whose pack is no longer installed, for example because its lock file was lost."""
    text = _text(file)
    begin, _, end = text.rpartition("\nmain_of_pack('")
    is_of_this = f"= {_data_home()!r}\n" in begin if _data_home() else "XDG_DATA_HOME" not in begin
    return bool(begin) and _is_ours(file) and is_of_this and end.partition("'")[0] not in installed_packs()


def _text(file: str) -> str:
    """Return the content of a regular file; empty for anything else."""
    with suppress(OSError):
        if os.path.isfile(file) and not os.path.islink(file):
            return os.fsdecode(Path(file).read_bytes()[:_LARGEST])
    return ""
