"""The secrets that a run will take, as far as they are known before it runs: none of them is ever kept."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.secrets import has_secrets, secret_values
from pflow.binding.sources import find, has
from pflow.engine.step import bind
from pflow.errors import PflowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pflow.driver.inputs import RunInputs
    from pflow.flow.wired import WiredFlow, WiredStep


def known_secrets(inputs: RunInputs, store: Any) -> Iterator[Any]:
    """The values of secret inputs, reads, params and variables, those of flows in the flow too."""
    paths = [each.path for each in inputs.wired.inputs.values() if each.secret]
    yield from (find(store, path) for path in paths if has(store, path))
    for id, step in inputs.wired.steps.items():
        yield from _of_step(step, store, inputs.params.get(id, {}), inputs.data.get(id, {}))


def _of_step(step: WiredStep, store: Any, params: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Any]:
    batch = step.step.batch
    try:
        if has_secrets(step.interface):
            yield from secret_values(bind(step, params, data), store)
        if batch is not None and step.over is not None and step.has_secret_items(batch.item):
            yield step.over.find(store)
    except PflowError:
        pass  # what is wrong with it is said when it runs
    yield from _of_flow(step.subflow) if step.subflow is not None else ()


def _of_flow(flow: WiredFlow) -> Iterator[Any]:
    for step in flow.steps.values():
        yield from _of_step(step, {}, {}, {})
