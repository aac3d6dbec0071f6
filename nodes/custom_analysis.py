"""The custom-analysis node: query rows by SQL."""

from pflow.node import Any, Node, Shared


class CustomAnalysis(Node):
    """Analyze rows by an SQLite query over the table `rows`.

    Numeric texts are numbers there, and empty values are NULL. To compute with a text that is not a number, such as
    6,718, or compare it with a number, is an error (65) with its row and column. Integers past 63 bits are compared
    exactly; to compute with them is an error too. A query can only read.

    Interface:
    - Reads: shared["rows"]: list[dict] [pipe]  # the rows, one object each; a null, as of a failed item, is left out
    - Reads: shared["text_columns"]: list[str] = [] [beside]  # columns of text, whatever is in them
    - Reads: shared["sql"]: str = "SELECT * FROM rows" [own] [word] [sql]  # the query
    - Writes: shared["report"]: str [pipe]  # a table in Markdown
    - Writes: shared["result"]: list[dict]  # the rows of that table
    - Writes: shared["stats"]: dict{rows: int, columns: dict}  # the statistics of each column
    - Effects: none

    Examples:
        pflow-load-csv examples/sales.csv | pflow-custom-analysis 'SELECT city, sum(price) FROM rows GROUP BY city'
    """

    def prep(self, shared: Shared) -> tuple[Any, str, Any]:
        return shared["rows"], shared["sql"], shared.get("text_columns")

    def exec(self, prepared: tuple[Any, str, Any]) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        from pflow.tables.report import analyze
        from pflow.tables.rows import check_rows

        return analyze(check_rows(prepared[0]), prepared[1], None, prepared[2])

    def post(self, shared: Shared, prepared: object, found: tuple[str, dict[str, Any], Any]) -> None:
        shared["report"], shared["stats"], shared["result"] = found
