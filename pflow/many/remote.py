"""The flow of a map in a process of its own, which gets JSON lines: on any machine that has pflow and the nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from select import select
from threading import Lock
from typing import Any

from pflow import __version__
from pflow.cache.wishes import Wishes
from pflow.driver.begin import Beginning, enter, restore_environment, restore_flow, restore_inputs
from pflow.errors import BAD_CONFIG, TIMED_OUT, PflowError
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.many.executor import FAILED, Result
from pflow.many.item import ITEM, ItemFlow
from pflow.process.children import GRACE, end_with_parent
from pflow.process.signals import Interrupted, catch_signals
from pflow.process.workers import Died
from pflow.stage.document import Document
from pflow.stage.intake import NOTHING, Intake
from pflow.values.fast_json import decode, encode
from pflow.values.jsontext import compact
from pflow.values.masks import Secrets
from pflow.words import budget

LOST = "lost"
"""The status of an item whose process died."""

Order = dict[str, Any]
"""Parts of the record of a map's run, its flow, and `facts`, which have to be the same wherever it runs."""


def order_of(flow: ItemFlow, record: Mapping[str, Any]) -> Order:
    """Return what a process needs to run the flow; `record` is the first of the map's journal.

    Raises PflowError (78) for a secret in it.
    """
    order = {name: record[name] for name in ("inputs", "environment", "flags", "place")}
    secrets = [name for name in record["secrets"] if os.environ.get(name)]
    order |= {"ir": flow_to_ir(flow.wired.flow), "run": flow.run_id, "is_priced": budget.is_priced}
    order["facts"] = _facts(record, secrets)
    taken = [f"the input '{name}'" for name in flow.names if flow.wired.inputs[name].secret]
    taken += ["one of its values"] if flow.secrets.are_in(order) else []
    if taken:
        what = f"cannot send the flow to a cluster: {taken[0]} is secret"
        raise PflowError(what, hint="secrets are variables that are set for each worker", exit=BAD_CONFIG)
    return order


def _facts(found: Mapping[str, Any], secrets: list[str]) -> dict[str, Any]:
    """Return each fact by what it is about, in the order in which they are compared."""
    versions = {"pflow": __version__, "Python": ".".join(map(str, sys.version_info[:2])), "the flow": found["flow"]}
    codes = {f"the code of '{node['type']}'": node for node in found["nodes"].values()}
    return {**versions, **codes, **{f"the secret in {name}": "set" for name in secrets}}


def flow_of(order: Order) -> ItemFlow:
    """Return the flow. Raises PflowError (78) if it, or a node, is another one here, or a secret is missing."""
    enter(order["place"]["directory"], "run the map")
    restore_environment(order)
    budget.is_priced = order["is_priced"]
    flow = restore_flow("", order["place"], compact(order["ir"]))
    flow.items = (ITEM,)
    secrets, intake = Secrets(), Intake(Document(), NOTHING)
    inputs = restore_inputs(order, wire(flow), intake)
    here = _facts(Beginning(inputs, intake, secrets).facts(), [name for name in os.environ if os.environ[name]])
    for name, fact in order["facts"].items():
        if here.get(name) != fact:
            shown = f"{here.get(name)}, not {fact}" if isinstance(fact, str) and len(fact) < 16 else "another one here"
            raise PflowError(f"cannot run the map: {name} is {shown}", exit=BAD_CONFIG)
    flags = order["flags"]
    return ItemFlow(
        inputs, secrets, run_id=order["run"], timeout=flags["timeout"], max_visits=flags["max_visits"],
        cache=Wishes(flags["cache"], flags["refresh"]),
    )  # fmt: skip


def main(parent: int) -> None:
    """Take an order, then an id and an item a line; answer with a fault or an empty text, then with results.

    What nodes read and print is neither.
    """
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    end_with_parent(parent)
    catch_signals()
    claims: list[str] = []

    def tell(name: str, about: Any) -> None:
        if name == "claim":
            claims.append(about[1])

    try:
        flow = flow_of(decode(lines.readline()))
        answers.write(b'""\n')
        for line in lines:
            claims.clear()
            id, item = decode(line)
            answers.write(encode({**flow.run(id, item, tell), "claims": claims}) + b"\n")
    except Interrupted as interrupted:
        os._exit(interrupted.exit)
    except PflowError as error:
        answers.write(encode(error.message) + b"\n")


class Remote:
    """Such a process, for one item at a time. It has a `fault` if it cannot run the flow."""

    def __init__(self, order: str) -> None:
        program, pipe = f"from pflow.many.remote import main; main({os.getpid()})", subprocess.PIPE
        self.timeout = decode(order.encode())["flags"]["timeout"]
        self.turn = Lock()
        self.turn.acquire()
        self.child = subprocess.Popen([sys.executable, "-P", "-c", program], stdin=pipe, stdout=pipe)
        answer = self._talk(order)
        self.fault = decode(answer) if answer else self._died().message

    @property
    def has_ended(self) -> bool:
        return self.child.poll() is not None

    def run(self, line: str) -> str:
        """Run the item of a line; return its result as JSON. The process is killed if that takes too long."""
        if answer := self._talk(line, self.timeout and self.timeout + GRACE):
            return str(answer, "utf-8")
        result: Result = {"outputs": None, "carried": "", "usage": {}, "ms": 0, "claims": []}
        if self.is_late:
            words = f"cannot finish: it took longer than the {self.timeout:g} s of its timeout"
            return compact({**result, "status": FAILED, "exit": TIMED_OUT, "error": words})
        died = self._died()
        return compact({**result, "status": LOST, "exit": died.exit, "error": died.message})

    def _talk(self, line: str, seconds: float | None = None) -> bytes:
        """Send a line, and return the answer; empty if the process died, or `seconds` have passed."""
        assert self.child.stdin
        assert self.child.stdout
        with suppress(BrokenPipeError):
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        self.is_late = not select([self.child.stdout], [], [], seconds)[0]
        if self.is_late:
            self.child.kill()
        return self.child.stdout.readline()

    def _died(self) -> Died:
        return Died(0, self.child.wait())

    def end(self) -> None:
        self.child.terminate()
