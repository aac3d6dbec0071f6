"""The save-results node: save results in a file."""

from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared


class SaveResults(Node):
    """Save results in a file: as JSON, JSON lines, CSV or a Markdown table.

    The format is --format, else that of the file's suffix (.json, .jsonl, .csv, .md). Without a file name it writes
    results.json, or results with the format's suffix, in the working directory. The file is written whole or not at
    all, and replaces an existing one.

    In Markdown a text is saved unchanged. The other formats add the rows and numbers of analyze: JSON has `results`,
    `result` and `stats`, the others only the rows of `result`. Without those, a text with a JSON object or list is
    saved as that object or list. An object or a list in an answer becomes rows of CSV as in pflow-save-csv, which
    describes --escape-formulas, too.

    Interface:
    - Reads: shared["results"]: any [pipe]  # the results: rows, any other value or a text
    - Reads: shared["result"]: list[dict] = null  # the rows behind a text
    - Reads: shared["stats"]: dict = null  # the numbers behind a text
    - Reads: shared["columns"]: any = null [beside]  # the header of a table without rows
    - Reads: shared["path"]: path = "results.$format" [explicit] [word] [flag file]  # the file to write
    - Params: format: json|jsonl|csv|md = null  # the format; without it that of the file's suffix, else json
    - Params: escape_formulas: bool = false  # in CSV put ' before what a spreadsheet may take for a formula
    - Effects: writes files
    - Repeats: yes

    Examples:
        pflow-load-csv examples/sales.csv | pflow-analyze | pflow-save-results -q && cat results.json
        pflow-load-csv examples/sales.csv | pflow-save-results sales.jsonl -q
    """

    def prep(self, shared: Shared) -> tuple[str, list[Any]]:
        contents = [shared.get(key) for key in ("results", "result", "stats", "columns")]
        return checked_target(shared["path"]), contents

    def exec(self, prepared: tuple[str, list[Any]]) -> None:
        from pflow.tables.formats import file_text, format_of

        form, path = format_of(prepared[0], self.params["format"])
        text = file_text(form, *prepared[1], escapes=self.params["escape_formulas"])
        write_whole(path, text, claim=self.claim_file)
