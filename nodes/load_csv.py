"""The load-csv node: load the rows of a CSV file."""

from __future__ import annotations

from pflow.node import Any, Node, Shared


class LoadCsv(Node):
    """Load the rows of a CSV file as objects of texts, with the names in the first line.

    The delimiter is the most frequent one of comma, semicolon, tab and | in the first line. Quoted values may contain
    line ends and doubled quotes; a byte order mark and blank lines are ignored. A row with too few or too many columns,
    a column without a name or with the name of another, and an open quote are errors, with line and column.

    --infer converts a column if all its values fit: to whole numbers of 64 bits, to numbers, to true and false. 007
    stays a text, and an empty value becomes null.

    Interface:
    - Reads: shared["path"]: path = null [explicit] [word] [flag file]  # the file; without it, the pipe's text
    - Reads: shared["text"]: any = null [pipe]  # CSV text, if --path is not given
    - Writes: shared["rows"]: list[dict] [pipe]  # the rows, one object each
    - Params: delimiter: str = null  # the delimiter: one character, or tab
    - Params: quotes: bool = true  # quotation marks enclose values; --no-quotes: they are ordinary characters
    - Params: encoding: str = null  # the encoding of the file: latin-1, cp1252, utf-16, …; without it, UTF-8
    - Params: header: bool = true  # the first line has the names; --no-header: they are c1, c2, …
    - Params: infer: bool = false  # convert columns of numbers and of true and false; empty becomes null
    - Effects: reads files

    Examples:
        pflow-load-csv examples/sales.csv
        pflow-load-csv --file=examples/sales.csv --infer | pflow-get 'rows[0].quantity'
        printf 'name;age\\nAda;36\\n' | pflow-load-csv -r
    """

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return shared.get("path"), shared.get("text")

    def exec(self, prepared: tuple[Any, Any]) -> list[dict[str, Any]]:
        from pflow.tables.csv_text import delimiter_of, read_csv
        from pflow.tables.rows import infer
        from pflow.tables.source import read_text

        params = self.params
        delimiter = delimiter_of(params["delimiter"]) if params["delimiter"] else None
        name, text = read_text(*prepared, params["encoding"])
        rows = read_csv(text, name, delimiter=delimiter, quotes=params["quotes"], header=params["header"])
        if params["infer"]:
            infer(rows)
        return rows

    def post(self, shared: Shared, prepared: object, rows: list[dict[str, Any]]) -> None:
        shared["rows"] = rows
