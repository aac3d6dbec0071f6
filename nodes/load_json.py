"""The load-json node: load the value in a JSON file."""

from pflow.node import Any, Node, Shared


class LoadJson(Node):
    """Load the value in a JSON file.

    Invalid JSON (NaN, a trailing comma) and integers of more than 64 bits are errors, with line and column. Packed
    files (gzip, bzip2, xz, Zstandard) are unpacked.

    Interface:
    - Reads: shared["path"]: path = null [explicit] [word] [flag file]  # the file; without it, the pipe's text
    - Reads: shared["text"]: any = null [pipe]  # JSON text, if --path is not given
    - Writes: shared["data"]: any [pipe]  # the value
    - Params: encoding: str = null  # the encoding of the file; without it, UTF-8
    - Effects: reads files

    Examples:
        pflow-load-json examples/words.pflow.json | pflow-get data.name
        echo '[1, 2]' | pflow-load-json -r
    """

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return shared.get("path"), shared.get("text")

    def exec(self, prepared: tuple[Any, Any]) -> Any:
        from pflow.tables.source import read_json, read_text

        name, text = read_text(*prepared, self.params["encoding"])
        return read_json(text, name)

    def post(self, shared: Shared, prepared: object, data: Any) -> None:
        shared["data"] = data
