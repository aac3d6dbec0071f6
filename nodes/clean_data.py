"""The clean-data node: rows without what is empty, twice or badly typed."""

from __future__ import annotations

import os

from pflow.node import Any, Node, Shared


class CleanData(Node):  # not flow_safe: to hash and keep rows unasked takes longer than to clean them
    """Clean rows: no white space around names and texts, no empty rows, none that was there before.

    Columns are renamed first, then stripped, then given types, and then rows are dropped; a value that is not of its
    column's type becomes null. What was dropped is counted on stderr and in `dropped`. With --strict nothing is
    dropped: the first that would be is an error (65), with row and column.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # an object a row
    - Writes: shared["rows"]: list[dict] [pipe]  # those that are left
    - Writes: shared["dropped"]: dict{empty: int, duplicates: int, values: int}  # how many rows, and values made null
    - Params: strict: bool = false  # fail where something would be dropped
    - Params: strip: bool = true  # take white space from around names and texts
    - Params: drop_empty: bool = true  # drop rows without a value
    - Params: dedupe: bool = true  # drop rows that are as one before
    - Params: unique: list[str] = []  # rows with the same values of these columns count as the same
    - Params: rename: list[str] = []  # OLD=NEW, another name for a column
    - Params: types: list[str] = []  # NAME=int, float, bool or str: what a column holds; empty is null
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-clean-data --types=quantity=int --rename=city=town -r
        printf 'a,b\\n1,2\\n1,2\\n' | pflow-load-csv | pflow-clean-data | pflow-get dropped
    """

    version = "1.0.0"

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
