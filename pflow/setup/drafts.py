"""Removing what a setup that was killed had written aside and not yet put in its place."""

from __future__ import annotations

import os

from pflow.setup.changes import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.places import Places
    from pflow.setup.record import Record


def sweep(places: Places, record: Record) -> None:
    """Remove drafts of the record, and of files that it names; what holds anything else is another's."""
    for name in _drafts(places.home):
        os.unlink(name)
    digests = {each for known in record.files.values() for each in known}
    for folder in sorted({os.path.dirname(name) for name in record.files}):
        for name in _drafts(places.path(folder)):
            with open(name, "rb") as file:
                is_ours = digest(file.read()) in digests
            if is_ours:
                os.unlink(name)


def _drafts(folder: str) -> list[str]:
    """The files in a folder that are named as pflow.atomic names its drafts."""
    if not os.path.isdir(folder):
        return []
    names = [name for name in os.listdir(folder) if name.startswith(".pflow-") and name.endswith(".tmp")]
    paths = [os.path.join(folder, name) for name in names if len(name) == len(".pflow-.tmp") + 16]
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
