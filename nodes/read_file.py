"""The read-file node: read a file exactly."""

from pflow.errors import BAD_DATA, PflowError
from pflow.files.file_paths import check_encoding, checked_path, read_whole
from pflow.node import Node, Shared
from pflow.values.jsontext import text_or_bytes

_BYTES = "bytes"


class ReadFile(Node):
    """Read a file exactly.

    Line ends, a missing final newline and a byte order mark stay unchanged. UTF-8 becomes text, anything else bytes.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to read
    - Writes: shared["content"]: any [pipe]  # its content: text, or bytes if it is not UTF-8
    - Params: encoding: str = null  # the encoding to decode (latin-1, utf-16, …), or bytes: do not decode
    - Effects: reads files

    Examples:
        pflow-read-file --path=examples/notes.txt
        pflow-read-file examples/notes.txt | pflow-write-file copy.txt
        printf 'gr\\374n' > old.txt; pflow-read-file --path=old.txt --encoding=latin-1 -r
        pflow-read-file --path=examples/notes.txt --encoding=bytes -r | wc -c
    """

    def prep(self, shared: Shared) -> str:
        path = checked_path(shared["path"], "read")
        if self.params["encoding"] != _BYTES:
            check_encoding(self.params["encoding"], " or bytes; without it, UTF-8 is text and anything else bytes")
        return path

    def exec(self, path: str) -> str | bytes:
        content: str | bytes = read_whole(path, lambda data: _decode(data, path, self.params["encoding"]))
        return content

    def post(self, shared: Shared, path: str, content: str | bytes) -> None:
        shared["content"] = content


def _decode(data: bytes, path: str, encoding: str | None) -> str | bytes:
    if not encoding:
        return text_or_bytes(data)
    if encoding == _BYTES:
        return data
    try:
        return data.decode(encoding)
    except UnicodeError as error:
        raise PflowError(
            f"cannot read '{path}' as {encoding}: {error}",
            hint="--encoding=bytes does not decode it",
            exit=BAD_DATA,
        ) from None
