"""One item of a map: the values that it gives the flow, and the run of the flow on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pflow.binding.sources import DIR, NAME, STEM, NameSource, find
from pflow.cache.policy import CachePolicy
from pflow.driver.inputs import RunInputs, missing_inputs
from pflow.engine.context import Context, JournalClient, Recorder, StepFailed, gate_of
from pflow.engine.engine import Engine, outputs_of
from pflow.errors import FAILED as EXIT_FAILED
from pflow.errors import MISSING, OK, PflowError, own_error
from pflow.flow.flow import item_reader
from pflow.flow.subflow import interface_of_flow, repeats
from pflow.flow.wired_flow import WiredFlow
from pflow.map.ledger import DONE, FAILED, TODO, Result
from pflow.process.loop import claiming
from pflow.process.signals import ClosedPipe, Deadline, Interrupted
from pflow.record.log import parse_event
from pflow.text.printable import encodable
from pflow.values.jsontext import plain
from pflow.values.secrets import Secrets
from pflow.values.usage import Calls, Usage, calls_in, unlimited, usage_of

ITEM = "item"
"""The name of an item in the templates of a map's flow."""

PARTS = {f"{ITEM}_{part}": part for part in (NAME, STEM, DIR)}

Tell = Callable[[str, Any], Any]
"""Sends a request by name to the process that runs the map: `start`, `claim_file` (ItemFlow.run), or one of Calls."""


class ItemFlow:
    """The flow of a map, ready to run for one item after another, in any process and in several threads."""

    def __init__(
        self, inputs: RunInputs, secrets: Secrets, flags: Mapping[str, Any] | None = None, *, run_id: str = "",
        is_priced: bool = False, is_gated: bool = False,
    ) -> None:  # fmt: skip
        """Prepare the flow. `flags` are those of `pflow run`, of which timeout, cache, refresh and max_visits are used.

        `is_priced` is true if money is limited, `is_gated` if each call of a model asks the map before it begins.
        """
        flags = flags or {}
        self.wired: WiredFlow = inputs.wired
        self.inputs = inputs
        self.secrets = secrets
        self.run_id = run_id
        self.is_priced, self.is_gated = is_priced, is_gated
        self.timeout: float | None = flags.get("timeout")
        self.cache = CachePolicy(flags.get("cache") or False, flags.get("refresh"))
        self.max_visits: int | None = flags.get("max_visits")
        self.names = [name for name in self.wired.inputs if name not in inputs.values]
        self.reader = self._reader()
        self.repeats = all(map(repeats, self.wired.steps.values()))
        self.writes_files = any("writes files" in step.interface.effects for step in self.wired.all_steps())

    def _reader(self) -> str:
        """Return the name of the input that takes a whole item; empty if the flow takes items only in templates."""
        field = item_reader(interface_of_flow(self.wired))
        is_named = not {ITEM, *PARTS}.isdisjoint(self.names)
        free = field is not None and field.name in self.names and (field.required or not is_named)
        return field.name if field is not None and free else ""

    def values(self, item: Any) -> dict[str, Any]:
        """Return the values that an item gives to inputs. Raises PflowError (66) without a required one, and a BadItem.

        The members of an object fill the inputs of their names. Anything else, and an object without such a member,
        goes to the input that an item of a batch would go to. Templates can name it as they name a batch's item.
        """
        if isinstance(item, PflowError):
            raise item
        members = item if isinstance(item, dict) else {}
        found = {name: members[name] for name in self.names if name in members}
        if not found and self.reader:
            found[self.reader] = item
        if ITEM in self.names:
            found.setdefault(ITEM, item)
        for name, part in PARTS.items():
            if name in self.names and name not in found:
                found[name] = NameSource((ITEM,), part).find({ITEM: item})
        for missing in missing_inputs(self.wired, {**self.inputs.values, **found}):
            path = missing.path if missing.name in self.wired.places else (missing.name,)
            made = "".join(f'{{"{step}": ' for step in path) + "." + "}" * len(path)
            how = f"jq -c{'R' * isinstance(item, str)} '{made}' makes one of it"
            known = "it has no members" if item is members else f"it is not an object: {how}"
            known = f"its members are {', '.join(members)}" if members else known
            raise PflowError(f"cannot find '{missing.name}' for the item: nothing gives it", hint=known, exit=MISSING)
        return found

    def run(self, id: str, item: Any, tell: Tell = lambda name, about: None) -> Result:
        """Run the flow for an item, on a store of its own.

        `tell` gets `start` and the id before a step begins that may not repeat. Before the item writes a file, it gets
        `claim_file`, the id and a digest of the file, and returns the id of the item that wrote the file first.
        """
        # A copy: no item masks the secrets of another in its own output.
        began, tally, secrets = time.perf_counter(), Tally(), Secrets(self.secrets)
        result: Result = {"status": DONE, "exit": OK, "outputs": None, "carried": "", "error": ""}
        try:
            with Deadline(self.timeout, act="cannot finish"):
                result |= self._outcome(id, self.values(item), tell, tally, secrets)
        except (Interrupted, ClosedPipe):
            raise
        except Exception as error:
            failure = own_error(error)
            secrets.hide(failure)
            if not isinstance(failure, StepFailed):
                tally.usage.add(usage_of(failure))
            hint = f" ({failure.hint})" if failure.hint else ""
            where = f"{failure.step}: " if isinstance(failure, StepFailed) else ""
            words = encodable(f"{where}{failure.message}{hint}")
            result |= {"status": TODO if failure.ends_run else FAILED, "exit": failure.exit, "error": words}
        return {**result, "usage": tally.total(), "ms": round((time.perf_counter() - began) * 1000, 3)}

    def _outcome(self, id: str, values: Mapping[str, Any], tell: Tell, tally: Tally, secrets: Secrets) -> Result:
        context = self._context(id, tell, tally, secrets)
        store: dict[str, Any] = {}
        data = self.inputs.fill(store, values)
        Engine(self.wired, context, self.inputs.params, data).run(store)
        unfinished = [*filter(None, tally.batches.values())]
        end: Result = {"status": FAILED, "exit": EXIT_FAILED} if unfinished else {}
        return {**end, **self._outputs(store, context), "error": encodable("; ".join(unfinished or tally.warnings))}

    def _context(self, id: str, tell: Tell, tally: Tally, secrets: Secrets) -> Context:
        context = Context(max_visits=self.max_visits, secrets=secrets, run_id=self.run_id, cache=self.cache)
        context.prefix = f"{id}/"
        context.recorder = tally
        # This `ask` works in a child of the item's process, too.
        context.coordinator.outside, tell = tell, context.coordinator.ask
        gate = gate_of(tell) if self.is_gated else unlimited
        context.calls = Calls(gate, is_priced=self.is_priced, in_map=True)
        if self.writes_files:
            ask = partial(tell, "claim_file")
            context.claim = claiming(id, ask, lambda first: f"the item {first}", f"{ITEM}_name")
        if not self.repeats:
            context.journal = JournalClient(lambda record: tell("start", id) if "start" in record else None, {})
        return context

    def _outputs(self, store: Mapping[str, Any], context: Context) -> Result:
        """Return the declared outputs, else the value that the flow carries, under its name; their secrets masked."""
        place = self.wired.place_outside(context.carried)
        if self.wired.flow.outputs:
            found = outputs_of(self.wired, store)
            carried = str(place[0]) if place and place[0] in found else next(iter(found), "") if len(found) == 1 else ""
        else:
            carried = str(place[-1]) if place else ""
            found = {carried: find(store, place)} if place else {}
        found = {name: context.secrets.without(value) for name, value in plain(found).items()}
        return {"outputs": found, "carried": carried}


class Tally(Recorder):
    """Counts the usage and the calls of models in the events of one item, and keeps the warnings in them."""

    def __init__(self) -> None:
        super().__init__(lambda line: self._add(parse_event(line) or {}))  # lines come from child processes
        self.usage = Usage()
        self.calls: list[dict[str, Any]] = []
        self.warnings: dict[str, None] = {}
        self.batches: dict[str, str] = {}
        """The warning of each visit of a batch: how many items failed in its last try, if no step uses their list."""

    def inside(self, step: str) -> Recorder:
        return self

    def event(self, event: str, step: str, about: dict[str, Any]) -> None:
        self._add({"time": time.time(), "step": step, **about})

    def _add(self, about: dict[str, Any]) -> None:
        self.usage.add_event(about)
        if "warning" in about:
            self.warnings[f"{about.get('step')}: {about['warning']}"] = None
        if (items := about.get("items")) and "exit" not in about:
            self.batches[items["at"]] = f"{about['step']}: {about['message']}" if items.get("untaken") else ""
        if "items" not in about:
            began = about.get("time", 0) - about.get("ms", 0) / 1000
            self.calls += [{"step": about.get("step"), **call} for call in calls_in(about, began)]

    def total(self) -> dict[str, Any]:
        """Return the usage, also of each call if there are several calls or one that failed."""
        is_one = len(self.calls) == 1 and "exit" not in self.calls[0]
        return self.usage.total() | ({} if is_one or not self.calls else {"asked": self.calls})
