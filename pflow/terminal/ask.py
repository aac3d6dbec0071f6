"""A person at the terminal: a line, yes or no, one of several keys, or a text in an editor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import termios

from pflow.errors import BAD_DATA, CANNOT_WRITE, FAILED, NOT_FOUND, PflowError, reason_of
from pflow.files.atomic import take_turn

_READLINE = ("set expand-tilde on", "set convert-meta off", "set input-meta on", "set output-meta on")
"""Its settings: `~` is expanded as a shell does, letters stay what they are in any locale."""


class Terminal:
    """The terminal that a person sits at: /dev/tty, whatever stdin and stdout are.

    An answer of None means that there is no more: the end of the file, or a terminal that is gone or not ours to read.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.turn: int | None = None

    def wait_for_turn(self) -> None:
        """Wait until no other process of ours asks at this terminal; it is ours until it is closed."""
        try:
            self.turn = os.open(os.ttyname(2), os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)  # /dev/tty is everybody's
        except OSError:
            return
        take_turn(self.turn)

    def ask(self, question: str) -> str | None:
        """The line that answers, stripped."""
        line = self.read_line(question)
        return line if line is None else line.strip()

    def choose(self, question: str, keys: dict[str, str], *, otherwise: str = "n") -> str:
        """The key that is typed, itself or as its word; `otherwise` without an answer, `?` for any other."""
        answer = self.ask(question)
        if answer is None:
            return otherwise
        return next((key for key, word in keys.items() if answer.lower() in (key, word)), "?")

    def read_line(self, prompt: str) -> str | None:
        """What is typed at a prompt, without the end of the line; bytes that are not UTF-8 as surrogates."""
        self.say(prompt)
        try:
            line = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        except BaseException:  # a signal
            self.say("\n")
            raise
        if not line.endswith(b"\n"):
            self.say("\n")
        return os.fsdecode(line.rstrip(b"\r\n")) if line else None

    def read_secret(self, prompt: str) -> str | None:
        """A line that is not shown as it is typed."""
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
        """A path, alike: TAB completes it, where readline can ask. That reads stdin and writes to stdout."""
        try:
            import readline

            before = os.dup(1)
        except (ImportError, OSError):
            return self.read_line(prompt)
        os.dup2(self.fd, 1)
        readline.set_completer_delims("")  # or a blank would begin another name
        is_libedit = "libedit" in (readline.__doc__ or "")
        for setting in (*_READLINE, "bind ^I rl_complete" if is_libedit else "tab: complete"):
            readline.parse_and_bind(setting)
        try:
            sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
            return input(prompt)
        except BaseException as error:
            self.say("\n")
            if isinstance(error, EOFError):
                return None
            raise  # a signal
        finally:
            os.dup2(before, 1)
            os.close(before)

    def forget_typed(self) -> None:
        """Take nothing for an answer that was typed before the question could be seen."""
        try:
            termios.tcflush(self.fd, termios.TCIFLUSH)
        except (termios.error, OSError):
            return

    def say(self, text: str) -> None:
        try:
            os.write(self.fd, text.encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def close(self) -> None:
        os.close(self.fd)
        if self.turn is not None:
            os.close(self.turn)


def open_terminal() -> Terminal | None:
    """The terminal. None without one, and where stderr is not one too: nobody would see the question."""
    if not os.isatty(2):
        return None
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return None


def ask(question: str) -> str | None:
    """The line that answers one question, stripped. None where nobody can be asked."""
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        return terminal.ask(question) or ""
    finally:
        terminal.close()


def confirm(question: str) -> bool | None:
    """Ask one question with yes and no. None where nobody can be asked."""
    answer = ask(f"{question} [y/N] ")
    return None if answer is None else answer.lower() in ("y", "yes")


def edit(text: str, name: str, terminal: Terminal) -> str:
    """The text as it is after $VISUAL, $EDITOR or vi had it, in a file called `name`.

    Raises PflowError: 73 where the file cannot be written or read, 127 where there is no such editor, 1 where it
    fails, 65 where the file is no text any more.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with tempfile.TemporaryDirectory(prefix="pflow-", ignore_cleanup_errors=True) as folder:
            file = os.path.join(folder, name)
            with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="") as opened:
                opened.write(text)
            code = _run(["/bin/sh", "-c", f'{editor} "$@"', editor, file], terminal.fd)
            if code == 127:
                raise PflowError(f"cannot find the editor '{editor}'", hint="set VISUAL or EDITOR", exit=NOT_FOUND)
            if code:
                how = f"exit code {code}" if 0 < code <= 128 else f"signal {abs(code) % 128}"  # sh says 128+n
                raise PflowError(f"cannot take what was edited: the editor ended with {how}", exit=FAILED)
            with open(file, encoding="utf-8", newline="") as opened:
                return opened.read()
    except UnicodeDecodeError as error:
        raise PflowError(f"cannot read what was edited: it is not UTF-8 at byte {error.start}", exit=BAD_DATA) from None
    except OSError as error:
        why, hint = reason_of(error), "TMPDIR names a directory for files that live shortly"
        raise PflowError(f"cannot edit in a file: {why}", hint=hint, exit=CANNOT_WRITE) from None


def _run(argv: list[str], terminal: int) -> int:
    """Run a program on the terminal, which gets its modes back. ^C and ^\\ are the program's own while it runs."""
    handlers = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGQUIT)}
    modes = termios.tcgetattr(terminal) if os.isatty(terminal) else None
    for signum in handlers:
        signal.signal(signum, lambda signum, frame: None)  # not SIG_IGN, which a program inherits
    try:
        return subprocess.run(argv, stdin=terminal, stdout=terminal, check=False).returncode
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        if modes:
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
