"""The read-file node: a file's content, exactly."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, USAGE, PflowError, no_memory
from pflow.file_paths import checked_path, read_failure
from pflow.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Any

_BYTES = "bytes"


class ReadFile(Node):
    """Read a file, exactly as it is.

    Line ends, a missing last newline and a byte order mark stay. What is UTF-8 becomes text, anything else bytes.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to read
    - Writes: shared["content"]: any [pipe]  # what it holds: text, or bytes when it is not UTF-8
    - Params: encoding: str = null  # decode it as this (latin-1, utf-16, …) or not at all; bytes leaves it as it is
    - Effects: reads files

    Examples:
        pflow-read-file --path=examples/notes.txt
        pflow-read-file examples/notes.txt | pflow-write-file copy.txt
        printf 'gr\\374n' > old.txt; pflow-read-file --path=old.txt --encoding=latin-1 -r
        pflow-read-file --path=examples/notes.txt --encoding=bytes -r | wc -c
    """

    version = "1.0.0"

    def prep(self, shared: Mapping[str, Any]) -> str:
        path = checked_path(shared["path"], "read")
        _check_encoding(self.params["encoding"])
        return path

    def exec(self, path: str) -> str | bytes:
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read()
            return _decode(data or b"", path, self.params["encoding"])
        except OSError as error:
            raise read_failure(f"cannot read '{path}'", error) from error
        except MemoryError as error:
            raise no_memory(f"cannot read '{path}'", error, os.path.getsize(path)) from error

    def post(self, shared: MutableMapping[str, Any], path: str, content: str | bytes) -> None:
        shared["content"] = content


def _check_encoding(encoding: str | None) -> None:
    if not encoding or encoding == _BYTES:
        return
    try:
        b" ".decode(encoding, "ignore")
    except (LookupError, ValueError):
        raise PflowError(
            f"cannot read as '{encoding}': no such encoding",
            hint="utf-8, latin-1, utf-16, cp1252, … or bytes; without it, UTF-8 is text and anything else bytes",
            exit=USAGE,
        ) from None


def _decode(data: bytes, path: str, encoding: str | None) -> str | bytes:
    if encoding == _BYTES:
        return data
    try:
        return data.decode(encoding or "utf-8")
    except UnicodeError as error:
        if not encoding:
            return data
        raise PflowError(
            f"cannot read '{path}' as {encoding}: {error}",
            hint="--encoding=bytes leaves it as it is",
            exit=BAD_DATA,
        ) from None
