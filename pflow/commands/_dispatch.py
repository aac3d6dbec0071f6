"""Dispatch `pflow WORD…` to a command, a node, a store command, a saved flow, pipe syntax or a sentence."""

from __future__ import annotations

import os
import sys

from pflow import Any, NoReturn
from pflow.catalog.registry import PACKAGE, names_in
from pflow.errors import BAD_DATA, MISSING, NOT_FOUND, USAGE, PflowError, own_error, shorten
from pflow.flow.pipe.scan import is_cut_separator, secret_flags, separates
from pflow.process.signals import ClosedPipe, die_of_closed_pipe
from pflow.process.streams import closed_stdout, is_readable, secure_standard_files, write_pieces
from pflow.terminal.messages import say, say_error

_OF_FLOWS = ("run", "check", "explain", "export", "save", "plan")
"""The commands whose words may be pipe syntax."""

_RUNS = ("run", "resume", "replay")
"""The commands that run a flow; with -q they need no stdout."""

_LATE = ("install", "uninstall", "update")
"""The newer commands. A user may have saved a flow under such a name before the command existed."""


def run(words: list[str]) -> int:
    """Run the command line `words`, and return the exit code."""
    closed = secure_standard_files()
    try:
        return _run(words, closed)
    except ClosedPipe:
        die_of_closed_pipe()
    except PflowError as error:
        return _fail(words, error)
    except Exception as error:
        return _fail(words, own_error(error), debug="--debug" in words)


def _fail(words: list[str], error: PflowError, *, debug: bool = False) -> int:
    """Print an error, also as JSON for a command with --json. (The --json of a run is the form of its store.)

    Words that would print a store also print an error document; so does `pflow trace` of a store if its words are
    wrong. But nothing is written to a file, since the shell may have taken the > of a separator for a redirection.
    """
    from pflow.values.secrets import mask_flags

    mask_flags(error, words, secret_flags(" ".join(words)))
    say_error("pflow", error, debug=debug)
    first = words[0] if words else ""
    is_command = first in names_in("commands")
    if is_command and first not in _RUNS:
        from pflow.commands._command import say_in_json

        if say_in_json(words, error):
            return error.exit
    is_wrong_use = error.exit == USAGE and first in ("trace", "map")
    if not _is_file(1) and (not is_command or first in _RUNS or is_wrong_use):
        from pflow.driver.arguments import without_bare
        from pflow.stage.output import Output

        if first == "map":
            from pflow.map.rows import MapOutput as Output
        output = Output(without_bare(words))
        output.hand_on_error(shorten(first) if len(first.split()) == 1 else "pflow", error, error.store)
    return error.exit


def _run(words: list[str], closed: list[int]) -> int:
    """Run the words as pipe syntax, a command, a node, a saved flow or a sentence, whichever fits first.

    `closed` are the standard files that were closed at the start; they are closed again before a flow or node runs.
    """
    asked = [word for word in words[1:] if word != "--"] if words[:1] == ["help"] else []
    is_help = len(asked) == 1 and _has_own_help(asked[0])
    words = [*["run"] * asked[0].startswith("flow:"), *asked, "--help"] if is_help else words
    commands = names_in("commands")
    if not words and is_readable():
        what = "cannot run pflow without a word: something comes through the pipe"
        raise PflowError(what, hint="pflow --help lists the commands", exit=USAGE)
    words = words or ["--help"]
    if 1 in closed and words[0] not in _RUNS and words[0] in ("--help", "-h", *commands):
        raise closed_stdout()
    word, rest = words[0], words[1:]
    if word in ("--help", "-h") or (word.startswith("-") and word.strip("-") and not _is_pipe(words)):
        return _print_help_or_version(words)
    if _is_pipe(words) and not (word in _OF_FLOWS and not separates(rest[0])):
        return _run_flow(words, closed)
    if word == "run":
        _check_redirection(rest, is_node=not any(map(_is_written_down, rest)))
        return _run_flow(rest, closed)
    if word in commands:
        if word in _LATE:
            _say_flow_is_shadowed(word)
        _close_again(closed if word in _RUNS else [])
        return _run_command(word, rest)
    program = _find_program(word)
    _check_redirection(words, is_node=program is not None)
    if program is None:
        return _run_saved_flow_or_sentence(words, closed)
    _close_again(closed)
    return _run_program(program, word, rest, is_help=is_help)


def _print_help_or_version(words: list[str]) -> int:
    """Print pflow's help or version, even with wrong flags. Raises PflowError (2) if the words ask for neither."""
    from pflow.commands.help import DRIVER, driver_help
    from pflow.stage.flags import values_of
    from pflow.stage.words import is_asked, take_words

    if not is_asked("help", words, DRIVER.fields):
        if is_asked("version", words, DRIVER.fields):
            return _run_command("version", [])
        values_of(take_words(words[:1], DRIVER.fields), DRIVER.fields)
    write_pieces(1, [driver_help().encode()])
    return 0


def _has_own_help(word: str) -> bool:
    """Return True if `pflow help WORD` should run WORD --help, since WORD is a command, node, flow or pipe syntax."""
    from pflow.catalog.registry import saved_flow

    is_known = len(word.split()) > 1 or word in names_in("commands") or _find_program(word) is not None
    return is_known or saved_flow(word.removeprefix("pflow-").removeprefix("flow:")) is not None


def _is_pipe(words: list[str]) -> bool:
    if not any(map(separates, words)) and not {" ", "\t", "\n"} & set(words[0]):
        return False  # so most commands need not load the modules of pipe syntax
    if os.path.isfile(words[0]):
        return False
    from pflow.flow.pipe.scan import is_pipe

    return is_pipe(words)


def _check_redirection(words: list[str], *, is_node: bool) -> None:
    """Raise PflowError (2) if the shell took a separator for a redirection: from `a => b`, pflow gets `a =`."""
    if any(map(is_cut_separator, words)) or (is_node and _is_file(1)):
        from pflow.flow.pipe.scan import taken_for_redirection

        error = taken_for_redirection(words)
        if error is not None:
            raise error


def _is_written_down(word: str) -> bool:
    """Return True for a word that is a whole flow: a > after it is meant as a redirection."""
    return " " in word or "/" in word or word.endswith(".json") or os.path.isfile(word)


def _is_file(fd: int) -> bool:
    try:
        return os.fstat(fd).st_mode & 0o170000 == 0o100000
    except OSError:
        return False


def _run_saved_flow_or_sentence(words: list[str], closed: list[int]) -> int:
    from pflow.catalog.registry import saved_flow

    for name in (
        words[0],
        words[0].removeprefix("pflow-"),
        # `pflow save --command` makes a program called pflow-NAME.
    ):
        if saved_flow(name) is not None:
            return _run_flow([name, *words[1:]], closed)
    if is_sentence(words[0]):
        from pflow.commands._run_sentence import main

        return main(words, closed)
    raise _not_found(words)


def _not_found(words: list[str]) -> PflowError:
    """Return the error (127) for words that pflow does not know, with the nearest names."""
    from pflow.catalog.find import fault_of, list_types, version_hint
    from pflow.catalog.registry import saved_flows
    from pflow.flow.load import is_script
    from pflow.flow.pipe.scan import split_name
    from pflow.text.naming import did_you_mean, likely, nearest

    word = words[0]
    if fault := fault_of(word):
        return PflowError(f"cannot run '{word}': {fault}", exit=NOT_FOUND)
    nodes = [node_type.name for node_type in list_types()]
    near = likely(word, [*nodes, *saved_flows(), *names_in("commands"), *names_in("store_commands")], 2)
    hint = version_hint(word) or did_you_mean(*near) or "pflow --help lists all commands"
    if len(word.split()) > 1:
        like = did_you_mean(nearest(split_name(_words_of(word)[0])[0], nodes))
        hint = like or "a flow in one argument is 'a => b', and its first word is a node"
    elif len(words) > 2 and not near and not any(each.startswith("-") for each in words):
        hint = "a sentence is one argument: put quotes around it"
    if word.endswith(".py") and os.path.isfile(word):
        hint = f"pflow run {word} runs its flow, pflow ./{word} its node"
    elif os.path.isfile(word) and is_script(word):
        hint = f"pflow run {word} runs it as a flow, pflow import {word} makes one of it"
    return PflowError(f"cannot find '{shorten(word)}': no such command or node", hint=hint, exit=NOT_FOUND)


def _run_flow(words: list[str], closed: list[int]) -> int:
    from pflow.driver.driver import Driver

    _close_again(closed)
    return Driver().run(words)


def _say_flow_is_shadowed(word: str) -> None:
    """Print once how to run a user's saved flow whose name has become a command."""
    from pflow.catalog.registry import own_flow
    from pflow.files.atomic import write_cached
    from pflow.files.directories import state_directory

    told = os.path.join(state_directory() or os.devnull, f"{word}-is-a-command")
    if own_flow(word) is not None and not os.path.exists(told):
        say("pflow", f"the saved flow '{word}' runs as pflow run flow:{word} now")
        write_cached(told, b"")


def _close_again(closed: list[int]) -> None:
    """Close standard files again, so that the next flow or program finds them closed."""
    for fd in closed:
        os.close(fd)


def _run_program(program: str, word: str, words: list[str], *, is_help: bool) -> int:
    """Run a Python class, a pack's program, or a program with an interface as a stage; exec any other program.

    Raises PflowError (66) for the help of a program without an interface, which pflow would have to run.
    """
    name = os.path.splitext(os.path.basename(program).removeprefix("pflow-"))[0]
    name = name.replace("_", "-") if program.endswith(".py") else name
    from pflow.catalog.node_type import has_interface
    from pflow.catalog.packs import pack_of

    if os.path.dirname(os.path.dirname(program)) == PACKAGE:  # in a zipapp there are no executables for nodes
        sys.argv = [f"pflow-{name}", *words]
        _run_bundled(program, name)
    if program.endswith(".py") or has_interface(program) or pack_of(os.path.abspath(program)):
        from pflow.catalog.find import is_node_name
        from pflow.stage.main import main_of_file

        if not is_node_name(name):
            hint = "a node's name has letters, digits, - and _ only"
            raise PflowError(f"cannot run '{program}': '{name}' is not a valid node name", hint=hint, exit=BAD_DATA)
        main_of_file(program, name, words)
    from pflow.catalog.find import launcher
    from pflow.process.start import mark_as_body, start_program

    if is_help and launcher(os.path.basename(program)) != program:
        hint = f"pflow {word} --help runs it and asks the program itself"
        raise PflowError(f"cannot show the help of '{program}': it has no interface", hint=hint, exit=MISSING)
    mark_as_body(program, name)
    return start_program(program, lambda begin: os.execv(begin[0], [*begin, *words]))


def _run_bundled(file: str, name: str) -> NoReturn:
    """Run one of pflow's own nodes or store commands, by its file, with the words of sys.argv."""
    if os.path.basename(os.path.dirname(file)) == "store_commands":
        module = f"pflow.store_commands.{name.replace('-', '_')}"
        __import__(module)
        sys.modules[module].main()
    from pflow.stage.main import main

    main(name)


def _run_command(word: str, words: list[str]) -> int:
    from pflow.commands._command import run_command

    name = f"pflow.commands.{word.replace('-', '_')}"
    __import__(name)
    module: Any = sys.modules[name]
    return run_command(module.command, words)


def _find_program(word: str) -> str | None:
    if "/" in word:
        return word if _is_node_file(word) else None
    word = word.removeprefix("pflow-")  # the guard of a program started by its bare name passes it on so
    if not word or word.startswith("-"):
        return None
    from pflow.catalog.find import BUNDLED, STORE_COMMAND, find_node, launcher

    found = find_node(word)
    if found is None:
        return None
    started_by = launcher(f"pflow-{found.name}") if found.origin in (BUNDLED, STORE_COMMAND) else None
    return started_by or found.file


def _is_node_file(file: str) -> bool:
    from pflow.catalog.node_type import has_interface

    name = os.path.basename(file)
    return os.path.isfile(file) and (name.startswith("pflow-") or name.endswith(".py") or has_interface(file))


def is_sentence(text: str) -> bool:
    """Return True if a text is a sentence for a model, which costs money.

    It is not one if its first word (after `pflow`) is a misspelt node, or if a flag or a separator follows that word.
    """
    from pflow.flow.pipe.scan import is_flag_in_text, is_misspelt_step

    words = _words_of(text)
    begins_step = len(words) > 1 and (is_flag_in_text(words[1]) or separates(words[1]) or is_misspelt_step(text))
    return len(words) > 1 and not begins_step


def _words_of(text: str) -> list[str]:
    """Split a text into words, without a `pflow` at its beginning, which a pasted command has."""
    words = text.split()
    return words[words[:1] == ["pflow"] :]
