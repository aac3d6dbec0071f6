"""The save-csv node: save rows as a CSV file."""

from __future__ import annotations

from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class SaveCsv(Node):
    """Save rows as a CSV file, whole or not at all.

    The columns are all names in the rows, in order of appearance. A null or missing value is empty, a list or object
    is written as JSON. The file is UTF-8, with a newline after each line, and replaces an existing one.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # the rows, one object each
    - Reads: shared["path"]: path [explicit] [word] [flag file]  # the file to write
    - Params: delimiter: str = ","  # the delimiter: one character, or tab
    - Params: header: bool = true  # write the names as the first line; --no-header: omit them
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data | pflow-save-csv out/sales.csv -q
        echo '[{"name": "Ada", "tags": ["a", "b"]}]' | pflow-load-json | pflow-save-csv names.csv --delimiter=tab -q
    """

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return checked_target(shared["path"]), shared["rows"]

    def exec(self, prepared: tuple[Any, Any]) -> None:
        from pflow.tables.csv_text import delimiter_of, write_csv
        from pflow.tables.rows import check_rows

        path, rows = prepared[0], check_rows(prepared[1])
        delimiter = delimiter_of(self.params["delimiter"])
        write_whole(path, write_csv(rows, delimiter, header=self.params["header"]))
