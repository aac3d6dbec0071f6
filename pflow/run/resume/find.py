"""The unfinished run that `pflow run --resume` goes on with: the newest of the same flow, store, flags and place."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.flow.unload import flow_hash
from pflow.run.begin import is_same
from pflow.run.journal.journal import JOURNAL, read_journal
from pflow.run.journal.seal import seal
from pflow.run.log import TRACE
from pflow.run.resume.choices import Choices
from pflow.run.resume.reopen import Reopened
from pflow.run.runs import Run, parse_event, run_directories
from pflow.state_key import state_key

if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow
    from pflow.masks import Secrets
    from pflow.run.begin import Begin


def find_unfinished(begin: Begin, flow: WiredFlow, secrets: Secrets) -> Reopened | None:
    """It, opened again; None where there is none. Raises PflowError as `Reopened` does."""
    wanted = flow_hash(flow)
    seal(begin, secrets, state_key())
    for directory in run_directories():
        path = os.path.join(directory, JOURNAL)
        if not os.path.isfile(path) or not os.path.getsize(path) or _flow_hash_of(directory) != wanted:
            continue
        run = Run(directory)
        if run.exit != 0 and is_same(read_journal(directory).begin, begin):
            return Reopened(run, Choices(), secrets)
    return None


def _flow_hash_of(directory: str) -> str:
    """What the first event of a run says."""
    try:
        with open(os.path.join(directory, TRACE), "rb") as trace:
            return str((parse_event(trace.readline()) or {}).get("flow_hash"))
    except OSError:
        return ""
