"""A model that answers each sentence with the flow that is expected of it, or with what is made of that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pflow.flow.unload import flow_to_ir
from tests.eval.score import expected_flows
from tests.peers import openai_server

NAME = "eval-perfect"
REFUSAL = "There is no node that can do this."

IR = dict[str, Any]


def as_it_is(ir: IR) -> IR:
    return ir


def write_transcript(folder: Path, entries: list[dict[str, Any]], spoil: Callable[[IR], Any] = as_it_is) -> None:
    """The transcript of the model, in a folder that the server is to read; what it says passes through `spoil`."""
    entries = sorted(entries, key=lambda entry: -len(entry["sentence"]))
    said = {
        entry["sentence"]: [spoil(flow_to_ir(expected_flows(entry)[0])) if entry["flows"] else REFUSAL]
        for entry in entries
    }
    (folder / f"{NAME}.json").write_text(json.dumps(said))
    openai_server.TRANSCRIPTS = folder
