"""The save-results node: whatever came of a flow, in a file for people or programs."""

from __future__ import annotations

from pflow.files.file_paths import checked_target, write_whole
from pflow.files.root import hold_below_root
from pflow.node import Any, Node, Shared


class SaveResults(Node):
    """Save results in a file: as JSON, JSON lines, CSV or a table in Markdown.

    The file's name says which (.json, .jsonl, .csv, .md), unless --format does; without a name it is results.json, or
    results with the format's suffix, in the working directory. The file is written whole or not at all, and takes the
    place of one that was there.

    A text is saved as it is in Markdown; in the forms for programs go with it the rows and numbers that analyze
    found: JSON has `results`, `result` and `stats`, the others have the rows of `result`. Where there are none, a text
    that holds an object or a list as JSON is saved as that.

    Interface:
    - Reads: shared["results"]: any [pipe]  # what to save: rows, any other value or a text
    - Reads: shared["result"]: list[dict] = null  # the rows behind a text
    - Reads: shared["stats"]: dict = null  # the numbers behind a text
    - Reads: shared["path"]: path = "results.$format" [explicit] [word] [flag file]  # the file to write
    - Params: format: json|jsonl|csv|md = null  # how to write it; without it the file's name says so, else json
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-analyze | pflow-save-results -q && cat results.json
        pflow-load-csv examples/sales.csv | pflow-save-results sales.jsonl -q
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Any, Any, Any, Any]:
        return checked_target(shared["path"], "write"), shared["results"], shared.get("result"), shared.get("stats")

    def exec(self, prepared: tuple[Any, Any, Any, Any]) -> None:
        from pflow.tables.forms import file_text, format_of

        path, results, result, stats = prepared
        form, path = format_of(path, self.params["format"])
        hold_below_root(path)  # its suffix is known only now
        write_whole(path, file_text(form, results, result, stats))
