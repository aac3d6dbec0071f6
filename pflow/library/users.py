"""Which saved flows use another, and which of them a change to it breaks."""

from __future__ import annotations

import os

from pflow.catalog.source import plain
from pflow.errors import PflowError
from pflow.library.library import Saved, list_saved
from pflow.library.names import saved_name


def users_of(name: str) -> list[Saved]:
    """The saved flows that have this one as a step."""
    return [saved for saved in list_saved() if any(_is(type, name, saved) for type in saved.types)]


def broken_users_of(name: str) -> list[tuple[str, str]]:
    """Those that break a rule as things are, each by its name, with the first thing that is wrong."""
    faults = [(saved.name, _fault(saved.file)) for saved in users_of(name)]
    return [(user, fault) for user, fault in faults if fault]


def _is(type: str, name: str, user: Saved) -> bool:
    return plain(saved_name(type, os.path.dirname(user.file))) == plain(name)


def _fault(file: str) -> str:
    from pflow.flow.load import load_file
    from pflow.flow.rules import check
    from pflow.flow.subflow import FlowCatalog
    from pflow.flow.wiring import wire

    try:
        loaded = load_file(file, FlowCatalog())
        findings = check(wire(loaded.flow), loaded.findings)
    except PflowError as error:
        return error.message
    return next((str(finding) for finding in findings if not finding.is_warning), "")
