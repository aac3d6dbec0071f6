"""The copy-file node: copy a file, whole or not at all."""

import os
import stat

from pflow.errors import CANNOT_WRITE, Attempt, PflowError
from pflow.files.atomic import copy
from pflow.files.beneath import mode_of, open_file, status
from pflow.files.file_paths import check_kind, checked_path, claim_file, read_failure, target_in, write_failure
from pflow.files.reading import Opened
from pflow.node import Node, Shared


class CopyFile(Node):
    """Copy a file, whole or not at all, whatever its size.

    If the destination is a directory, or ends in a slash, the copy keeps the file's name; missing directories are made.
    Links named as path or destination are followed, but not a link that is in the destination directory. A new file
    gets the source's mode minus the umask, its ACL and its `user.` attributes; a replaced one keeps its own. Holes stay
    holes. The pipe's content goes on.

    Interface:
    - Reads: shared["path"]: path [explicit] [word]  # the file to copy
    - Reads: shared["destination"]: path [explicit] [word]  # the file to write, or the directory for it
    - Params: overwrite: bool = true  # replace an existing file; --no-overwrite: fail if the file exists
    - Effects: reads files, writes files
    - Repeats: yes

    Examples:
        pflow-copy-file examples/notes.txt notes.bak
        pflow-copy-file --path=examples/notes.txt --destination=old/ --no-overwrite
        pflow 'list-files "examples/*.txt" => copy-file --each --destination=old/'
    """

    def prep(self, shared: Shared) -> tuple[str, str]:
        return checked_path(shared["path"], "copy"), checked_path(shared["destination"], "write")

    def exec(self, prepared: tuple[str, str]) -> None:
        path, destination = prepared
        act = f"cannot copy '{path}'"
        with Attempt(act, read_failure):
            check_kind(path, "copy", follow=True)
            opened = Opened(open_file(path, os.O_RDONLY | os.O_NONBLOCK))
        with opened as source:
            place = target_in(destination, path)
            act = f"{act} to '{place}'"
            with Attempt(act, write_failure):
                _check(os.fstat(source), place, act)
                is_link = stat.S_ISLNK(mode_of(place, follow=False))
                if is_link and place != destination:  # a link that was not named may lead anywhere
                    raise PflowError(f"{act}: it is a link", hint="give its name as the destination", exit=CANNOT_WRITE)
                claim_file(self.claim_file, place)
                copy(source, place, overwrite=self.params["overwrite"])


def _check(source: os.stat_result, place: str, act: str) -> None:
    """Refuse a source that is not a regular file, or that is the target itself. Raises PflowError."""
    if not stat.S_ISREG(source.st_mode):
        raise PflowError(f"{act}: it is not a regular file", exit=CANNOT_WRITE)
    if mode_of(place) and os.path.samestat(source, status(place)):
        raise PflowError(f"{act}: they are the same file", exit=CANNOT_WRITE)
