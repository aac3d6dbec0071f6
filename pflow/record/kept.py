"""A flow as a run kept it, loaded again from the run's directory, and the directory that the run began in."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, PflowError, reason_of
from pflow.flow.load import load_text, read_text
from pflow.flow.subflow import FlowCatalog
from pflow.record.log import FLOW

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.flow.flow import Flow


def load_kept(directory: str, place: Mapping[str, Any]) -> Flow:
    """The flow in a run's directory, with the paths and the file that it had in its first `place` (Snapshot.place).

    Raises PflowError: 66 where it is gone, 65 where it is no flow any more.
    """
    file = os.path.join(directory, FLOW)
    catalog = FlowCatalog(os.fsdecode(place["flow_directory"]))
    flow = load_text(read_text(file, f"the flow '{file}'"), file, catalog).usable()
    flow.file = os.fsdecode(place["file"])
    return flow


def enter(directory: str | bytes, act: str) -> None:
    """Go to the directory that a run began in. Raises PflowError (66) where that is gone."""
    try:
        os.chdir(directory)
    except OSError as error:
        why = reason_of(error)
        raise PflowError(
            f"cannot {act} in '{os.fsdecode(directory)}', where the run was: {why}", exit=MISSING
        ) from None


def here() -> str:
    """The working directory; empty where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def directory_of(flow: Flow) -> str:
    """Where the relative paths of flows in a flow begin, as an absolute path."""
    return here() if flow.directory == "." else os.path.normpath(os.path.join(here(), flow.directory))
