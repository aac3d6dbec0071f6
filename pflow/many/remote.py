"""The flow of a map in a process of its own, which gets JSON lines: on any machine that has pflow and the nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from select import select
from threading import Lock
from typing import Any

from pflow import __version__
from pflow.cache.wishes import Wishes
from pflow.driver.begin import Beginning, enter, restore_environment, restore_flow, restore_inputs
from pflow.errors import BAD_CONFIG, TIMED_OUT, PflowError
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.many.executor import FAILED
from pflow.many.item import ITEM, ItemFlow
from pflow.process.children import GRACE, end_with_parent
from pflow.process.signals import Interrupted, catch_signals
from pflow.process.workers import Died
from pflow.stage.document import Document
from pflow.stage.intake import NOTHING, Intake
from pflow.values.jsontext import compact, decode, encode
from pflow.values.masks import Secrets

LOST = "lost"
"""The status of an item whose process died."""

_FACTS = ("pflow", "Python", "flow", "nodes", "secrets")


def order_of(flow: ItemFlow, record: Mapping[str, Any]) -> str:
    """Return what a process needs to run the flow, and what it compares. Raises PflowError (78) for secrets in it.

    `record` is the first one of the map's journal.
    """
    parts = {name: record[name] for name in ("inputs", "environment", "flags", "place", "flow", "nodes")}
    secrets = {name: True for name in record["secrets"] if os.environ.get(name)}
    order = {**parts, **_versions(), "secrets": secrets, "run": flow.run_id, "ir": flow_to_ir(flow.wired.flow)}
    taken = [name for name in flow.names if flow.wired.inputs[name].secret]
    if taken or flow.secrets.are_in(order):
        whose = f"the input '{taken[0]}'" if taken else "one of its values"
        what = f"cannot send the flow to a cluster: {whose} is secret"
        raise PflowError(what, hint="secrets are variables that are set for each worker", exit=BAD_CONFIG)
    return compact(order)


def _versions() -> dict[str, str]:
    return {"pflow": __version__, "Python": ".".join(map(str, sys.version_info[:2]))}


def flow_of(order: dict[str, Any]) -> ItemFlow:
    """Return the flow. Raises PflowError (78) if it, or a node, is another one here, or a secret is missing."""
    enter(order["place"]["directory"], "run the map")
    restore_environment(order)
    secrets, intake = Secrets(), Intake(Document(), NOTHING)
    flow = restore_flow("", order["place"], compact(order["ir"]))
    flow.items = (ITEM,)
    wired = wire(flow)
    inputs = restore_inputs(order, wired, intake)
    set_here = {name: True for name in order["secrets"] if os.environ.get(name)}
    here = {**Beginning(inputs, intake, secrets).facts(), **_versions(), "secrets": set_here}
    for name in _FACTS:
        if here[name] != order[name]:
            raise PflowError(f"cannot run the map: {_difference(name, here[name], order[name])}", exit=BAD_CONFIG)
    flags = order["flags"]
    return ItemFlow(
        inputs, secrets, run_id=order["run"], timeout=flags["timeout"], max_visits=flags["max_visits"],
        cache=Wishes(flags["cache"], flags["refresh"]),
    )  # fmt: skip


def _difference(name: str, here: Any, there: Any) -> str:
    if not isinstance(there, dict):
        return f"its {name} is {here}, and where the map began {there}" if name in _versions() else "its flow differs"
    differing = [each for each in there if here.get(each) != there[each]]
    if name == "secrets":
        return f"{differing[0]} is not set"
    return f"the code of '{there[differing[0]]['type']}' differs"


def _note(told: list[Any], name: str, about: Any) -> None:
    told.append((name, about))


def main(parent: int) -> None:
    """Take an order, then an id and an item a line; write a fault or an empty text for the order, then the results.

    What nodes read and print is neither.
    """
    lines, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    end_with_parent(parent)
    catch_signals()
    try:
        flow = flow_of(decode(lines.readline()))
        results.write(b'""\n')
        for line in lines:
            told: list[Any] = []
            result = flow.run(*decode(line), partial(_note, told))
            results.write(encode({**result, "claims": [about[1] for name, about in told if name == "claim"]}) + b"\n")
    except Interrupted as interrupted:
        os._exit(interrupted.exit)
    except PflowError as error:
        results.write(encode(error.message) + b"\n")


class Remote:
    """Such a process, for one item at a time. It has a `fault` if it cannot run the flow."""

    def __init__(self, order: str) -> None:
        program, pipe = f"from pflow.many.remote import main; main({os.getpid()})", subprocess.PIPE
        self.timeout = decode(order.encode())["flags"]["timeout"]
        self.turn = Lock()
        self.turn.acquire()
        self.child = subprocess.Popen([sys.executable, "-P", "-c", program], stdin=pipe, stdout=pipe)
        answer = self._talk(order)
        self.fault = decode(answer) if answer else Died(0, self.child.wait()).message

    def run(self, line: str) -> str:
        """Run the item of a line; return its result as JSON. One that takes too long ends the process."""
        if answer := self._talk(line, self.timeout and self.timeout + GRACE):
            return str(answer, "utf-8")
        result = {"status": FAILED, "outputs": None, "carried": "", "usage": {}, "ms": 0, "claims": []}
        if self.is_late:
            words = f"cannot finish: it took longer than the {self.timeout:g} s of its timeout"
            return compact({**result, "exit": TIMED_OUT, "error": words})
        died = Died(0, self.child.wait())
        return compact({**result, "status": LOST, "exit": died.exit, "error": died.message})

    def _talk(self, line: str, seconds: float | None = None) -> bytes:
        """Send a line, and return the answer; empty if the process died, or `seconds` have passed."""
        assert self.child.stdin
        assert self.child.stdout
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            return b""
        self.is_late = not select([self.child.stdout], [], [], seconds)[0]
        if self.is_late:
            self.child.kill()
        return self.child.stdout.readline()

    @property
    def has_ended(self) -> bool:
        return self.child.poll() is not None

    def end(self) -> None:
        self.child.terminate()
