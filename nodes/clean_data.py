"""The clean-data node: strip, convert and deduplicate rows."""

from __future__ import annotations

import os

from pflow.node import Any, Node, Shared


class CleanData(Node):  # not flow_safe: hashing and caching rows takes longer than cleaning them
    """Clean rows: strip white space, convert types, drop empty rows and duplicates.

    Columns are renamed first, then stripped, then converted; then rows are dropped. A value that does not fit its
    column's type becomes null. Dropped rows and values are counted on stderr and in `dropped`. With --strict the
    first one is an error (65) instead, which names its row and column.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # the rows, one object each
    - Writes: shared["rows"]: list[dict] [pipe]  # the rows that are left
    - Writes: shared["dropped"]: dict{empty: int, duplicates: int, values: int}  # counts of dropped rows and values
    - Params: strict: bool = false  # fail instead of dropping anything
    - Params: strip: bool = true  # strip white space around names and texts; --no-strip: keep it
    - Params: drop_empty: bool = true  # drop rows without a value; --no-drop-empty: keep them
    - Params: dedupe: bool = true  # drop duplicate rows; --no-dedupe: keep them
    - Params: unique: list[str] = []  # a column to compare for duplicates; without it, all columns
    - Params: rename: list[str] = []  # OLD=NEW: rename a column
    - Params: types: list[str] = []  # NAME=int, float, bool or str: convert a column; empty becomes null
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data --types=quantity=int --rename=city=town -r
        printf 'a,b\\n1,2\\n1,2\\n' | pflow-load-csv | pflow-clean-data | pflow-get dropped
    """

    def prep(self, shared: Shared) -> Any:
        return shared["rows"]

    def exec(self, rows: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
        from pflow.tables.clean import KINDS, Cleaner, pairs_of
        from pflow.tables.rows import check_rows

        params = self.params
        rename = pairs_of(params["rename"], "rename")
        types = pairs_of(params["types"], "types", KINDS)
        cleaner = Cleaner(check_rows(rows), is_strict=params["strict"])
        cleaner.rename(rename)
        if params["strip"]:
            cleaner.strip()
        cleaner.convert(types)
        if params["drop_empty"]:
            cleaner.drop_empty()
        if params["dedupe"] or params["unique"]:
            cleaner.drop_duplicates(params["unique"])
        return cleaner.rows, cleaner.dropped

    def post(self, shared: Shared, rows: Any, cleaned: tuple[list[dict[str, Any]], Any]) -> None:
        shared["rows"], shared["dropped"] = cleaned
        gone = ", ".join(f"{what} {count:,}" for what, count in shared["dropped"].items() if count)
        if gone:
            os.write(2, f"clean-data: {len(rows):,} rows, dropped: {gone}\n".encode())
