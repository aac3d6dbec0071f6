"""The export-dashboard node: rows or a report as one HTML file, with a table and a plot."""

from __future__ import annotations

from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class ExportDashboard(Node):
    """Export rows, or a report on some, as one HTML file: a table, and bars for its first column of numbers.

    The file needs nothing else, no network and no script, and all that comes from data is text in it. Of a report the
    rows of `result` are the table, and its text stands below. The first column that is no number names the bars. The
    file is written whole or not at all, and takes the place of one that was there.

    Interface:
    - Reads: shared["report"]: any [pipe]  # a report, or rows
    - Reads: shared["result"]: list[dict] = null  # the rows behind a report
    - Reads: shared["path"]: path = "dashboard.html" [explicit] [word] [flag file]  # the file to write
    - Params: title: str = "Dashboard"  # what stands above it
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-export-dashboard sales.html --title='Sales of March' -q
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Any, Any, Any]:
        return checked_target(shared["path"], "write"), shared["report"], shared.get("result")

    def exec(self, prepared: tuple[Any, Any, Any]) -> None:
        from pflow.tables.dashboard import dashboard

        path, report, result = prepared
        write_whole(path, dashboard(self.params["title"], report, result))
