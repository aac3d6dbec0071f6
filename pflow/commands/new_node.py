"""pflow new-node: Write a node of your own to start from.

The node puts a heading above a text; change it to do your work. In Python it is a class in NAME.py, in other languages
a program, pflow-NAME. It is written to $XDG_DATA_HOME/pflow/nodes/ (~/.local/share/pflow/nodes/), where pflow finds it
at once, and its path is printed. An existing file is never overwritten.

The exit code is 0; 2 for an invalid name; 73 if a node of that name exists already.

\b
pflow new-node heading && echo 'to be or not' | pflow heading -r
pflow new-node loud --lang=sh --dir=nodes && PFLOW_NODES=$PWD/nodes pflow loud --help
pflow new-node heading --lang=js --print >pflow-heading
"""

import keyword
import os

from pflow.catalog.find import BUNDLED, STORE_COMMAND, find_node
from pflow.catalog.registry import PACKAGE, names_in, needed_directory
from pflow.commands._command import Command
from pflow.errors import CANNOT_WRITE, USAGE, Attempt, PflowError, not_written, shorten
from pflow.files.atomic import replace
from pflow.files.directories import make_private
from pflow.interface.interface import PATH, Flag, argument, choice
from pflow.process.streams import write_pieces
from pflow.terminal.messages import write_stderr

PYTHON = "python"
LANGUAGES = {PYTHON: PYTHON, "sh": "sh", "bash": "sh", "js": "js"}
"""The values of --lang, each with the name of its template."""

_GOOD = "lower-case words with dashes between them: count-words"


@Command(
    __doc__,
    Flag("lang", "the language: python (default), sh, bash, js", type=choice(*LANGUAGES), default=PYTHON),
    Flag("dir", "write it to DIR, instead of where pflow finds it by itself", type=PATH, metavar="DIR"),
    Flag("print", "print the node instead of writing a file"),
    argument("NAME", required=True),
)
def command(name: str, lang: str, dir: str | None, print: bool) -> None:
    _check_name(name)
    with open(os.path.join(PACKAGE, "commands", f"new_node_{LANGUAGES[lang]}.txt"), encoding="utf-8") as template:
        text = template.read().replace("@name@", name).replace("@Class@", _class_name(name))
    if lang == "bash":
        text = text.replace("#!/bin/sh", "#!/usr/bin/env bash", 1)
    if print:
        write_pieces(1, [text.encode()])
        return
    folder = dir or needed_directory("nodes", "your nodes", hint="--dir=DIR")
    module, program = os.path.join(folder, name.replace("-", "_") + ".py"), os.path.join(folder, "pflow-" + name)
    found = None if dir else find_node(name)
    there = next(filter(os.path.lexists, (module, program)), found.file if found else None)
    if there is not None:
        hint = "choose another name" if dir else "choose another name, or --dir=DIR"
        raise PflowError(f"cannot make the node '{name}': '{there}' exists already", hint=hint, exit=CANNOT_WRITE)
    file = module if lang == PYTHON else program
    with Attempt(f"cannot write '{file}'", lambda act, error: not_written(act, error, "--dir=DIR")):
        if not dir:
            make_private(folder)
        replace(file, text, mode=0o666 if lang == PYTHON else 0o777, overwrite=False)
    write_pieces(1, [os.fsencode(file) + b"\n"])
    if os.isatty(2):
        word = os.path.join(os.curdir, file) if dir else name
        write_stderr(f"try it: echo 'to be or not' | pflow {word}\n        pflow test-node {file}\n")


def _check_name(name: str) -> None:
    """Raise PflowError (2) for an invalid name, or the name of a command, a node or a tool of pflow.

    A name is lower-case words of letters and digits with dashes between them, and begins with a letter.
    """
    is_plain = name.isascii() and name == name.lower() and name[:1].isalpha()
    if not (is_plain and all(word.isalnum() for word in name.split("-"))) or name.startswith("pflow-"):
        hint = f"its name is what follows pflow-: {name[6:]}" if name.startswith("pflow-") else _GOOD
        raise PflowError(f"cannot call a node '{shorten(name)}'", hint=hint, exit=USAGE)
    found = find_node(name)
    is_own = found is not None and found.origin in (BUNDLED, STORE_COMMAND)
    if is_own or name in (*names_in("commands"), "help", "flow"):
        raise PflowError(f"cannot call a node '{name}': pflow has one of that name", hint="choose another", exit=USAGE)


def _class_name(name: str) -> str:
    """Return CountWords for count-words, but NodeNode and NoneNode for names that pflow or Python uses itself."""
    title = "".join(word.title() for word in name.split("-"))
    return title + "Node" if keyword.iskeyword(title) or title == "Node" else title
