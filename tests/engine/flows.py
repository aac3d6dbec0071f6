"""Flows for tests, from IR, and their runs without a process around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pflow.engine.context import Context
from pflow.engine.engine import Engine
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.record.journal import read_lines
from pflow.record.records import JOURNAL, Records


def plan_of(ir: dict[str, Any], directory: str = ".") -> WiredFlow:
    return wire(load_text(json.dumps(ir), "test", FlowCatalog(directory)).usable())


def read_journal(directory: str) -> Records:
    """What the journal in a run's directory says."""
    return Records(read_lines((Path(directory) / JOURNAL).read_bytes())[0])


def write_flow(folder: Path, name: str, ir: dict[str, Any]) -> str:
    """Write a flow into a file of this name. Its type, for the steps of a flow in the same folder."""
    (folder / f"{name}.pflow.json").write_text(json.dumps(ir))
    return f"./{name}.pflow.json"


class Ran:
    """One run: the final store, the last action, the events, the warnings."""

    def __init__(self, plan: WiredFlow, store: dict[str, Any] | None = None, **options: Any) -> None:
        lines: list[bytes] = []
        self.warnings: list[str] = []
        self.context = Context(write=lines.append, warn=self.warnings.append, **options)
        self.store = {} if store is None else store
        self.action = None
        self.error: Exception | None = None
        try:
            self.action = Engine(plan, self.context).run(self.store)
        except Exception as error:
            self.error = error
        self.events = [json.loads(line) for line in b"".join(lines).splitlines()]

    def ends(self, *members: str) -> list[Any]:
        """One member, or several, of each step's end."""
        ends = [event for event in self.events if event["event"] == "end"]
        found = [tuple(event.get(member) for member in members) for event in ends]
        return [each[0] for each in found] if len(members) == 1 else found


def run(ir: dict[str, Any], store: dict[str, Any] | None = None, directory: str = ".", **options: Any) -> Ran:
    return Ran(plan_of(ir, directory), store, **options)
