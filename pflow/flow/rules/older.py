"""Places in a file of an older dialect: where a finding about a mapping or param stands there."""

from __future__ import annotations

from pflow.flow.dialects import BINDINGS, KEYS
from pflow.flow.findings import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.flow.findings import Place
    from pflow.flow.flow import Flow, Step
    from pflow.paths import Path

_KINDS = (
    ("input_mappings", "input_bindings", "input_key"),
    ("output_mappings", "output_bindings", "output_key"),
)


def as_in_file(flow: Flow, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, each at the place that the file has, whatever dialect it is in."""
    steps = flow.steps if flow.dialect in (BINDINGS, KEYS) else []
    places: dict[Place, Path] = {here: there for step in steps for here, there in _moved(step)}
    for each in findings:
        place = places.get(each.place, each.place)
        yield Finding(each.rule, place, each.message, each.remedy, is_warning=each.is_warning)


def _moved(step: Step) -> Iterator[tuple[Path, Path]]:
    """For each place of a step in this form that an older one has elsewhere, both."""
    for mappings, bindings, key_param in _KINDS:
        older = step.params.get(bindings)
        for key, path in (older if isinstance(older, dict) else {}).items():
            if getattr(step, mappings).get(key) == path:
                yield ("mappings", step.id, mappings, key), (*step.place, bindings, key)
        path = step.params.get(key_param)
        if isinstance(path, str):
            yield ("mappings", step.id, mappings, path), (*step.place, "params", key_param)
    config = step.params.get("config")
    for key in config if isinstance(config, dict) else ():
        yield (*step.place, "params", key), (*step.place, "config", key)
