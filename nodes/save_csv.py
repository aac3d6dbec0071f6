"""The save-csv node: rows into a CSV file."""

from __future__ import annotations

from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class SaveCsv(Node):
    """Save rows as a CSV file, whole or not at all.

    A column for each name that a row has, in the order in which they first appear. What is null or not there is empty,
    a list or an object its JSON text. The file is UTF-8, its lines end with a newline; it takes the place of one that
    was there.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # an object a row
    - Reads: shared["path"]: path [explicit] [word] [flag file]  # the file to write
    - Params: delimiter: str = ","  # what stands between two columns: one character, or tab
    - Params: header: bool = true  # write the names as the first line
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data | pflow-save-csv out/sales.csv -q
        echo '[{"name": "Ada", "tags": ["a", "b"]}]' | pflow-load-json | pflow-save-csv names.csv --delimiter=tab -q
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Any, Any]:
        return checked_target(shared["path"], "write"), shared["rows"]

    def exec(self, prepared: tuple[Any, Any]) -> None:
        from pflow.tables.csv_text import one_character, write_csv
        from pflow.tables.rows import check_rows

        path, rows = prepared[0], check_rows(prepared[1])
        delimiter = one_character("delimiter", self.params["delimiter"])
        write_whole(path, write_csv(rows, delimiter, header=self.params["header"]))
