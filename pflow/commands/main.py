"""pflow: runs the command, the node or the tool that its first word names."""

from __future__ import annotations

import errno
import os
import sys

from pflow import __version__
from pflow.errors import CANNOT_WRITE, NOT_FOUND, USAGE, PflowError, exit_code
from pflow.stage import failure
from pflow.stage.main import leave
from pflow.stage.signals import die_of_closed_pipe, die_quietly_of_interrupt
from pflow.stage.stdout import ClosedPipe, secure_standard_files, write_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

HELP = """\
Usage: pflow WORD [FLAG]…
       pflow STEP [FLAG]… :: STEP [FLAG]… …

Run the command WORD, or else pflow-WORD: a node or a tool as a stage of a pipe; or a saved flow of that name. Steps
with :: between them, or one argument 'STEP … => STEP …', are a flow.

Commands:
  {commands}
Nodes:
  {nodes}
Tools:
  {tools}

pflow WORD --help tells more of each.
"""


def main() -> NoReturn:
    """Where the executable begins."""
    die_quietly_of_interrupt()
    leave(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """What the words ask for, and the exit code."""
    closed = secure_standard_files()
    try:
        if words[0:1] == ["help"] and len(words) == 2:
            words = [words[1], "--help"]
        own_words = {"--help", "-h", "help", "--version", *names_in("commands")} - {"run"}
        if 1 in closed and words and words[0] in own_words:
            raise PflowError("cannot write to stdout: it is closed", exit=CANNOT_WRITE)
        if not words or words[0] in ("--help", "-h", "help"):
            write_pieces(1 if words else 2, [_help().encode()])
            return 0 if words else USAGE
        if words[0] == "--version":
            write_pieces(1, [f"pflow (pflow-shell {__version__})\n".encode()])
            return 0
        return _run_words(words, closed)
    except ClosedPipe:
        die_of_closed_pipe()
    except PflowError as error:
        failure.say_error("pflow", error, debug=False)
        return error.exit
    except Exception as error:
        bug = failure.from_bug(error)
        bug.__cause__ = error
        failure.say_error("pflow", bug, debug="--debug" in words)
        return bug.exit


def _run_words(words: list[str], closed: list[int]) -> int:
    """Pipe syntax, a command, a node or a saved flow, whichever the words are first. A flow or node gets `closed`."""
    word, rest = words[0], words[1:]
    if _may_be_pipe(words):
        from pflow.flow.pipe import is_pipe

        of_flows = word in ("run", "check", "explain", "export")
        if is_pipe(words) and not (of_flows and not _is_sign(rest[0])):
            return _run_flow(words, closed)
    if word == "run":
        _check_redirection(rest, is_node=not any(map(_is_written_down, rest)))
        return _run_flow(rest, closed)
    if word in names_in("commands"):
        return _run_command(word, rest)
    program = _find_program(word)
    _check_redirection(words, is_node=program is not None)
    if program is None:
        return _run_saved_flow(words, closed)
    _close_again(closed)
    return _run_program(program, word, rest)


def _may_be_pipe(words: list[str]) -> bool:
    """What can be told without the modules that know pipe syntax."""
    return any(map(_is_sign, words)) or " " in words[0] or "\n" in words[0]


def _is_sign(word: str) -> bool:
    return word in ("::", "=>", ">>", "|", ";") or (word[:1] == "=" and word[-2:] == "=>")


def _check_redirection(words: list[str], *, is_node: bool) -> None:
    """Raise PflowError (2) where the shell took a separator for a redirection: `a => b` leaves an = and a file b."""
    has_rest = any(word[:1] == word[-1:] == "=" for word in words)
    if has_rest or (is_node and _is_file(1)):
        from pflow.flow.pipe import taken_for_redirection

        error = taken_for_redirection(words)
        if error is not None:
            raise error


def _is_written_down(word: str) -> bool:
    """Whether a word is a whole flow: then a > after it was meant."""
    return " " in word or "/" in word or word.endswith(".json") or os.path.isfile(word)


def _is_file(fd: int) -> bool:
    try:
        return os.fstat(fd).st_mode & 0o170000 == 0o100000
    except OSError:
        return False


def _run_saved_flow(words: list[str], closed: list[int]) -> int:
    from pflow.flow.subflow import saved_flow

    if saved_flow(words[0]) is None:
        raise _not_found(words[0])
    return _run_flow(words, closed)


def _run_flow(words: list[str], closed: list[int]) -> int:
    from pflow.commands.run import main

    _close_again(closed)
    return main(words)


def _close_again(closed: list[int]) -> None:
    """Let who comes next see for itself what was closed."""
    for fd in closed:
        os.close(fd)


def _run_program(program: str, word: str, words: list[str]) -> int:
    if program.endswith(".py"):
        from pflow.stage.main import main_of_file

        main_of_file(program, word.replace("_", "-"), words)
    try:
        os.execv(program, [program, *words])
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # a script without a #!, which a shell runs as well
            os.execv("/bin/sh", ["/bin/sh", program, *words])
        raise PflowError(f"cannot run '{program}': {error.strerror}", exit=exit_code(error)) from None


def _run_command(word: str, words: list[str]) -> int:
    """A command's click function, with its errors in our words and codes."""
    module = f"pflow.commands.{word.replace('-', '_')}"
    __import__(module)
    from pflow.commands._click import run_click

    return run_click(sys.modules[module].command, word, words)


def _find_program(word: str) -> str | None:
    """pflow-WORD beside this very program, then on PATH, then a user's own node."""
    if "/" in word or not word or word.startswith("-"):
        return None
    beside = os.path.dirname(os.path.abspath(sys.argv[0]))
    for directory in [beside, *os.environ.get("PATH", "").split(os.pathsep)]:
        path = os.path.join(directory, "pflow-" + word)
        if directory and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    from pflow.registry import find_own

    return find_own(word)


def _not_found(word: str) -> PflowError:
    import difflib

    from pflow.flow.kinds import list_kinds
    from pflow.flow.subflow import saved_flows

    shown = word if len(word) <= 60 else word[:59] + "…"
    names = [*(kind.name for kind in list_kinds()), *saved_flows(), *names_in("commands"), *names_in("plumbing")]
    near = difflib.get_close_matches(word, names, 2)
    hint = f"did you mean {' or '.join(near)}?" if near else "pflow --help lists what there is"
    if " " in word and not near:
        hint = "a flow in one argument is 'a => b', its first word a node"
    return PflowError(f"cannot find '{shown}': no such command or node", hint=hint, exit=NOT_FOUND)


def names_in(package: str) -> list[str]:
    """The commands or tools there are: one file each."""
    directory = os.path.join(os.path.dirname(os.path.dirname(__file__)), package)
    files = [file for file in sorted(os.listdir(directory)) if file.endswith(".py") and not file.startswith("_")]
    return [file[:-3].replace("_", "-") for file in files if file != "main.py"]


def _help() -> str:
    from pflow.registry import bundled_names

    return HELP.format(
        commands=" ".join(names_in("commands")), nodes=" ".join(bundled_names()), tools=" ".join(names_in("plumbing"))
    )
