"""The flow of a map in a process of its own, which gets JSON lines: on any machine that has pflow and the nodes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from select import select
from threading import Lock, Thread
from typing import Any

from pflow import __version__
from pflow.driver.begin import Beginning, enter, restore_environment, restore_flow, restore_inputs
from pflow.errors import BAD_CONFIG, TIMED_OUT, PflowError, bug_error
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.many.executor import FAILED, unfinished
from pflow.many.item import ITEM, ItemFlow
from pflow.process.children import GRACE, end_with_parent
from pflow.process.signals import Interrupted, catch_signals
from pflow.process.workers import Died
from pflow.stage.document import Document
from pflow.stage.intake import NOTHING, Intake
from pflow.terminal.foreign import tame_stderr
from pflow.values.fast_json import decode, encode
from pflow.values.jsontext import compact
from pflow.values.secrets import Secrets

LOST = "lost"
"""The status of an item whose process died."""

_LOOK = 0.5
"""Seconds between two looks for the client of a map."""

LONG = 1.0
"""Seconds after which a task begins no other item."""

Order = dict[str, Any]
"""Parts of the record of a map's run, its flow, and `facts`, which have to be the same wherever it runs."""


def order_of(flow: ItemFlow, record: Mapping[str, Any]) -> Order:
    """Return what a process needs to run the flow; `record` is the first of the map's journal.

    Raises PflowError (78) for a secret in it.
    """
    order = {name: record[name] for name in ("inputs", "environment", "flags", "place")}
    secrets = [name for name in record["secrets"] if os.environ.get(name)]
    order |= {"ir": flow_to_ir(flow.wired.flow), "run": flow.run_id, "is_priced": flow.is_priced}
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
    flow = restore_flow("", order["place"], compact(order["ir"]))
    flow.items = (ITEM,)
    secrets, intake = Secrets(), Intake(Document(), NOTHING)
    wired = wire(flow)
    if missing := next((step.step.type for step in wired.all_steps() if step.kind is None), ""):
        raise PflowError(f"it has no node '{missing}'", exit=BAD_CONFIG)
    inputs = restore_inputs(order, wired, intake)
    here = _facts(Beginning(inputs, intake, secrets).facts(), [name for name in os.environ if os.environ[name]])
    for name, fact in order["facts"].items():
        if here.get(name) != fact:
            shown = f"{here.get(name)}, not {fact}" if isinstance(fact, str) and len(fact) < 16 else "another one here"
            raise PflowError(f"cannot run the map: {name} is {shown}", exit=BAD_CONFIG)
    return ItemFlow(inputs, secrets, order["flags"], run_id=order["run"], is_priced=order["is_priced"])


def main(parent: int) -> None:
    """Take an order, then an id and an item a line; answer with a fault or an empty text, then with results.

    What nodes read and print is neither.
    """
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    end_with_parent(parent)
    tame_stderr()
    catch_signals()
    claims: list[str] = []

    def tell(name: str, about: Any) -> None:
        if name == "claim_file":
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
    except Exception as error:
        answers.write(encode((error if isinstance(error, PflowError) else bug_error(error)).message) + b"\n")


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
        if self.is_late:
            words = f"cannot finish: it took longer than the {self.timeout:g} s of its timeout"
            return compact(unfinished(FAILED, TIMED_OUT, words))
        died = self._died()
        return compact(unfinished(LOST, died.exit, died.message))

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


_served: dict[str, tuple[str, list[Remote]]] = {}
"""The maps that this process, a worker, was asked to work for: the order and the processes of each."""

_begun: set[tuple[str, int]] = set()


def run_items(map: str, task: int, lines: str, order: str = "") -> str:
    """Run items in a worker, one after another, each an id and an item in a line. The first task brings the `order`.

    Return JSON: the results, fewer if the others would wait too long; a text if the flow cannot run here; null if this
    process has had no order, or had this task before. Each thread of a worker has a process of its own, so that time
    limits, signals, the working directory and what nodes print are as on one machine.
    """
    if order and map not in _served:
        _served[map] = order, []
        Thread(target=_watch, args=(map, _served[map][1], _is_wanted()), daemon=True).start()
    if map not in _served or (map, task) in _begun:
        return "null"
    _begun.add((map, task))
    order, remotes = _served[map]
    remote = next((each for each in remotes if each.turn.acquire(blocking=False)), None)
    if remote is None:
        remotes.append(remote := Remote(order))
    results: list[str] = []
    waiting, end = deque(lines.split("\n") if lines else ()), time.monotonic() + LONG
    while waiting and not remote.has_ended and time.monotonic() < end:
        results.append(remote.run(waiting.popleft()))
    if map not in _served:  # it was forgotten meanwhile
        remote.end()
    if remote.has_ended:
        remotes.remove(remote)
    remote.turn.release()
    return str(encode(remote.fault), "utf-8") if remote.fault else f"[{','.join(results)}]"


def _is_wanted() -> Callable[[], bool]:
    """Return a function that says whether the client still wants the result of the task that runs here now."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    return lambda: key in worker.state.tasks


def _watch(map: str, remotes: list[Remote], is_wanted: Callable[[], bool]) -> None:
    """Forget a map once nobody wants the result of its first task: its client is gone. Then end its processes."""
    while map in _served and is_wanted():
        time.sleep(_LOOK)
    forget(map)
    for remote in [*remotes]:  # threads that work for it leave the list
        with suppress(subprocess.TimeoutExpired):
            remote.child.wait(GRACE)
        remote.child.kill()


def forget(map: str) -> None:
    """End what a worker does for a map."""
    for remote in [*_served.pop(map, ("", []))[1]]:
        remote.end()
