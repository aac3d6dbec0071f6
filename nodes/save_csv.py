"""The save-csv node: save rows as a CSV file."""

from pflow.errors import USAGE, PflowError
from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class SaveCsv(Node):
    """Save rows as a CSV file, whole or not at all.

    The columns are all names in the rows, in order of appearance. A null or missing value is empty, a list is written
    as JSON. The file is UTF-8, with a newline after each line, and replaces an existing one.

    Answers of a model are rows, too: an object is one row, and with --schema-multi each of the `items` is one. In a
    batch with --with-item, each row has its `item` as well. An object in a row becomes a column for each member, such
    as `response.name`.

    --escape-formulas is for files that a spreadsheet will open: it puts an apostrophe before =, +, -, @, a tab or a
    line end at the start of a value or a name, and before =, +, - and @ after a delimiter or a quotation mark. Negative
    numbers stay numbers. The apostrophes stay in the file, so do not use it for data that a program reads.

    Interface:
    - Reads: shared["rows"]: any [pipe]  # the rows, one object each, or answers of a model
    - Reads: shared["columns"]: any = null [beside]  # the header of a table without rows
    - Reads: shared["path"]: path [explicit] [word] [flag file]  # the file to write
    - Params: delimiter: str = null [delimiter]  # one character, or tab; by default tabs in .tsv and .tab, else commas
    - Params: header: bool = true  # write the names as the first line; --no-header: omit them
    - Params: escape_formulas: bool = false  # put ' before what a spreadsheet may take for a formula
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data | pflow-save-csv out/sales.csv -q
        echo '[{"name": "Ada", "tags": ["a", "b"]}]' | pflow-load-json | pflow-save-csv names.csv --delimiter=tab -q
    """

    def prep(self, shared: Shared) -> tuple[Any, Any, Any]:
        return checked_target(shared["path"]), shared["rows"], shared.get("columns")

    def exec(self, prepared: tuple[Any, Any, Any]) -> None:
        from pflow.tables.csv_text import delimiter_of, write_csv
        from pflow.tables.rows import table_rows
        from pflow.tables.source import SUFFIXES, suffix_of

        path, rows, columns = prepared
        if path.lower().endswith((*SUFFIXES, ".zip", ".xlsx", ".xls", ".ods")):
            what = f"cannot write CSV to '{path}': its name says that it is not CSV"
            raise PflowError(what, hint="a name in .csv or .tsv is right", exit=USAGE)
        delimiter = delimiter_of(self.params["delimiter"] or ("tab" if suffix_of(path) in (".tsv", ".tab") else ","))
        columns = columns if rows == [] else None  # an answer without rows has other columns
        form = {"header": self.params["header"], "escapes": self.params["escape_formulas"]}
        text = write_csv(table_rows(rows), delimiter, columns=columns, **form)
        write_whole(path, text, claim=self.claim_file)
