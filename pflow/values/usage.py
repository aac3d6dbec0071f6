"""Usage of models: adding up the tokens, calls and cost of answers, and making calls that a budget may limit."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import BAD_DATA, TIMED_OUT, TRY_AGAIN, PflowError

if TYPE_CHECKING:
    Amounts = dict[str, float]
    """Numbers of `calls`, `tokens` and dollars (`cost`); those without a limit may be missing."""

    BudgetGate = Callable[[str, dict[str, Any]], Any]
    """A function that asks the budget of a run (pflow.driver.budget) or the limiter of a map, by a question's name.

    `begin` returns the ticket of a call, or None while the call has to wait. `reserved` returns the amounts reserved
    for the call, and `end` True if the provider refused it and it has to be sent again.
    """

MEMBERS = ("model", "tokens", "cost", "calls", "unpriced")
"""The members of an event, and of a step in a document's header, that hold usage."""


class Usage:
    """A sum over models' answers: `calls` counts them, `unpriced` those without a known price. No price is guessed."""

    def __init__(self, *parts: dict[str, Any]) -> None:
        self.model = ""  # the model of all calls; empty if they differ
        self.tokens: dict[str, float] = {}
        self.cost: float | None = None
        self.calls = 0
        self.unpriced = 0
        for part in parts:
            self.add(part)

    def add_event(self, event: dict[str, Any]) -> None:
        """Add an event of a run, except the end of a batch: it has the sum of items that were added already."""
        if "items" not in event:
            self.add(event)

    def add(self, about: dict[str, Any]) -> None:
        """Add usage as `members` returns it; nothing if there was no call of a model."""
        model, said, cost = about.get("model"), about.get("tokens"), amount(about.get("cost"))
        counts = {side: amount(said.get(side)) for side in ("in", "out")} if isinstance(said, dict) else {}
        tokens = {side: count for side, count in counts.items() if count is not None}
        calls = amount(about.get("calls")) or int(bool(model or tokens or cost is not None))
        if not calls:
            return
        unpriced = amount(about.get("unpriced"))
        name = model if isinstance(model, str) else ""
        self.model = name if self.model == name or not self.calls else ""
        self.calls += calls
        self.unpriced += (0 if cost is not None else calls) if unpriced is None else unpriced
        for side, count in tokens.items():
            self.tokens[side] = self.tokens.get(side, 0) + count
        if cost is not None:
            self.cost = round((self.cost or 0) + cost, 12)  # so that 0.1 + 0.2 is shown as 0.3

    def members(self) -> dict[str, Any]:
        """Return the known members, for an event; `calls` and `unpriced` only for several calls."""
        known: dict[str, Any] = {"model": self.model} if self.model else {}
        known |= {"tokens": self.tokens} if self.tokens else {}
        known |= {"cost": self.cost} if self.cost is not None else {}
        return known | ({"calls": self.calls, "unpriced": self.unpriced} if self.calls > 1 else {})

    def total(self) -> dict[str, Any]:
        """Return the sum for other programs; empty if no model was called."""
        return {**self.members(), "calls": self.calls, "unpriced": self.unpriced} if self.calls else {}

    def as_write(self) -> dict[str, Any]:
        """Return the sum as a node's write `usage`, which answer_members reads."""
        known = {"model": self.model, "input": self.tokens.get("in"), "output": self.tokens.get("out")}
        counts = {"calls": self.calls, "unpriced": self.unpriced} if self.calls > 1 else {}
        return {name: value for name, value in {**known, "cost": self.cost}.items() if value is not None} | counts

    def price(self) -> str:
        """Return `$0.04`, `$0.04 + unknown` or `cost unknown`; empty if no model was called."""
        known = "" if self.cost is None else dollars(self.cost)
        return " + ".join([known, "unknown"] if known else ["cost unknown"]) if self.unpriced else known

    def words(self) -> list[str]:
        """List the known parts: `200 calls`, `tokens in 3 out 4`, `model NAME`, `$0.04`."""
        said = [f"{self.calls:,} calls"] if self.calls > 1 else []
        tokens = " ".join(f"{side} {count:,}" for side, count in self.tokens.items())
        said += [f"tokens {tokens}"] if tokens else []
        said += [f"model {self.model}"] if self.model else []
        return [*said, self.price()] if self.calls else []


def calls_in(about: dict[str, Any], began: float) -> list[dict[str, Any]]:
    """Return the calls in an event of a visit or item: began (seconds), ms, usage, and exit if a call failed.

    An event that does not list its calls is one call with their sum.
    """
    if "asked" in about:
        return [{**call, "began": _begin_of(call, began)} for call in about["asked"]]
    names = (*MEMBERS, "ms", "exit", "message")
    known = {name: about[name] for name in names if name in about}
    return [{**known, "began": began}] if Usage(about).calls else []


def _begin_of(call: dict[str, Any], began: float) -> float:
    told = amount(call.get("began"))
    return began + (amount(call.get("at")) or 0) / 1000 if told is None else told


def dollars(cost: float, digits: int = 2) -> str:
    """Format a price with cents or more digits, a small one with its first two: `$1.25`, `$0.0012`."""
    if not cost:
        return "$0"
    digits = max(digits, 1 - int(f"{cost:.1e}".partition("e")[2]))
    whole, _, rest = f"{cost:,.{digits}f}".partition(".")
    return f"${whole}.{rest.rstrip('0'):0<2}"


def usage_words(about: dict[str, Any]) -> list[str]:
    """Format usage as `members` or `total` returned it, in the words of `Usage.words`."""
    return Usage(about).words()


def answer_members(usage: Any) -> dict[str, Any]:
    """Return the members of an event for a node's write `usage`: model, input, output, cost, calls, each if known."""
    if not isinstance(usage, dict):
        return {}
    return Usage({**usage, "tokens": {"in": usage.get("input"), "out": usage.get("output")}}).members()


def usage_of(error: BaseException | None) -> dict[str, Any]:
    """Return the usage that a failure carries."""
    return getattr(error, "usage", None) or {}


def amount(value: Any) -> Any:
    """Return `value` if it is a count or a price; else None."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_one and 0 <= value < 1e15 else None


BUDGET = {"calls": "max_calls", "tokens": "max_tokens_total", "cost": "max_cost"}
"""The flag of each amount that a budget limits."""

BYTES = 4
"""The average bytes of UTF-8 in a token: an estimate, since the real number of tokens comes with the answer."""

_MAY_BILL = (TIMED_OUT, TRY_AGAIN, BAD_DATA)
"""The exit codes of calls that a provider may bill though they failed, unless it refused them with an HTTP status."""

_TOLD = ("message", "hint", "exit", "retry_after", "refusal", "ends_run")


def unlimited(name: str, question: dict[str, Any]) -> Any:
    """Let each call begin: without a budget there is nothing to count."""
    return {}


class Calls:
    """The calls of models that a run, a map or one visit makes; the `gate` may limit them.

    If money is limited (`is_priced`), no model without a known price is asked. A map (`in_map`) ends at a failure that
    every other item would meet too.
    """

    def __init__(self, gate: BudgetGate = unlimited, *, is_priced: bool = False, in_map: bool = False) -> None:
        self.gate = gate
        self.is_priced = is_priced
        self.in_map = in_map
        self.made: list[tuple[float, float, dict[str, Any], BaseException | None]] = []
        """The calls so far: their begin and end (time.monotonic), usage, and exception or None."""

    def of_visit(self) -> Calls:
        """Return the calls of one visit, under the same limits."""
        return Calls(self.gate, is_priced=self.is_priced, in_map=self.in_map)

    def spend(self, usage: dict[str, Any]) -> None:
        """Count the usage of models that were asked without a Call, such as an agent's, in failed tries too."""
        if usage:
            self.gate("spent", {"spent": usage})


class Call:
    """A call of a model: `with Call(calls, model) as call:`. The block sets `call.usage` once the usage is known.

    `size` is the bytes of the question, `most` the tokens and dollars that the call reserves until it has ended. A call
    that `is_capped` keeps its answer within the `reserved` amounts: all that is left, up to `most`. Raises PflowError
    (79) if the budget has no room for the call. In a map, a refusal by the provider ends the block without an
    exception, and the call has to be made again. A call that ends by a signal, a time limit or a broken answer counts
    as much as it reserved, since its cost is unknown; the `usage` of the exception then has only the model.
    """

    def __init__(
        self, calls: Calls, model: str, size: int = 0, most: Amounts | None = None, *, is_capped: bool = False
    ) -> None:
        self.calls = calls
        self.about = {"model": model, "size": size, "most": most or {}, "is_capped": is_capped}
        self.usage: dict[str, Any] = {}
        self._ticket: Any = None

    def __enter__(self) -> Call:
        self._ticket = self.calls.gate("begin", {**self.about})
        self._begun = time.monotonic()
        return self

    def reserved(self) -> Amounts:
        """Return the amounts reserved for the call; only amounts that have a limit."""
        return dict(self.calls.gate("reserved", {"ticket": self._ticket}))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        about: dict[str, Any] = {"ticket": self._ticket, "spent": self.usage or usage_of(error)}
        about["is_cut"] = error is not None
        may_bill = getattr(error, "exit", 0) in _MAY_BILL and getattr(error, "status", None) is None
        about["is_untold"] = not about["spent"] and (may_bill or not isinstance(error, Exception | None))
        if about["is_untold"]:
            vars(error)["usage"] = {"model": self.about["model"]}
        elif not about["spent"] and getattr(error, "status", None):  # refused: providers do not bill such a call
            vars(error)["usage"] = {"model": self.about["model"], "cost": 0}
        used = about["spent"] or usage_of(error) or {"model": self.about["model"]}
        self.calls.made.append((self._begun, time.monotonic(), used, error))
        if isinstance(error, PflowError):
            about |= {name: getattr(error, name) for name in _TOLD}
        return self.calls.gate("end", about) is True
