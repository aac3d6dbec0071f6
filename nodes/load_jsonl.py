"""The load-jsonl node: load a file of JSON lines."""

from pflow.node import Any, Node, Shared


class LoadJsonl(Node):
    """Load a file of JSON lines, with a value on each line.

    Blank lines are ignored. A line that is not JSON is an error, with its number and column. Packed files
    (gzip, bzip2, xz, Zstandard) are unpacked.

    Interface:
    - Reads: shared["path"]: path = null [explicit] [word] [flag file]  # the file; without it, the pipe's text
    - Reads: shared["text"]: any = null [pipe]  # JSON lines, if --path is not given
    - Writes: shared["rows"]: list [pipe]  # the values in order, usually objects
    - Params: encoding: str = null  # the encoding of the file; without it, UTF-8
    - Effects: reads files

    Examples:
        printf '{"name": "Ada"}\\n{"name": "Bo"}\\n' | pflow-load-jsonl | pflow-save-csv names.csv -q
    """

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return shared.get("path"), shared.get("text")

    def exec(self, prepared: tuple[Any, Any]) -> list[Any]:
        from pflow.tables.source import read_lines, read_text

        name, text = read_text(*prepared, self.params["encoding"])
        return read_lines(text, name)

    def post(self, shared: Shared, prepared: object, rows: list[Any]) -> None:
        shared["rows"] = rows
