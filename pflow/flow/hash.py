"""The flow hash: which flow it is, whatever it works on: steps, edges and mappings, never params and values."""

from __future__ import annotations

import sys

from pflow.errors import PflowError
from pflow.flow.written import MAPPING, OUTPUT, OVER, parts_of_outputs, parts_of_step
from pflow.jsontext import encode
from pflow.paths import parse_path, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.flow.written import Part

    def _sha256(data: bytes, /) -> Any: ...
else:
    try:
        # hashlib would load OpenSSL, which takes 3 ms: far longer than to hash a flow.
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:  # another Python than CPython
        from hashlib import sha256 as _sha256


def flow_hash(flow: WiredFlow) -> str:
    """SHA-256, in hex, of canonical JSON of the steps in order (id, type, version), the edges, the mappings and the
    paths that templates use.

    Outputs and batches count as mappings; of a `template:` only its paths count, as in inputs and params. A subflow's
    version is its own hash. A step of an unknown kind has the version it asks for.
    """
    steps = flow.steps.values()
    facts = {
        "edges": sorted({(edge.source, edge.action, edge.target) for edge in flow.flow.edges}),
        "mappings": [[wired.id, mapped] for wired in steps if (mapped := _mapped(wired))],
        "outputs": sorted(_places(parts_of_outputs(flow.flow))),
        "steps": [[wired.id, wired.step.type, _version(wired)] for wired in steps],
    }
    return str(_sha256(encode(facts, escape=False)).hexdigest())


def _version(wired: WiredStep) -> str:
    if wired.subflow is not None:
        return flow_hash(wired.subflow)
    try:
        return wired.kind.version if wired.kind else wired.step.version or ""
    except (PflowError, OSError):
        return wired.step.version or ""


def _mapped(wired: WiredStep) -> dict[str, Any]:
    """What a step has mapped: where its reads come from, what its templates use, where its writes go."""
    reads = sorted(_places(parts_of_step(wired)))
    writes = sorted([key, _path(target)] for key, target in wired.step.output_mappings.items())
    item = wired.step.batch.item if wired.step.batch else None
    facts = {"item": item, "reads": reads, "writes": writes}
    return {name: fact for name, fact in facts.items() if fact}


def _places(parts: Iterable[Part]) -> Iterator[list[Any]]:
    """Role, key and paths of each part that is a mapping or has a template; a template's paths in no order."""
    for part in parts:
        is_mapping = part.role in (MAPPING, OVER, OUTPUT)
        if part.fault and is_mapping:
            yield [part.role, part.key, "fault", [str(part.written)]]
        elif part.is_template and (part.paths or is_mapping):
            yield [part.role, part.key, "template", sorted(map(write_path, part.paths))]
        elif is_mapping:
            yield [part.role, part.key, "paths", list(map(write_path, part.paths))]


def _path(written: str) -> str:
    try:
        return write_path(parse_path(written))
    except ValueError:
        return written
