"""pflow-get: Print the raw value at a path of a store.

Text and bytes are printed raw, anything else as a line of JSON. A text that is not empty gets a newline at its end if
it has none. Without a PATH it prints the value that the pipe carries. After a failed stage it prints nothing, and exits
with that stage's code.

A PATH is written fetch.issue.labels[0].name, raw_texts/doc1.txt or ["odd key"].

\b
pflow-set name=Ada 'tags:=["a","b"]' | pflow-get 'tags[0]' name
pflow-read-file --path=examples/notes.txt | pflow-get >copy.txt
"""

from __future__ import annotations

from pflow import Any
from pflow.binding.sources import NotThere, find
from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.help.spec import spec_of_command
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.process.streams import raw_form, write_pieces
from pflow.stage.document import Document
from pflow.store_commands._store_command import FROM, HELP_FLAGS, StoreCommand, place, run_store_command, take_store
from pflow.terminal.messages import write_stderr
from pflow.values.jsontext import encode
from pflow.values.paths import Path, are_nested, parse_path, type_name, write_path
from pflow.values.types import items_in

SPEC = spec_of_command("pflow-get", __doc__, "pflow-get [-e] [--exact | -0 | -j | --each [-r]] [PATH]…")
SPEC.flags = [
    Flag("exit_status", "print nothing and exit with 1 if a value is missing or null", letter="e"),
    Flag("exact", "add no newline to a text"),
    Flag("null", "end each value with a NUL, and add no newline", letter="0"),
    Flag("json", "print each value as a line of JSON", letter="j"),
    Flag("each", "print each item of a list, and each line of a text, as a line of JSON"),
    Flag("raw", "with --each: print each item raw, on a line of its own", letter="r"),
    FROM,
    *HELP_FLAGS,
]
SPEC.arguments = [argument("PATH", type=TEXTS)]


def work(flags: dict[str, Any], command: StoreCommand) -> int:
    paths = [place(name) for name in flags["path"]]
    intake = take_store(flags["from"])
    document = intake.document
    if intake.kind == "raw":
        raise PflowError("cannot read a store: stdin is raw", hint="--from=json takes a JSON value", exit=BAD_DATA)
    if intake.ended_with is not None:
        return intake.ended_with or document.exit
    paths = paths or [_carried(document)]
    if any(are_nested(path, parse_path(dry)) for path in paths for dry in document.header.get("dry", [])):
        write_stderr(f"get (dry run)\n    would print: {', '.join(map(write_path, paths))}\n")
        return 0
    values = [_value(document, path, is_test=flags["exit_status"]) for path in paths]
    if flags["exit_status"] and None in values:
        return 1
    if flags["each"]:
        values = [item for path, value in zip(paths, values, strict=True) for item in _items(path, value)]
    write_pieces(1, [_form(value, flags) for value in values])
    return document.exit


def _items(path: Path, value: Any) -> list[Any]:
    found = items_in(value)
    if not isinstance(found, list):
        raise PflowError(f"cannot print each item of '{write_path(path)}': it is {type_name(found)}", exit=BAD_DATA)
    return found


def _form(value: Any, flags: dict[str, Any]) -> bytes:
    if flags["null"]:
        return _ended(value, b"\0", "NUL")
    if flags["json"] or (flags["each"] and not flags["raw"]):
        return encode(value) + b"\n"
    if flags["each"]:
        return _ended(value, b"\n", "a newline", "-0, or no -r")
    return raw_form(value, exact=flags["exact"])


def _value(document: Document, path: Path, *, is_test: bool) -> Any:
    try:
        return find(document, path)
    except NotThere as error:
        if is_test:
            return None
        error.hint = "-e tests for it"
        raise


def _carried(document: Document) -> Path:
    if "last" not in document.header:
        raise PflowError("cannot tell which value: the pipe carries no value", hint="name a PATH", exit=MISSING)
    return place(document.header["last"])


def _ended(value: Any, end: bytes, name: str, hint: str = "") -> bytes:
    raw = raw_form(value, exact=True)
    raw = raw if isinstance(value, str | bytes) else raw.removesuffix(b"\n")
    if end in raw:
        raise PflowError(f"cannot end a value with {name}: it contains one", hint=hint, exit=BAD_DATA)
    return raw + end


def main() -> None:
    run_store_command(SPEC, work)
