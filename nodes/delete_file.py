"""The delete-file node: delete a file."""

import os

from pflow.files.beneath import locate
from pflow.files.file_paths import HINTS, check_kind, checked_path, read_failure
from pflow.node import Node, Shared


class DeleteFile(Node):
    """Delete a file.

    A link itself is deleted, not its target; a directory never is. The pipe's content goes on.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to delete
    - Params: missing_ok: bool = false  # do nothing if the file does not exist
    - Effects: writes files
    - Repeats: no

    Examples:
        date >draft.txt; pflow-delete-file draft.txt
        pflow-delete-file --path=draft.txt --missing-ok
        touch a.tmp b.tmp; pflow 'list-files "*.tmp" => delete-file --each'
    """

    def prep(self, shared: Shared) -> str:
        return checked_path(shared["path"], "delete")

    def exec(self, path: str) -> None:
        try:
            check_kind(path, "delete", follow=False)
            with locate(path, follow=False) as place:
                os.unlink(place.name, dir_fd=place.folder)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self.params["missing_ok"]:
                return
            failure = read_failure(f"cannot delete '{path}'", error)
            failure.hint = HINTS.get(error.errno, "")
            raise failure from error
