"""The load-csv node: a CSV file as rows."""

from __future__ import annotations

from pflow.node import Any, Node, Shared


class LoadCsv(Node):
    """Load the rows of a CSV file: an object a row, each value a text, under the names of the first line.

    The delimiter is the one of comma, semicolon, tab and | that the first line has most. Quotes may hold line ends and
    doubled quotes; a byte order mark and blank lines are left out. A row with too few or too many columns, a column
    without a name or with another's, and a quote that is not closed are errors, with line and column.

    --infer gives a column a type where all that is in it has that: whole numbers within 64 bits, numbers, true and
    false. 007 stays text, and what is empty becomes null.

    Interface:
    - Reads: shared["path"]: path = null [explicit] [word] [flag file]  # the file; without one, what the pipe carries
    - Reads: shared["text"]: any = null [pipe]  # CSV, where there is no path
    - Writes: shared["rows"]: list[dict] [pipe]  # an object a row
    - Params: delimiter: str = null  # what stands between two columns: one character, or tab
    - Params: quotes: bool = true  # quotation marks go around values; without it they are characters like others
    - Params: encoding: str = null  # decode the file as this (latin-1, cp1252, utf-16, …); without it, UTF-8
    - Params: header: bool = true  # the first line has the names; without it they are c1, c2, …
    - Params: infer: bool = false  # numbers, true and false become what they are, and what is empty null
    - Effects: reads files

    Examples:
        pflow-load-csv examples/sales.csv
        pflow-load-csv --file=examples/sales.csv --infer | pflow-get 'rows[0].quantity'
        printf 'name;age\\nAda;36\\n' | pflow-load-csv -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return shared.get("path"), shared.get("text")

    def exec(self, prepared: tuple[Any, Any]) -> list[dict[str, Any]]:
        from pflow.tables.csv_text import one_character, read_csv
        from pflow.tables.rows import infer
        from pflow.tables.source import read_text

        params = self.params
        delimiter = one_character("delimiter", params["delimiter"]) if params["delimiter"] else None
        name, text = read_text(*prepared, params["encoding"])
        rows = read_csv(text, name, delimiter=delimiter, quotes=params["quotes"], header=params["header"])
        if params["infer"]:
            infer(rows)
        return rows

    def post(self, shared: Shared, prepared: object, rows: list[dict[str, Any]]) -> None:
        shared["rows"] = rows
