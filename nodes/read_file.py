"""The read-file node: read a file exactly."""

from pflow.files.file_paths import checked_path, read_whole
from pflow.node import Node, Shared
from pflow.values.jsontext import BYTES, text_or_bytes


class ReadFile(Node):
    """Read a file exactly.

    Line ends, a missing final newline and a byte order mark stay unchanged, but --encoding drops that of UTF-16.
    UTF-8 becomes text, anything else bytes.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to read
    - Writes: shared["content"]: any [pipe]  # its content: text, or bytes if it is not UTF-8
    - Params: encoding: str = null  # the encoding: latin-1, utf-16, utf-8:replace, …; or bytes: do not decode
    - Effects: reads files

    Examples:
        pflow-read-file --path=examples/notes.txt
        pflow-read-file examples/notes.txt | pflow-write-file copy.txt
        printf 'gr\\374n' > old.txt; pflow-read-file --path=old.txt --encoding=latin-1 -r
        pflow-read-file --path=examples/notes.txt --encoding=bytes -r | wc -c
    """

    def prep(self, shared: Shared) -> str:
        path = checked_path(shared["path"], "read")
        if (encoding := self.params["encoding"] or BYTES) != BYTES:
            from pflow.values.encoding import split_encoding

            split_encoding(encoding)
        return path

    def exec(self, path: str) -> str | bytes:
        content: str | bytes = read_whole(path, lambda data: _decode(data, path, self.params["encoding"]))
        return content

    def post(self, shared: Shared, path: str, content: str | bytes) -> None:
        shared["content"] = content


def _decode(data: bytes, path: str, encoding: str | None) -> str | bytes:
    if not encoding:
        return text_or_bytes(data)
    if encoding == BYTES:
        return data
    from pflow.values.encoding import decode_as

    return decode_as(encoding, data, path)
