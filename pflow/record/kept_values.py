"""The values that the visits of a run wrote, as far as its journal kept them.

`kept_values(run)` returns, by the path of a visit (`step@1`, `outer@1/inner@2`) or item (`step@1[DIGEST.N]`), what it
wrote by place, in the spelling of a trace's `write_keys`; None for a run without a journal. `visit_paths(visits)`
returns the path of each visit of a trace, by its number: `kept_values(run)[visit_paths(visits)[number]]["a.b"]`
is a value. Left out is what has a secret in it, what a later visit of the step replaced before the journal was
compacted, and what was removed. Of a visit that ran again, the values are those of the last time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pflow.errors import PflowError
from pflow.record.journal import read_lines
from pflow.record.records import JOURNAL
from pflow.record.runs import read_kept
from pflow.values.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.record.records import Record
    from pflow.record.runs import Run
    from pflow.record.trace import Visit


def kept_values(run: Run) -> dict[str, dict[str, Any]] | None:
    """Return the values that each visit wrote; None without a journal. Raises PflowError (65) if it is damaged."""
    if not os.path.isfile(os.path.join(run.directory, JOURNAL)):
        return None
    try:
        records, _ = read_lines(read_kept(run.directory, JOURNAL))
    except PflowError as error:
        raise error.within(f"cannot read the values of the run {run.id}") from None
    return {record["end"]: _values_in(record) for record in records if record.get("changes")}


def _values_in(record: Record) -> dict[str, Any]:
    """Return the values of a record's changes: one of a secret has a digest, one that was replaced is null."""
    changes = [(path, value[0]) for path, *value in record["changes"] if len(value) == 1]
    return {write_path(path): value for path, value in changes if value is not None or "dropped" not in record}


def visit_paths(visits: Iterable[Visit]) -> dict[int, str]:
    """Return the paths of a trace's visits. Inside an item of a batch it names no item, and finds no values."""
    paths: dict[int, str] = {}
    for visit in visits:
        scope = f"{paths[visit['outer']]}/" if "outer" in visit else ""
        paths[visit["number"]] = f"{scope}{visit['step'].rpartition('/')[2]}@{visit['visit']}"
    return paths
