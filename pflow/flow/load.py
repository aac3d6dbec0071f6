"""Loading a flow from a file or a text: JSON, pipe syntax, a shell script of pipes, or the Flow in a Python file."""

from __future__ import annotations

import os
import sys

from pflow import Any, NoReturn
from pflow.catalog.find import Catalog
from pflow.errors import BAD_DATA, MISSING, USAGE, Attempt, PflowError
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import load_document
from pflow.text.printable import clause
from pflow.values.encoding import text_in
from pflow.values.jsontext import WHITESPACE, ScanError, decode, is_deeper, scan_without_duplicates


def load_file(file: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a file: JSON, pipe syntax or a shell script of pipes. Without `catalog`, it has no subflows.

    Raises PflowError (65, 66, 77; 2 for pipe syntax and scripts).
    """
    is_kept = is_lasting(file)
    # A FIFO or /dev/fd/63 lies in no directory, so paths of subflows are relative to the working directory.
    catalog = (catalog or Catalog()).at(os.path.dirname(file) or "." if is_kept else ".")
    text = read_text(file, f"the flow '{file}'")
    if is_kept and is_script(file):
        from pflow.flow.pipe.script import read_script

        flow = read_script(text, catalog)
    else:
        flow = load_text(text, file, catalog)
    flow.file = file if is_kept else ""
    return flow


def is_lasting(file: str) -> bool:
    """Return True for a file that can be read again by its name, as a FIFO, a device or `<(…)` cannot."""
    return os.path.isfile(file) and not file.startswith(("/dev/", "/proc/"))


def is_script(file: str) -> bool:
    """Return True for a shell script, told by its name or its first line."""
    from pflow.process.start import first_bytes  # a flow in pipe syntax has no file

    first = first_bytes(file).partition(b"\n")[0]
    return file.endswith(".sh") or (first.startswith(b"#!") and any(word.endswith(b"sh") for word in first.split()))


_MOST = 64 * 1024 * 1024
"""The most bytes of a flow's file; without a limit, /dev/zero would fill the memory."""


def read_text(file: str | int, what: str) -> str:
    """Read a file, or a descriptor and leave it open; drop a byte order mark. Raises PflowError as `load_file` does."""
    from pflow.catalog.packs import pack_of, verified

    act = f"cannot read {what}"
    # A file of a pack that has changed since its install is refused, since no user has seen the change.
    if isinstance(file, str) and (pack := pack_of(os.path.abspath(file))):
        return text_in(verified(pack, file), act).removeprefix("\ufeff")
    with Attempt(act), open(file, "rb", closefd=isinstance(file, str)) as opened:
        data = opened.read(_MOST + 1)
    if len(data) > _MOST:
        raise PflowError(f"{act}: it has more than 64 MB", exit=BAD_DATA)
    return text_in(data, act).removeprefix("\ufeff")


def load_text(text: str, name: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a text, as `load_file` does; `name` is for errors. Raises PflowError (65; 66 if it is empty)."""
    if not text.strip():
        raise PflowError(f"cannot read the flow '{name}': it is empty", exit=MISSING)
    if name.endswith(".json") or text.lstrip()[0] in '{["':  # pipe syntax begins with a node's name
        return load_document(parse_json(text, name), name, catalog)
    from pflow.flow.pipe.read import parse_pipe

    return parse_pipe([text], catalog)


LEVELS = 100
"""How deep lists and objects may be nested."""

_SHOWN = 30
"""How many characters of a line are shown on either side of an error."""


def parse_json(text: str, name: str, what: str = "flow") -> Any:
    """Parse a JSON text. Raises PflowError (65) with the line and column of the first error."""
    try:
        return _parse(text)
    except ValueError as error:
        raise PflowError(f"cannot read the {what} '{name}': {_fault(text, error)}", exit=BAD_DATA) from None


def _parse(text: str) -> Any:
    value, end = scan_without_duplicates(text, len(text) - len(text.lstrip(WHITESPACE)))
    rest = text[end:].lstrip(WHITESPACE)
    if rest:
        raise ScanError("the JSON ends before this", len(text) - len(rest))
    if is_deeper(value, LEVELS):  # pflow walks a document by recursion, which Python ends at 1,000 calls
        raise ValueError(f"it is nested more than {LEVELS} levels deep")
    data = text.encode()
    return decode(data) if '$bytes"' in text or "\\u" in text else value


def _fault(text: str, error: ValueError) -> str:
    """Say what is wrong and, if known, where: `line 2, column 9: a comma or bracket is missing: "a": 1 ^ "b": 2`."""
    at: int | None = getattr(error, "pos", None)
    if at is None:
        return str(error)
    before, after = text[:at].rpartition("\n")[2], text[at:].partition("\n")[0]
    what = str(getattr(error, "msg", error))
    line, column = text.count("\n", 0, at) + 1, len(before) + 1
    shown = " ".join(f"{before[-_SHOWN:]} ^ {after[:_SHOWN]}".split())
    return f"line {line}, column {column}: {clause(what)}: {shown}"


def load_python(file: str, name: str, catalog: Catalog, *, is_run_here: bool = False) -> FlowSpec:
    """Run a Python file and load the Flow of this name from it; without a `name`, the only one.

    Raises PflowError: 66 for a missing file or name, 78 for a missing import, 2 if no name says which, 65 otherwise.
    """
    from pflow.flow.from_pocketflow import flow_from, remember_arguments
    from pflow.process.streams import Diverted

    if not is_run_here:
        remember_arguments()
    with Diverted():  # text that the file prints must not get into the document on stdout
        module = _run_file(file)
        flow = flow_from(_flow_in(module, name, file), catalog, vars(module), is_run_here=is_run_here)
    if is_run_here:
        set_file(flow, file, name)
    return flow


def set_file(flow: FlowSpec, file: str, name: str) -> None:
    """Set the file of a flow, and its name after the file unless it has one."""
    flow.file = f"{file}:{name}" if name else file
    flow.name = flow.name or os.path.basename(file).removesuffix(".py")


def _run_file(file: str) -> Any:
    """Run a Python file as if it were imported from its own directory, and return its module.

    Meanwhile refuse_to_run replaces the `run` of pocketflow's classes, from which the file's classes derive: pocketflow
    has no hook for this.
    """
    from pflow.catalog.registry import load_module
    from pflow.node import pocketflow

    read_text(file, f"the flow '{file}'")
    # As Python does for a script, so that the file can import its neighbours.
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    run, run_async = pocketflow.BaseNode.run, pocketflow.AsyncNode.run_async
    pocketflow.BaseNode.run = pocketflow.AsyncNode.run_async = refuse_to_run
    try:
        return load_module(file, "pflow_import_" + os.path.basename(file).partition(".")[0], "load")
    finally:
        pocketflow.BaseNode.run, pocketflow.AsyncNode.run_async = run, run_async


def refuse_to_run(flow: Any, shared: Any = None) -> NoReturn:
    """Refuse to run a flow while its file is loaded: it would run twice. Raises PflowError (65)."""
    raise PflowError("it runs a flow when imported", hint='put that below if __name__ == "__main__":', exit=BAD_DATA)


def _flow_in(module: Any, name: str, file: str) -> Any:
    """Return the Flow of a name. Without a name, return the only Flow that is not inside another one.

    If no variable is a Flow, call the only function that makes one.

    Raises PflowError: 66 if there is none, 2 if there are several, 65 if the name stands for something else.
    """
    from pflow.flow.from_pocketflow import nodes_from
    from pflow.interface.source import in_words
    from pflow.node import pocketflow

    if not hasattr(module, name):
        flows = {id(value): each for each, value in vars(module).items() if isinstance(value, pocketflow.Flow)}
        inner = {id(node) for each in flows.values() for node in nodes_from(getattr(module, each).start_node)}
        names = [each for key, each in flows.items() if key not in inner]
        names = names or [each for each, value in vars(module).items() if _makes_flow(value)]
        if name or len(names) != 1:
            what = f"'{name}'" if name else "one Flow" if names else "a Flow"
            hint = " or ".join(f"{file}:{each}" for each in names) or "a variable, or a function that returns it"
            raise PflowError(f"cannot find {what} in '{file}'", hint=hint, exit=MISSING if name or not names else USAGE)
        name = names[0]
    found = getattr(module, name)
    try:
        found = found() if callable(found) else found
    except (Exception, SystemExit) as error:
        raise PflowError(f"cannot make a flow with '{name}': {in_words(error)}", exit=BAD_DATA) from error
    if not isinstance(found, pocketflow.Flow):
        what = f"cannot load '{name}' of '{file}': it is of the type {type(found).__name__}"
        raise PflowError(what, hint="a pocketflow Flow, or a function that makes one", exit=BAD_DATA)
    return found


def _makes_flow(value: Any) -> bool:
    """Return True for a function without required arguments whose code names a class of Flow and runs nothing."""
    from types import FunctionType

    if not isinstance(value, FunctionType) or value.__code__.co_argcount > len(value.__defaults__ or ()):
        return False
    names = value.__code__.co_names
    return any(name.endswith("Flow") for name in names) and not {"run", "run_async", "main"} & {*names}
