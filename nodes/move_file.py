"""The move-file node: move or rename a file."""

import os

from pflow.errors import CANNOT_WRITE, Attempt, PflowError
from pflow.files.atomic import move
from pflow.files.beneath import mode_of, status
from pflow.files.file_paths import check_kind, checked_path, claim_file, read_failure, target_in, write_failure
from pflow.node import Node, Shared


class MoveFile(Node):
    """Move or rename a file.

    If the destination is a directory, or ends in a slash, the file keeps its name there; missing directories are made.
    A link itself is moved. The file keeps its mode, ACL, `user.` attributes, holes and times; to move it to another
    file system, it is copied whole, then deleted, so one of the two always exists. The pipe's content goes on.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to move
    - Reads: shared["destination"]: path [explicit] [word]  # its new name, or the directory for it
    - Params: overwrite: bool = true  # replace an existing file; --no-overwrite: fail if the file exists
    - Params: missing_ok: bool = false  # do nothing if the file does not exist
    - Effects: writes files
    - Repeats: no

    Examples:
        date >today.log; pflow-move-file today.log old/
        date >draft.txt; pflow-move-file --path=draft.txt --destination=final.txt --no-overwrite
        pflow-move-file nothing.txt old/ --missing-ok
    """

    def prep(self, shared: Shared) -> tuple[str, str]:
        return checked_path(shared["path"], "move"), checked_path(shared["destination"], "write")

    def exec(self, prepared: tuple[str, str]) -> None:
        path, destination = prepared
        act = f"cannot move '{path}'"
        try:
            check_kind(path, "move", follow=False)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and self.params["missing_ok"]:
                return
            raise read_failure(act, error) from error
        place = target_in(destination, path)
        act = f"{act} to '{place}'"
        with Attempt(act, write_failure):
            if _is_same(path, place):
                raise PflowError(f"{act}: they are the same file", exit=CANNOT_WRITE)
            claim_file(self.claim_file, place, follow=False)
            move(path, place, overwrite=self.params["overwrite"])


def _is_same(path: str, place: str) -> bool:
    """Return True if both names lead to one file: to move it onto itself would delete it."""
    if not mode_of(place, follow=False):
        return False
    there = status(place, follow=False)
    is_link_to_it = mode_of(path) and os.path.samestat(there, status(path))
    return bool(is_link_to_it) or os.path.samestat(there, status(path, follow=False))
