"""The clean-data node: strip, convert and deduplicate rows."""

from pflow.node import Any, Node, Shared
from pflow.terminal.messages import say


class CleanData(Node):  # not flow_safe: hashing and caching rows takes longer than cleaning them
    """Clean rows: strip white space, convert types, drop empty rows, and duplicates if asked to.

    Columns are renamed first, then stripped; empty rows are dropped; then columns are converted, and duplicates
    dropped. A value that does not fit its column's type is an error (65), which names its row and column;
    --misfits=null makes it null, --misfits=drop drops its row. Dropped rows and misfits are counted on stderr, which
    names the first misfit, and in `dropped`. With --strict the first one is an error.

    A column that is str by --types is text to analyze and custom-analysis too, even if it looks like numbers. If
    load-csv --decimal=, left a column as text, 1.234 fits neither int nor float: its point may separate thousands.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # the rows, one object each; a null, as of a failed item, is left out
    - Reads: shared["columns"]: any = null [beside]  # the names of the columns, for a table without rows
    - Reads: shared["text_columns"]: list[str] = [] [beside]  # columns of text, whatever is in them
    - Writes: shared["rows"]: list[dict] [pipe]  # the rows that are left
    - Writes: shared["columns"]: list[str]  # the names of their columns
    - Writes: shared["text_columns"]: list[str]  # those that stay text, or are text by --types
    - Writes: shared["dropped"]: dict{empty: int, duplicates: int, values: int}  # dropped rows and misfits
    - Params: strict: bool = false  # fail instead of dropping anything
    - Params: strip: bool = true  # strip white space around names and texts; --no-strip: keep it
    - Params: drop_empty: bool = true  # drop rows without a value; --no-drop-empty: keep them
    - Params: unique: bool = false  # drop rows that equal an earlier one
    - Params: unique_by: list[str] = []  # drop rows that equal an earlier one in this column; keep rows without it
    - Params: rename: list[str] = []  # OLD=NEW: rename a column
    - Params: types: list[str] = []  # NAME=int, float, bool or str: convert a column; empty becomes null
    - Params: misfits: error|null|drop = "error"  # what becomes of a value that does not fit its column's type
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data --types=quantity=int --rename=city=town -r
        printf 'a,b\\n1,2\\n1,2\\n' | pflow-load-csv | pflow-clean-data --unique | pflow-get dropped
    """

    def prep(self, shared: Shared) -> tuple[Any, Any, Any]:
        return shared["rows"], shared.get("columns"), shared.get("text_columns")

    def exec(self, table: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        from pflow.tables.clean import KINDS, Cleaner, pairs_of
        from pflow.tables.rows import check_rows

        params = self.params
        types = pairs_of(params["types"], "types", KINDS)
        cleaner = Cleaner(check_rows(table[0]), *table[1:], is_strict=params["strict"])
        cleaner.rename(pairs_of(params["rename"], "rename"))
        if params["strip"]:
            cleaner.strip()
        if params["drop_empty"]:
            cleaner.drop_empty()
        cleaner.convert(types, params["misfits"])
        if params["unique"] or params["unique_by"]:
            cleaner.drop_duplicates(params["unique_by"])
        return cleaner.rows, cleaner.names, cleaner.dropped, cleaner.texts

    def post(self, shared: Shared, table: tuple[Any, Any, Any], cleaned: tuple[Any, Any, Any, Any]) -> None:
        shared["rows"], shared["columns"], shared["dropped"], shared["text_columns"] = cleaned
        gone = ", ".join(f"{what} {count:,}" for what, count in shared["dropped"].items() if count)
        if gone:
            say("clean-data", f"{len(table[0]):,} rows, dropped: {gone}")
