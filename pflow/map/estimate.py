"""The estimate of a map, without asking a model: its tokens, dollars and time; and the most that an item may take."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from pflow.binding.resolve import environment
from pflow.errors import BAD_CONFIG, PflowError
from pflow.map.item import ITEM, ItemFlow
from pflow.map.ledger import DONE, Ledger
from pflow.map.loop import ItemPolicy
from pflow.terminal.columns import rough_time
from pflow.values.jsontext import text_of
from pflow.values.templates import TEMPLATE
from pflow.values.usage import BYTES, dollars

if TYPE_CHECKING:
    from pflow.models.choose import Model
    from pflow.values.usage import Amounts

SAMPLE = 1000
"""The most items, and the most earlier answers, that an estimate reads. It takes all others to be like them."""

ANSWER = 200
"""The tokens of a usual answer, if nothing better is known. A budget reserves the most that an answer may have."""


@dataclass
class Estimate:
    """How many items are done, are to do, and have failed for good; `cost` and `seconds` are None if not known.

    `assumptions` lists the assumptions behind it. If it `is_most`, there may be fewer items, and some may be done.
    """

    done: int
    to_do: int
    failed: int = 0
    is_most: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float | None = None
    assumptions: list[str] = field(default_factory=list)

    def words(self) -> str:
        """Return `9,812 done, 188 to do, about $1.90`."""
        cost = "" if self.cost is None else f", about {dollars(float(f'{self.cost:.2g}'))}"
        failed = f"{self.failed:,} failed, " if self.failed else ""
        done = "at most " if self.is_most else f"{self.done:,} done, {failed}"
        return f"{done}{self.to_do:,} to do{cost}"

    def account(self) -> str:
        """Return the words with tokens, time and assumptions."""
        tokens = f", about {self.tokens_in:,} tokens in and {self.tokens_out:,} out" if self.tokens_in else ""
        time = "" if self.seconds is None else f", about {rough_time(self.seconds)}"
        return "; ".join([f"{self.words()}{tokens}{time}", *self.assumptions])


def estimate(
    flow: ItemFlow, items: Iterable[tuple[int, Any]], total: int | None, policy: ItemPolicy,
    ledger: Ledger | None = None, *, is_most: bool = False, jobs: int = 1, rpm: float | None = None,
) -> Estimate:  # fmt: skip
    """Estimate a map of these items. Read all items if there is no `total`, or if some may be done already.

    Raises PflowError for a model that is not there.
    """
    sizes: list[int] = []

    def read() -> Iterator[tuple[str, str]]:
        for _, item in items:
            if (key := policy.key(item)) is not None:
                if len(sizes) < SAMPLE:
                    sizes.append(_size(flow, item))
                yield key

    if ledger is not None and not is_most and ledger.counts():
        states = ledger.states(read())
        done = sum(count for status, *_, count in states if status == DONE)
        to_do = sum(count for status, tries, begun, count in states if not policy.settles(status, tries, begun))
        found = Estimate(done, to_do, failed=sum(count for *_, count in states) - done - to_do)
    else:
        count = sum(1 for _ in islice(read(), total and SAMPLE))
        found = Estimate(0, total if count and total else count, is_most=is_most)
    questions = questions_of(flow)
    entries = [] if ledger is None else [*islice(ledger.entries(DONE), SAMPLE)]
    if questions:
        said = [each.usage["tokens"]["out"] for each in entries if "out" in each.usage.get("tokens", {})]
        answer = sum(said) / len(said) / len(questions) if said else None
        _count_tokens(found, questions, sum(sizes) / max(len(sizes), 1), answer)
        used = [each.usage for each in entries if not each.usage.get("unpriced")]
        costs = [usage["cost"] for usage in used if usage.get("cost") is not None]
        found.cost = sum(costs) / len(costs) * found.to_do if costs else found.cost
    if questions and rpm:
        found.seconds = found.to_do * len(questions) / rpm * 60
    elif entries:
        found.seconds = found.to_do * sum(each.ms or 0 for each in entries) / len(entries) / 1000 / jobs
    return found


@dataclass
class Question:
    """What a step asks a model, once for each item: `size` is the bytes that it adds to those of the item.

    `model` is None if it depends on the item, or if the step runs an agent.
    """

    step: str
    model: Model | None
    size: int
    options: dict[str, Any]


def questions_of(flow: ItemFlow) -> list[Question]:
    """Return what the steps of a flow ask models. Raises PflowError for a model that is not there."""
    from pflow.models.choose import choose
    from pflow.models.request_form import options_for, parse_options

    found = []
    for step in flow.wired.all_steps():
        if step.subflow is not None or not step.asks_model:
            continue
        given = {**step.step.params, **flow.inputs.params.get(step.id, {})}
        params = {**environment(step.interface, given), **given}
        mapped = [str(each) for each in step.step.input_mappings.values()]
        templates = [each.removeprefix(TEMPLATE) for each in mapped if each.startswith(TEMPLATE)]
        texts = [*templates, *{**step.step.inputs, **params, "model": None}.values()]
        name = params.get("model")
        is_known = "max_budget" not in step.interface.params and (name is None or "$" not in str(name))
        size = sum(_bytes(text) for text in texts if isinstance(text, str | dict))
        model = choose(name) if is_known else None
        chosen = parse_options({"option": None, "max_tokens": None, **params}, "max_tokens")
        found.append(Question(step.id, model, size, options_for(model, chosen) if model else {}))
    return found


def _count_tokens(found: Estimate, questions: list[Question], size: float, answer: float | None) -> None:
    """Count the tokens and dollars of the items that are to do; each asks each of the questions once."""
    from pflow.models.prices import cost_of, limit_of, longest_answer

    found.assumptions.append(f"{BYTES} bytes are a token")
    found.cost = 0.0
    for each in questions:
        tokens_in = (size + each.size) / BYTES
        tokens_out = answer or limit_of(each.options)
        if tokens_out is None:
            tokens_out = ANSWER
            reserved = f" (a budget reserves {longest_answer(each.model, {}):,})" if each.model else ""
            found.assumptions.append(f"an answer of '{each.step}' has {ANSWER} tokens{reserved}")
        found.tokens_in += round(tokens_in * found.to_do)
        found.tokens_out += round(tokens_out * found.to_do)
        price = cost_of(each.model, round(tokens_in), round(tokens_out), {}) if each.model else None
        if price is None:
            found.assumptions.append(f"the price of the model of '{each.step}' is not known")
        found.cost = None if price is None or found.cost is None else found.cost + price * found.to_do


def most_of_item(flow: ItemFlow, questions: list[Question], item: Any) -> Amounts:
    """Return the calls, tokens and dollars that an item may take.

    Assume that each question repeats the previous question and its answer. Raises PflowError (78) for a price that is
    not known, if money is limited.
    """
    from pflow.models.prices import most_of

    most: Amounts = {"calls": len(questions), "tokens": 0, "cost": 0}
    size = _size(flow, item)
    for each in questions:
        more = most_of(each.model, size + each.size, each.options, is_priced=flow.is_priced) if each.model else {}
        if flow.is_priced and "cost" not in more:
            what = f"cannot hold '{each.step}' to --max-cost: what it may cost is not known before it asks"
            raise PflowError(what, hint="without --executor=dask, a map reserves each call", exit=BAD_CONFIG)
        most |= {name: most[name] + amount for name, amount in more.items()}
        size = round(more.get("tokens", 0) * BYTES)
    return most


def _size(flow: ItemFlow, item: Any) -> int:
    """Return the bytes that an item and the flags send to a model: for a file, the size of its content."""
    try:
        values = flow.values(item)
    except PflowError:  # the item fails before a model is asked, so it costs nothing
        return 0
    if flow.reader in values:
        values.pop(ITEM, None)
    given = [(value, flow.wired.input(name)) for name, value in {**flow.inputs.values, **values}.items()]
    return sum(_bytes(value, known.type.name if known else "") for value, known in given)


def _bytes(value: Any, type: str = "") -> int:
    if type == "path" and isinstance(value, str) and os.path.isfile(value):
        return os.path.getsize(value)
    return len(text_of(value).encode("utf-8", "replace"))
