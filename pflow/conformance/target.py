"""The node that is tested: how it is started, and the interface that it declares."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, DENIED, MISSING, NOT_FOUND, USAGE, PflowError
from pflow.interface import Interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.catalog.kinds import Kind


class Target:
    """A node's name, its file, the command that starts it (`argv`), and what the environment must have for that.

    `fault` says why its interface cannot be read; then `interface` is an open one. `typed` is what stood for it.
    """

    def __init__(self, name: str, file: str, argv: list[str], environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.file = file
        self.argv = argv
        self.environment = environment or {}
        self.interface = Interface()
        self.version = ""
        self.fault = ""
        self.typed = name
        self._read()

    @property
    def is_program(self) -> bool:
        return not self.file.endswith(".py")

    def _read(self) -> None:
        from pflow.catalog.header import program_interface
        from pflow.catalog.source import read_interface

        try:
            self.interface = program_interface(self.file)[0] if self.is_program else read_interface(self.file)
            self.version = self.interface.version or self._source_version()
        except PflowError as error:
            self.fault = error.message
        except OSError as error:
            self.fault = f"cannot read '{error.filename}': {error.strerror}"

    def _source_version(self) -> str:
        from pflow.stage.main import source_version

        return "" if self.is_program else source_version(self.file)

    @property
    def has_guard(self) -> bool:
        """Whether it names the variable by which pflow says that it runs the body."""
        try:
            with open(self.file, "rb") as source:
                return b"PFLOW_NODE" in source.read(1 << 20)
        except OSError:
            return False


def find_target(path: str) -> Target:
    """The node that a path or a bare name stands for.

    Raises PflowError: 66 where there is no such file, 77 where it cannot be run, 65 where it is no node, 127 for a name
    that no node has.
    """
    target = _target_of(path)
    target.typed = path
    return target


def _target_of(path: str) -> Target:
    is_path = "/" in path or (os.path.isfile(path) and (path.endswith(".py") or path.startswith("pflow-")))
    if is_path:
        try:
            return _of_file(os.path.abspath(path), path)
        except FileNotFoundError:  # of the directory that a relative path begins in
            raise PflowError(f"cannot test '{path}': the working directory is gone", exit=MISSING) from None
    from pflow.catalog.kinds import FLOW, PROGRAM, find_kind

    kind = find_kind(path.removeprefix("pflow-")) if path else None
    if kind is None:
        raise _no_such_node(path)
    if kind.origin == FLOW:
        raise PflowError(f"cannot test '{path}': it is a flow", hint=f"pflow check {path}", exit=USAGE)
    return _of_file(kind.file, path) if kind.origin == PROGRAM else _of_class(kind)


def _of_class(kind: Kind) -> Target:
    from pflow.catalog.kinds import BUNDLED

    if kind.origin == BUNDLED:
        return Target(kind.name, os.path.realpath(kind.file), [_executable(f"pflow-{kind.name}")])
    return _of_file(os.path.abspath(kind.file), kind.name)


def _of_file(file: str, shown: str) -> Target:
    if not os.path.lexists(file):
        raise PflowError(f"cannot test '{shown}': there is no such file", exit=MISSING)
    if not os.path.isfile(file):
        raise PflowError(f"cannot test '{shown}': it is no regular file", exit=MISSING)
    base = os.path.basename(file)
    if base.endswith(".py"):
        return Target(base[:-3].replace("_", "-"), file, [_executable("pflow"), file])
    if not base.removeprefix("pflow-") or not base.startswith("pflow-"):
        hint = f"mv {_quoted(shown)} {_quoted(os.path.join(os.path.dirname(shown), 'pflow-' + base))}"
        raise PflowError(
            f"cannot test '{shown}': a program that is a node is called pflow-NAME", hint=hint, exit=BAD_DATA
        )
    if not os.access(file, os.X_OK):
        raise PflowError(f"cannot run '{shown}': it is not executable", hint=f"chmod +x {_quoted(shown)}", exit=DENIED)
    return Target(base.removeprefix("pflow-"), file, [file])


def _executable(program: str) -> str:
    """One of pflow's own: beside the one that runs, else the one on PATH."""
    import shutil

    from pflow.catalog.discovery import launcher

    found = launcher(program) or shutil.which(program)
    if found is None:
        raise PflowError(f"cannot find the executable '{program}'", hint="install pflow", exit=NOT_FOUND)
    return found


def _no_such_node(name: str) -> PflowError:
    from pflow.catalog.kinds import no_such_kind

    error = no_such_kind(name)
    return PflowError(error.message, hint=error.hint, exit=NOT_FOUND)


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
