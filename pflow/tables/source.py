"""The text that a node for data reads: of a file, or what a pipe carries."""

from __future__ import annotations

import os
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, no_memory
from pflow.file_paths import checked_path, read_failure
from pflow.paths import kind_of

STDIN = "stdin"


def read_text(path: Any, text: Any, encoding: str | None = None) -> tuple[str, str]:
    """The name of what is read, for errors, and its text without a byte order mark; a path counts before a text.

    Raises PflowError: 66 where there is neither or no file, 65 for what its encoding does not decode.
    """
    if path is None and text is None:
        hint = "--file=PATH names one; a text comes through the pipe"
        raise PflowError("cannot read: there is no file and no text", hint=hint, exit=MISSING)
    if path is None and isinstance(text, str) and "\n" not in text and os.path.isfile(text):
        what = f"cannot read '{text}' as a text: it is the name of a file, which an item of --each may be"
        raise PflowError(what, hint="--as=path makes it the path", exit=BAD_DATA)
    name = STDIN if path is None else checked_path(path, "read")
    if path is not None:
        content: Any = _read_file(name)
    elif isinstance(text, str) and encoding:
        content = text.encode()  # what came was UTF-8 by chance
    else:
        content = text
    if isinstance(content, bytes):
        content = _decode(content, name, encoding)
    if not isinstance(content, str):
        is_names = isinstance(content, list) and bool(content) and all(isinstance(each, str) for each in content)
        hint = "--each --as=path in a flow loads each of its files" if is_names else "it is loaded already"
        raise PflowError(f"cannot read {kind_of(content)}: it is no text", hint=hint, exit=BAD_DATA)
    return name, content.removeprefix("\ufeff")


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() or b""
    except OSError as error:
        raise read_failure(f"cannot read '{path}'", error) from error
    except MemoryError as error:
        raise no_memory(f"cannot read '{path}'", error, os.path.getsize(path)) from error


def _decode(data: bytes, name: str, encoding: str | None) -> str:
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line, column = data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
        place = f"line {line}, byte {column}: it is not {encoding or 'UTF-8'}"
        likely = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252 (Windows), latin-1 or another"
        raise PflowError(f"cannot read '{name}': {place}", hint=f"--encoding={likely}", exit=BAD_DATA) from None
    except (LookupError, ValueError):
        hint = "utf-8, latin-1, utf-16, cp1252, …"
        raise PflowError(f"cannot read as '{encoding}': no such encoding", hint=hint, exit=USAGE) from None
