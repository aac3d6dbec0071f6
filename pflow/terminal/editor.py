"""A text in the editor that a person has chosen."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, NOT_FOUND, PflowError

if TYPE_CHECKING:
    from pflow.terminal.ask import Terminal


def edit(text: str, name: str, terminal: Terminal) -> str:
    """The text as it is after $VISUAL, $EDITOR or vi had it, in a file called `name`.

    Raises PflowError: 73 where the file cannot be written, 127 where there is no such editor, 1 where it fails, 65
    where the file is no text any more.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="pflow-"))
    except OSError as error:
        hint = "TMPDIR names a directory for files that live shortly"
        raise _cannot("make a file to edit", error, hint=hint) from None
    try:
        file = folder / name
        try:
            file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        except OSError as error:
            raise _cannot("write a file to edit", error) from None
        _run_editor(str(file), terminal.fd)
        return _read(file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(file: Path) -> str:
    try:
        return str(file.read_bytes(), "utf-8")
    except UnicodeDecodeError as error:
        raise PflowError(f"cannot read what was edited: it is not UTF-8 at byte {error.start}", exit=BAD_DATA) from None
    except OSError as error:
        raise _cannot("read what was edited", error) from None


def _cannot(act: str, error: OSError, hint: str = "") -> PflowError:
    return PflowError(f"cannot {act}: {(error.strerror or str(error)).lower()}", hint=hint, exit=CANNOT_WRITE)


def _run_editor(file: str, terminal: int) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    code = _run(["/bin/sh", "-c", f'{editor} "$@"', editor, file], terminal)
    if code == 127:
        raise PflowError(f"cannot find the editor '{editor}'", hint="set VISUAL or EDITOR", exit=NOT_FOUND)
    if code == 126:
        raise PflowError(f"cannot run the editor '{editor}'", hint="set VISUAL or EDITOR", exit=BAD_CONFIG)
    if code:
        how = f"exit code {code}" if 0 < code <= 128 else f"signal {abs(code) % 128}"  # sh says 128+n
        raise PflowError(f"cannot take what was edited: the editor ended with {how}")


def _run(argv: list[str], terminal: int) -> int:
    """Run a program on the terminal. ^C and ^\\ are its own while it runs."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGQUIT)}
    modes = _modes(terminal)
    files = [(os.POSIX_SPAWN_DUP2, terminal, fd) for fd in (0, 1)]
    for signum in handlers:
        signal.signal(signum, signal.SIG_IGN)
    try:
        return _wait(os.posix_spawn(argv[0], argv, os.environ, file_actions=files, setsigdef=handlers))
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        _restore(terminal, modes)


def _modes(terminal: int) -> list[Any]:
    """The modes of a terminal; none where it is gone."""
    try:
        return termios.tcgetattr(terminal)
    except (termios.error, OSError):
        return []


def _restore(terminal: int, modes: list[Any]) -> None:
    """Give the terminal the modes that it had: an editor that was killed leaves its own."""
    try:
        if modes:
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
    except (termios.error, OSError):
        return


def _wait(pid: int) -> int:
    try:
        _, status = os.waitpid(pid, 0)
    except BaseException:  # we are to end, and so is it
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    return os.waitstatus_to_exitcode(status)
