"""The analyze node: what is in rows, as a report and as numbers."""

from __future__ import annotations

from pflow.node import Any, Node, Shared


class Analyze(Node):
    """Analyze rows: for each column how many values, how many are missing, which kind, their range and their mean.

    Texts that are all numbers count as numbers, so rows of CSV need no types. What is null or an empty text is missing.
    --method=detailed reports quartiles and the most frequent values too; `stats` always has them.

    --sql runs one query of SQLite over the table `rows`, and reports what it gives. There too texts that are all
    numbers are numbers, and what is empty is NULL. It can only read.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # an object a row
    - Writes: shared["report"]: str [pipe]  # a table in Markdown
    - Writes: shared["result"]: list[dict]  # the rows of that table
    - Writes: shared["stats"]: dict{rows: int, columns: dict}  # for each column of what is reported its numbers
    - Params: method: brief|detailed = "brief"  # how much to report
    - Params: sql: str = null  # report what this query gives: SELECT … FROM rows
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-analyze
        pflow-load-csv examples/sales.csv | pflow-analyze --sql='SELECT city, sum(price) FROM rows GROUP BY city' -r
        pflow-load-csv examples/sales.csv | pflow-analyze | pflow-get stats.columns.price.median
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> Any:
        return shared["rows"]

    def exec(self, rows: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        from pflow.tables.report import analyze
        from pflow.tables.rows import check_rows

        return analyze(check_rows(rows), self.params["sql"], is_detailed=self.params["method"] == "detailed")

    def post(self, shared: Shared, rows: Any, found: tuple[str, dict[str, Any], Any]) -> None:
        shared["report"], shared["stats"], shared["result"] = found
