"""The write-file node: write a file, whole or not at all."""

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.files.file_paths import checked_target, write_whole
from pflow.node import Any, Node, Shared
from pflow.process.streams import raw_form
from pflow.values.paths import type_name


class WriteFile(Node):
    """Write a file, whole or not at all.

    Text and bytes are written exactly, anything else as one line of JSON; but in a file whose name ends in .csv, rows
    are written as by pflow-save-csv. The new content is written to a temporary file, which then replaces the old one in
    one step, so a failure at any moment leaves the old content. A file keeps its mode, ACL and `user.` attributes; a
    link is followed; missing directories are made. Pipes and devices are written to directly.

    With --format=text or markdown the content must be a text; it is written unchanged.

    --append adds to the file, and ends a text with a newline unless it is empty, has one, or --exact is given. A
    failure or a signal undoes the addition. Only kill -9 or a power cut in the middle may leave a part of it at the
    end; a new file is still whole or not there at all.

    Interface:
    - Reads: shared["content"]: any [pipe]  # the content
    - Reads: shared["path"]: path [explicit] [word]  # the file to write
    - Params: format: any|text|markdown = "any"  # refuse content that is not text
    - Params: append: bool = false  # add the content to the end of the file
    - Params: exact: bool = false  # with --append or -r: do not add a newline to the text
    - Params: overwrite: bool = true  # replace an existing file; --no-overwrite: fail if the file exists
    - Effects: writes files
    - Repeats: unless append

    Examples:
        echo 'Hello' | pflow-write-file --path=hello.txt
        pflow-read-file --path=examples/notes.txt | pflow-write-file --path=out/copy.txt -q
        date | pflow-write-file times.log --append -q
        echo 'first' | pflow-write-file --path=once.txt --no-overwrite -q
    """

    def prep(self, shared: Shared) -> tuple[str, Any]:
        if self.params["append"] and not self.params["overwrite"]:
            raise PflowError(
                "cannot append to a file and also refuse an existing one",
                hint="use either --append or --no-overwrite",
                exit=USAGE,
            )
        content, format = shared["content"], self.params["format"]
        if format != "any" and not isinstance(content, str):
            hint = "format-json makes a text of it"
            raise PflowError(f"cannot write {type_name(content)} as {format}: it is not text", hint=hint, exit=BAD_DATA)
        return checked_target(shared["path"]), content

    def exec(self, prepared: tuple[str, Any]) -> None:
        path, content = prepared
        adds, hint = self.params["append"], "--overwrite replaces it, --append adds to it"
        if isinstance(content, list | dict) and path.lower().endswith(".csv"):
            from pflow.tables.formats import file_text

            if adds:
                what = f"cannot append rows to '{path}': their columns may differ"
                raise PflowError(what, hint="save-csv writes all rows at once", exit=BAD_DATA)
            content = file_text("csv", content, None, None)
        data = content if isinstance(content, str) else raw_form(content)
        if adds and not self.params["exact"] and isinstance(data, str) and not data.endswith("\n"):
            data += "\n" * bool(data)
        overwrite, claim = self.params["overwrite"], self.claim_file
        write_whole(path, data, claim=claim, adds=adds, overwrite=overwrite, instead=hint)
