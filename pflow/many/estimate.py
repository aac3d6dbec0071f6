"""The estimate of a map: its tokens, dollars and time, without asking a model."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pflow.binding.resolve import environment
from pflow.errors import PflowError
from pflow.flow.wired import WiredStep
from pflow.many.executor import DONE
from pflow.many.item import ITEM, ItemFlow
from pflow.many.ledger import Ledger
from pflow.terminal.columns import rough_time
from pflow.values.jsontext import text_of
from pflow.values.templates import TEMPLATE
from pflow.words.usage import dollars

SAMPLE = 1000
"""The items, and the answers so far, that are looked at; all others are taken to be like them."""

BYTES = 4
"""The bytes of UTF-8 that a token stands for."""

ANSWER = 200
"""The tokens of an answer of which nothing is known."""


@dataclass
class Estimate:
    """How many items are done and how many are left; `cost` and `seconds` are None if they are not known.

    `assumptions` says what it rests on.
    """

    done: int
    to_do: int
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float | None = None
    assumptions: list[str] = field(default_factory=list)

    def words(self) -> str:
        """Return `9,812 done, 188 to do, about $1.90`."""
        cost = "" if self.cost is None else f", about {dollars(float(f'{self.cost:.2g}'))}"
        return f"{self.done:,} done, {self.to_do:,} to do{cost}"

    def account(self) -> str:
        """Return the words with tokens, time and assumptions."""
        tokens = f", about {self.tokens_in:,} tokens in and {self.tokens_out:,} out" if self.tokens_in else ""
        time = "" if self.seconds is None else f", about {rough_time(self.seconds)}"
        return "; ".join([f"{self.words()}{tokens}{time}", *self.assumptions])


def estimate(
    flow: ItemFlow, items: Iterable[Any], total: int | None, ledger: Ledger | None = None, *, jobs: int = 1,
    rpm: float | None = None,
) -> Estimate:  # fmt: skip
    """Estimate a map; without a `total` all items are read. Raises PflowError for a model that is not there."""
    sizes, count = [], 0
    for item in items:
        count += 1
        if count <= SAMPLE:
            sizes.append(_size(flow, item))
        elif total is not None:
            break
    total = count if total is None else total
    done = min(ledger.counts().get(DONE, 0), total) if ledger is not None else 0
    found = Estimate(done, total - done)
    steps = [each for each in flow.wired.all_steps() if each.subflow is None and each.asks_model]
    entries = [] if ledger is None else [*islice(ledger.entries(DONE), SAMPLE)]
    if steps:
        said = [each.usage["tokens"]["out"] for each in entries if "out" in each.usage.get("tokens", {})]
        answer = sum(said) / len(said) / len(steps) if said else None
        _count_tokens(found, flow, steps, sum(sizes) / max(len(sizes), 1), answer)
    if steps and rpm:
        found.seconds = found.to_do * len(steps) / rpm * 60
    elif entries:
        found.seconds = found.to_do * sum(each.ms or 0 for each in entries) / len(entries) / 1000 / jobs
    return found


def _count_tokens(found: Estimate, flow: ItemFlow, steps: list[WiredStep], size: float, answer: float | None) -> None:
    """Count the tokens and dollars of the items that are to do; each of the `steps` asks a model once an item."""
    found.assumptions.append(f"{BYTES} bytes are a token")
    found.cost = 0.0
    for step in steps:
        given = {**step.step.params, **flow.inputs.params.get(step.id, {})}
        params = {**environment(step.interface, given), **given}
        mapped = [str(each) for each in step.step.input_mappings.values()]
        templates = [each.removeprefix(TEMPLATE) for each in mapped if each.startswith(TEMPLATE)]
        texts = [*templates, *{**step.step.inputs, **params, "model": None}.values()]
        tokens_in = (size + sum(_bytes(text) for text in texts if isinstance(text, str | dict))) / BYTES
        tokens_out = params.get("max_tokens") or answer
        if tokens_out is None:
            tokens_out = ANSWER
            found.assumptions.append(f"an answer of '{step.id}' has {ANSWER} tokens")
        found.tokens_in += round(tokens_in * found.to_do)
        found.tokens_out += round(tokens_out * found.to_do)
        price = _price(params.get("model"), tokens_in, tokens_out)
        if price is None:
            found.assumptions.append(f"the price of the model of '{step.id}' is not known")
        found.cost = None if price is None or found.cost is None else found.cost + price * found.to_do


def _price(name: Any, tokens_in: float, tokens_out: float) -> float | None:
    from pflow.models.choose import choose
    from pflow.models.prices import cost_of

    is_named = name is None or (isinstance(name, str) and "$" not in name)
    return cost_of(choose(name), round(tokens_in), round(tokens_out), {}) if is_named else None


def _size(flow: ItemFlow, item: Any) -> int:
    """Return the bytes that an item and the flags bring to a model: of a file, those that are in it."""
    try:
        values = flow.values(item)
    except PflowError:  # it fails before a model is asked
        return 0
    if flow.reader in values:
        values.pop(ITEM, None)
    return sum(
        _bytes(value, flow.wired.inputs[name].type.name) for name, value in {**flow.inputs.values, **values}.items()
    )


def _bytes(value: Any, type: str = "") -> int:
    if type == "path" and isinstance(value, str) and os.path.isfile(value):
        return os.path.getsize(value)
    return len(text_of(value).encode("utf-8", "replace"))
