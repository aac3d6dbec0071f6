"""The export-dashboard node: export rows or a report as an HTML file."""

from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class ExportDashboard(Node):
    """Export rows or a report as an HTML file: a table, and bars for the first column of numbers.

    The file needs no network and no scripts, and shows data as text, never as markup. For a report, the table has the
    rows of `result`, with the report's text below. The first column without numbers names the bars. The file is written
    whole or not at all, and replaces an existing one.

    Interface:
    - Reads: shared["report"]: any [pipe]  # a report, or rows
    - Reads: shared["result"]: list[dict] = null  # the rows behind a report
    - Reads: shared["text_columns"]: list[str] = [] [beside]  # columns of text, whatever is in them
    - Reads: shared["path"]: path = "dashboard.html" [explicit] [word] [flag file]  # the file to write
    - Params: title: str = "Dashboard"  # the title of the page
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-export-dashboard sales.html --title='Sales of March' -q
    """

    def prep(self, shared: Shared) -> tuple[Any, ...]:
        return checked_target(shared["path"]), *map(shared.get, ("report", "result", "text_columns"))

    def exec(self, prepared: tuple[Any, ...]) -> None:
        from pflow.tables.formats import dashboard

        path, *parts = prepared
        write_whole(path, dashboard(self.params["title"], *parts), claim=self.claim_file)
