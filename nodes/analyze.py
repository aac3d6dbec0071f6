"""The analyze node: analyze rows column by column."""

from pflow.node import Any, Node, Shared


class Analyze(Node):
    """Analyze rows: for each column, report the number of values and missing values, type, range and mean.

    A column of numeric texts counts as numbers, so rows of CSV need no types. A null or an empty text is missing.
    --method=detailed also reports quartiles and the most frequent values; `stats` always has them.

    --sql runs an SQLite query over the table `rows`, and reports its result. In it numeric texts are numbers too, and
    empty values are NULL. To compute with a text that is not a number, such as 6,718, or compare it with a number, is
    an error (65) with its row and column. Integers past 63 bits are compared exactly; to compute with them is an error
    too. A query can only read.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # the rows, one object each; a null, as of a failed item, is left out
    - Reads: shared["columns"]: any = null [beside]  # the names of the columns, for a table without rows
    - Reads: shared["text_columns"]: list[str] = [] [beside]  # columns of text, whatever is in them
    - Writes: shared["report"]: str [pipe]  # a table in Markdown
    - Writes: shared["result"]: list[dict]  # the rows of that table
    - Writes: shared["stats"]: dict{rows: int, columns: dict}  # the statistics of each column
    - Params: method: brief|detailed = "brief"  # how much to report
    - Params: sql: str = null [sql]  # report the result of this query: SELECT … FROM rows
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-analyze
        pflow-load-csv examples/sales.csv | pflow-analyze --sql='SELECT city, sum(price) FROM rows GROUP BY city' -r
        pflow-load-csv examples/sales.csv | pflow-analyze | pflow-get stats.columns.price.median
    """

    def prep(self, shared: Shared) -> tuple[Any, Any, Any]:
        return shared["rows"], shared.get("columns"), shared.get("text_columns")

    def exec(self, table: tuple[Any, Any, Any]) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        from pflow.tables.report import analyze
        from pflow.tables.rows import check_rows

        is_detailed = self.params["method"] != "brief"
        return analyze(check_rows(table[0]), self.params["sql"], *table[1:], is_detailed=is_detailed)

    def post(self, shared: Shared, table: Any, found: tuple[str, dict[str, Any], Any]) -> None:
        shared["report"], shared["stats"], shared["result"] = found
