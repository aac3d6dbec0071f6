"""The input of a data node, from a file or the pipe: its text, or the JSON in it."""

import os
from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.files.file_paths import checked_path, read_whole
from pflow.tables.packed import join, unpack
from pflow.values.encoding import decode_as, not_utf8, recognize, remedy, wide_codec
from pflow.values.fast_json import LARGE, decode
from pflow.values.json_input import place_of
from pflow.values.jsontext import WHITESPACE
from pflow.values.paths import kind_of

STDIN = "stdin"


def read_text(path: Any, text: Any, encoding: str | None = None, *, is_table: bool = False) -> tuple[str, str]:
    """Return a name for errors, and the text of a file, or else the given text, without a byte order mark.

    What is packed is unpacked; for a table, an Excel workbook gives the CSV of its first sheet. Raises
    PflowError: 66 without a path and a text, or without that file, 65 if the encoding does not fit.
    """
    if path is None and text is None:
        hint = "--file=PATH names a file; a text comes through the pipe"
        raise PflowError("cannot read: there is no file and no text", hint=hint, exit=MISSING)
    if path is None and isinstance(text, str) and "\n" not in text and os.path.isfile(text):
        what = f"cannot read '{text}' as a text: it is the name of a file"
        hint = "--each --as=path takes it as the path, in a map the word '$item' does"
        raise PflowError(what, hint=hint, exit=BAD_DATA)
    name = STDIN if path is None else checked_path(path, "read")
    content = text
    is_wide = isinstance(text, str) and text.isascii() and ("\0" in text or (encoding and "\x1b" in text))
    if is_wide or (isinstance(text, str) and recognize(text[:300].encode("utf-8", "replace"))[0]):
        content = text.encode()  # UTF-16, ISO 2022 or a file such as a PDF, which is valid UTF-8 by chance
    if path is not None:
        content = read_whole(name, lambda data: _decode(data, name, encoding, is_table))
    elif isinstance(content, bytes):
        content = _decode(content, name, encoding, is_table)
    if not isinstance(content, str):
        is_names = isinstance(content, list) and bool(content) and all(isinstance(each, str) for each in content)
        hint = "--each --as=path in a flow loads each of its files" if is_names else "it is loaded already"
        raise PflowError(f"cannot read {kind_of(content)}: it is not text", hint=hint, exit=BAD_DATA)
    return name, content.removeprefix("\ufeff")


def _decode(data: bytes, name: str, encoding: str | None, is_table: bool) -> str:
    act = f"cannot read '{name}'"
    is_workbook, parts = unpack([data], act, is_table=is_table)
    data = join(parts, act)
    if encoding and not is_workbook:
        return decode_as(encoding, data, name)
    if wide_codec(data):
        raise PflowError(f"{act}: {not_utf8(data)}", hint=remedy(data), exit=BAD_DATA)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        start = error.start
        line, column = data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
        what = f"{act}: line {line}, byte {column}: it is not UTF-8"
        raise PflowError(what, hint=remedy(data), exit=BAD_DATA) from None


def read_json(text: str, name: str) -> Any:
    """Decode the JSON of a text. Raises PflowError (65) with line and column; 66 if it is empty."""
    if not text.strip(WHITESPACE):
        raise PflowError(f"cannot read '{name}': it is empty", exit=MISSING)
    return _value(text, name, 1)


def read_lines(text: str, name: str) -> list[Any]:
    """Decode each line that is not blank. Raises PflowError (65) with line and column."""
    if len(text) >= LARGE:
        import orjson  # noqa: F401 - so each line is decoded with it
    lines = enumerate(text.split("\n"), 1)
    return [_value(line, name, number) for number, line in lines if line.strip(WHITESPACE)]


def _value(text: str, name: str, first_line: int) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        where = place_of(text, error, first_line=first_line)
        raise PflowError(f"cannot read '{name}': {where}", exit=BAD_DATA) from None
