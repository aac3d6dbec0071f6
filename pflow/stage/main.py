"""Start a node's executable, and end its process."""

from __future__ import annotations

import gc
import os
import sys

from pflow import NoReturn, __version__


def prepare_python() -> None:
    """Collect garbage less often, and decode the words of the command line as UTF-8, like everything else.

    By default a start spends a fifteenth of its time on garbage. If Python follows a locale with another encoding, this
    program starts itself again, unless the words are not UTF-8: these are left to the locale.
    """
    gc.set_threshold(50_000)
    python, *words = sys.orig_argv
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        try:
            os.fsencode("\n".join(words)).decode()
            os.execv(sys.executable, [python, "-X", "utf8", *words])
        except (UnicodeError, OSError):
            return


def main(name: str) -> NoReturn:
    """Run the bundled node of this name as a stage, with the words of the command line."""
    if sys.argv[1:] == ["--version"]:
        leave(print_version(name))
    main_of_file(None, name, sys.argv[1:])


def main_of_file(file: str | None, name: str, words: list[str], *, member: tuple[str, str] | None = None) -> NoReturn:
    """Run a node as a stage with these words: a user's own file, a pack's `member`, or the bundled one of this name."""
    prepare_python()
    from pflow.process.signals import die_quietly_of_interrupt

    die_quietly_of_interrupt()
    from pflow.stage.stage import Stage

    leave(Stage(name, file=file, member=member).run(words))


def main_of_pack(pack: str, path: str, name: str, words: list[str]) -> NoReturn:
    """Run a pack's node as a stage with these words, from the file at `path` in the installed version."""
    main_of_file(None, name, words, member=(pack, path))


def print_version(name: str) -> int:
    """Print `pflow-read-file 1.0.0 (pflow-shell 0.1.0)` from the node's source, without importing it."""
    from pflow.interface.source import source_version

    here = os.path.dirname(os.path.dirname(__file__))
    version = source_version(os.path.join(here, "nodes", name.replace("-", "_") + ".py"))
    return print_line(f"pflow-{name}", f"pflow-{name} {version} (pflow-shell {__version__})")


def print_line(program: str, line: str) -> int:
    """Print a line on stdout and return the exit code."""
    try:
        os.write(1, f"{line}\n".encode())
    except OSError as error:
        from pflow.errors import CANNOT_WRITE, reason_of
        from pflow.process.signals import die_of_closed_pipe
        from pflow.terminal.messages import say

        if isinstance(error, BrokenPipeError):
            die_of_closed_pipe()
        say(program, f"cannot write to stdout: {reason_of(error)}")
        return CANNOT_WRITE
    return 0


def leave(code: int) -> NoReturn:
    """End the process at once, after the functions that are registered to run at exit."""
    import atexit

    atexit._run_exitfuncs()
    for stream in (
        sys.stdout,
        sys.stderr,
    ):  # not with flush_prints, since its module doubles the time of --version
        try:  # noqa: SIM105  (contextlib's modules take as long)
            stream.flush()
        except (OSError, AttributeError, ValueError):
            pass  # the reader has left, as `head` does, and the exit code says enough
    os._exit(code)
