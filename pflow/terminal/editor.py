"""A text in the editor that a person has chosen."""

from __future__ import annotations

import os

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, FAILED, NOT_FOUND, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any
else:
    import _signal  # signal's C part, as in pflow.process.signals


def edit(text: str, name: str, terminal: int) -> str:
    """The text as it is after $VISUAL, $EDITOR or vi had it, in a file called `name`; `terminal` is its stdin.

    Raises PflowError: 73 where the file cannot be written, 127 where there is no such editor, 1 where it fails, and
    what reading the file raises.
    """
    import shutil
    import tempfile

    from pflow.flow.load import read_text

    try:
        folder = tempfile.mkdtemp(prefix="pflow-")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "TMPDIR names a directory for files that live shortly"
        raise PflowError(f"cannot make a file to edit: {why}", hint=hint, exit=CANNOT_WRITE) from None
    try:
        file = os.path.join(folder, name)
        _write(file, text)
        _run_editor(file, terminal)
        return read_text(file, "what was edited")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as opened:
            opened.write(text)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot write a file to edit: {why}", exit=CANNOT_WRITE) from None


def _run_editor(file: str, terminal: int) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    code = _run(["/bin/sh", "-c", f'{editor} "$@"', editor, file], terminal)
    if code == 127:
        raise PflowError(f"cannot find the editor '{editor}'", hint="set VISUAL or EDITOR", exit=NOT_FOUND)
    if code == 126:
        raise PflowError(f"cannot run the editor '{editor}'", hint="set VISUAL or EDITOR", exit=BAD_CONFIG)
    if code:
        how = f"exit code {code}" if 0 < code <= 128 else f"signal {abs(code) % 128}"  # sh says 128+n
        raise PflowError(f"cannot take what was edited: the editor ended with {how}", exit=FAILED)


def _run(argv: list[str], terminal: int) -> int:
    """Run a program on the terminal. ^C and ^\\ are its own while it runs."""
    kept = [(signum, _signal.getsignal(signum)) for signum in (_signal.SIGINT, _signal.SIGQUIT)]
    modes = _modes(terminal)
    files = [(os.POSIX_SPAWN_DUP2, terminal, fd) for fd in (0, 1)]
    for signum, _ in kept:
        _signal.signal(signum, _signal.SIG_IGN)
    try:
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=files, setsigdef=[each for each, _ in kept])
        return _wait(pid)
    finally:
        for signum, handler in kept:
            _signal.signal(signum, handler)
        _put_back(terminal, modes)


def _modes(terminal: int) -> list[Any]:
    """The modes of a terminal; none where it is gone."""
    import termios

    try:
        return termios.tcgetattr(terminal)
    except (termios.error, OSError):
        return []


def _put_back(terminal: int, modes: list[Any]) -> None:
    """Give the terminal the modes that it had: an editor that was killed leaves its own."""
    import termios

    try:
        if modes:
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
    except (termios.error, OSError):
        return


def _wait(pid: int) -> int:
    try:
        _, status = os.waitpid(pid, 0)
    except BaseException:  # we are to end, and so is it
        os.kill(pid, _signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    return os.waitstatus_to_exitcode(status)
