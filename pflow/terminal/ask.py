"""Asking the person at the terminal for a line, a yes or no, a key, or a text written in an editor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import termios
from contextlib import suppress

from pflow.errors import BAD_DATA, CANNOT_WRITE, FAILED, NOT_FOUND, PflowError, reason_of, result_of
from pflow.files.atomic import take_turn
from pflow.terminal.messages import for_terminal
from pflow.text.printable import harmless

_READLINE = ("set expand-tilde on", "set convert-meta off", "set input-meta on", "set output-meta on")
"""Settings of readline: expand `~`, and pass letters unchanged in any locale."""


class Terminal:
    """The person's terminal, /dev/tty, since stdin and stdout may be pipes.

    An answer is None at the end of input: after ^D, or if the terminal is gone.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.turn: int | None = None

    def wait_for_turn(self) -> None:
        """Wait until no other process of pflow asks at this terminal; let others wait until we close it."""
        with suppress(OSError):
            # Not /dev/tty, which is one file for all terminals.
            self.turn = os.open(os.ttyname(2), os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
            take_turn(self.turn)

    def ask(self, question: str) -> str | None:
        line = self.read_line(question)
        return line if line is None else line.strip()

    def choose(self, question: str, keys: dict[str, str], *, otherwise: str = "n", help: str = "") -> str:
        """Ask until the answer is a key or its word; show `help` after others. Return `otherwise` at the end."""
        while (answer := self.ask(question)) is not None:
            for key, word in keys.items():
                if answer.lower() in (key, word):
                    return key
            self.say(help)
        return otherwise

    def choose_listed(self, question: str, keys: dict[str, str], *, otherwise: str = "n") -> str:
        """Ask as `choose` does, with a list of the keys."""
        listed = ", ".join(f"{key}: {word}" for key, word in keys.items())
        return self.choose(f"{question} [{listed}] ", keys, otherwise=otherwise)

    def read_line(self, prompt: str) -> str | None:
        """Read a line at a prompt, without its end; bytes that are not UTF-8 become surrogates."""
        self.say(prompt)
        try:
            line = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        except BaseException:  # a signal: the next text has to begin on a new line
            self.say("\n")
            raise
        if not line.endswith(b"\n"):
            self.say("\n")
        return os.fsdecode(line.rstrip(b"\r\n")) if line else None

    def read_secret(self, prompt: str) -> str | None:
        try:
            modes = termios.tcgetattr(self.fd)
            hidden = [*modes[:3], modes[3] & ~termios.ECHO, *modes[4:]]
            termios.tcsetattr(self.fd, termios.TCSAFLUSH, hidden)
        except termios.error:
            return None
        try:
            return self.read_line(prompt)
        finally:
            termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
            self.say("\n")

    def read_path(self, prompt: str) -> str | None:
        """Read a path, which TAB completes if Python has readline. Readline uses stdin and stdout."""
        try:
            import readline

            before = os.dup(1)
        except (ImportError, OSError):
            return self.read_line(prompt)
        os.dup2(self.fd, 1)
        readline.set_completer_delims("")  # by default a blank ends a word, but file names may have blanks
        is_libedit = "libedit" in (readline.__doc__ or "")
        for setting in (*_READLINE, "bind ^I rl_complete" if is_libedit else "tab: complete"):
            readline.parse_and_bind(setting)
        try:
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
            return input(harmless(prompt))
        except BaseException as error:
            self.say("\n")
            if isinstance(error, EOFError):
                return None
            raise  # ^C and other signals end the run, not the question
        finally:
            os.dup2(before, 1)
            os.close(before)

    def discard_typed(self) -> None:
        """Drop the keys typed before the question was shown: an Enter too many must not answer it."""
        with suppress(termios.error, OSError):
            termios.tcflush(self.fd, termios.TCIFLUSH)

    def say(self, text: str) -> None:
        with suppress(OSError):
            os.write(self.fd, for_terminal(self.fd, text.encode("utf-8", "backslashreplace")))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
        if self.turn is not None:
            os.close(self.turn)


def open_terminal() -> Terminal | None:
    """Open the terminal; return None if there is none, or if stderr is not a terminal: perhaps no person watches."""
    if not os.isatty(2):
        return None
    return result_of(lambda: Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)), otherwise=None)


def ask(question: str, *, is_secret: bool = False) -> str | None:
    """Ask one question and return the answer, stripped; None if there is no terminal. A secret is not shown."""
    terminal = open_terminal()
    if terminal is None:
        return None
    with terminal:
        return (terminal.read_secret(question) if is_secret else terminal.ask(question)) or ""


def confirm(question: str) -> bool | None:
    """Ask a yes-or-no question; return None if there is no terminal."""
    answer = ask(f"{question} [y/N] ")
    return None if answer is None else answer.lower() in ("y", "yes")


def edit(text: str, name: str, terminal: Terminal) -> str:
    """Let the person edit a text, as a file called `name`, with $VISUAL, $EDITOR or vi; return the result.

    Raises PflowError: 73 if the file cannot be written or read, 127 if the editor is missing, 1 if it fails, 65 if the
    result is not text.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with tempfile.TemporaryDirectory(prefix="pflow-", ignore_cleanup_errors=True) as folder:
            file = os.path.join(folder, name)
            with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
                opened.write(text)
            # With sh, as git does it, since $EDITOR may have flags, such as `code --wait`.
            code = _run(["/bin/sh", "-c", f'{editor} "$@"', editor, file], terminal.fd)
            if code == 127:
                raise PflowError(f"cannot find the editor '{editor}'", hint="set VISUAL or EDITOR", exit=NOT_FOUND)
            if code:
                # For a signal, the shell that runs the editor exits with its number plus 128.
                how = f"exit code {code}" if 0 < code <= 128 else f"signal {abs(code) % 128}"
                raise PflowError(f"cannot use the edited text: the editor ended with {how}", exit=FAILED)
            with open(file, encoding="utf-8", newline="") as opened:
                return opened.read()
    except UnicodeDecodeError as error:
        what = f"cannot read the edited text: it is not UTF-8 at byte {error.start}"
        raise PflowError(what, exit=BAD_DATA) from None
    except OSError as error:
        why, hint = reason_of(error), "TMPDIR names a directory for temporary files"
        raise PflowError(f"cannot edit a file: {why}", hint=hint, exit=CANNOT_WRITE) from None


def _run(argv: list[str], terminal: int) -> int:
    """Run a program on the terminal, then restore the terminal's modes. ^C and ^\\ go only to the program."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGQUIT)}
    modes = termios.tcgetattr(terminal) if os.isatty(terminal) else None
    for signum in handlers:
        signal.signal(signum, lambda signum, frame: None)  # not SIG_IGN, which the editor would inherit
    try:
        return subprocess.run(argv, stdin=terminal, stdout=terminal, check=False).returncode
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        if modes:
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
