"""The flow of a map on a dask worker, in processes of its own: on any machine that has pflow and the nodes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from itertools import takewhile
from threading import Thread
from typing import Any

from pflow import __version__
from pflow.driver.initial_state import InitialState, enter, restore_environment, restore_flow, restore_inputs
from pflow.errors import BAD_CONFIG, PflowError
from pflow.flow.ir import flow_to_ir
from pflow.flow.wiring import wire
from pflow.map.item import ITEM, ItemFlow
from pflow.map.ledger import FAILED, Result, unfinished
from pflow.process.loop import ItemLoop, WorkItem
from pflow.process.pool import Died, Pool
from pflow.process.signals import HeldSignals, catch_signals
from pflow.process.worker import Parent, serve_parent
from pflow.stage.document import NOTHING, Document, Intake
from pflow.terminal.messages import filter_stderr
from pflow.values.fast_json import decode, encode
from pflow.values.jsontext import compact
from pflow.values.secrets import Secrets

LOST = "lost"
"""The status of an item that a worker did not finish, since the item's process died."""

_LOOK = 0.5
"""Seconds between two looks for the client of a map."""

LONG = 1.0
"""Seconds after which a task begins no other item: idle workers get the items that are left."""

Order = dict[str, Any]
"""Parts of the record of a map's run, the flow, and the `facts` that must be the same on each worker."""


def order_of(flow: ItemFlow, record: Mapping[str, Any]) -> Order:
    """Return what a process needs to run the flow; `record` is the first record of the map's journal.

    Raises PflowError (78) if a secret would be in it.
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
    """Return the facts by their subjects, such as "the flow", in the order in which they are compared."""
    versions = {"pflow": __version__, "Python": ".".join(map(str, sys.version_info[:2])), "the flow": found["flow"]}
    codes = {f"the code of '{node['type']}'": node for node in found["nodes"].values()}
    return {**versions, **codes, **{f"the secret in {name}": "set" for name in secrets}}


def flow_of(order: Order) -> ItemFlow:
    """Return the flow. Raises PflowError (78) if the flow or a node differs on this machine, or a secret is missing."""
    enter(order["place"]["directory"], "run the map")
    restore_environment(order)
    flow = restore_flow("", order["place"], compact(order["ir"]))
    flow.item_names = (ITEM,)
    secrets, intake = Secrets(), Intake(Document(), NOTHING)
    wired = wire(flow)
    if missing := next((step.step.type for step in wired.all_steps() if step.node_type is None), ""):
        raise PflowError(f"it has no node '{missing}'", exit=BAD_CONFIG)
    inputs = restore_inputs(order, wired, intake)
    here = _facts(InitialState(inputs, intake, secrets).facts(), [name for name in os.environ if os.environ[name]])
    for name, fact in order["facts"].items():
        if here.get(name) != fact:
            shown = f"{here.get(name)}, not {fact}" if isinstance(fact, str) and len(fact) < 16 else "another one here"
            raise PflowError(f"cannot run the map: {name} is {shown}", exit=BAD_CONFIG)
    return ItemFlow(inputs, secrets, order["flags"], run_id=order["run"], is_priced=order["is_priced"])


def main(parent: int) -> None:
    """Serve the process that began this one, at the socket that is its stdin: first comes an order, then items."""
    fd = os.dup(0)  # stdin becomes /dev/null, or a node could read from the socket
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    filter_stderr()
    catch_signals()
    flows: list[ItemFlow] = []

    def serve(text: str, parent: Parent) -> Result:
        if not flows:
            flows.append(flow_of(decode(text.encode())))
            return {}
        id, item = decode(text.encode())
        return flows[0].run(id, item, parent.ask)

    serve_parent(serve, fd, parent, HeldSignals())


class TaskLoop(ItemLoop):
    """The loop over the texts for one process in a task of dask: an order, or items until the task has taken LONG.

    If the loop is `stopped`, since an order failed or an item left no result, its process cannot be used any more.
    """

    def __init__(self, pools: WorkerPools, texts: list[str], timeout: float | None) -> None:
        until = time.monotonic() + LONG
        in_time = takewhile(lambda text: not self.results or time.monotonic() <= until, texts)
        super().__init__(map(WorkItem, in_time), timeout=timeout)
        self.pools = pools
        self.results: list[Result] = []
        self._claims: list[str] = []

    def answer(self, name: str, about: Any, reply: Callable[[Any], None]) -> None:
        """Answer a request of a flow (ItemFlow.run), and note a claimed file, which the map gets with the result."""
        if name == "claim_file":
            self._claims.append(about[1])
        reply(None)

    def rest(self) -> None:
        if not self.pools.is_wanted:
            self.stop(PflowError("cannot go on: the map is gone"), at_once=True)

    def end(self, work: WorkItem, result: Any) -> None:
        if isinstance(result, PflowError):
            self.stop(result, at_once=True)
            result = unfinished(LOST if isinstance(result, Died) else FAILED, result.exit, result.message)
        self.results.append({**result, "claims": [*self._claims]})
        self._claims.clear()


class WorkerPools:
    """The processes of a dask worker for a map: one for each of its threads, with the flow of the `order`."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.timeout: float | None = decode(order.encode())["flags"]["timeout"]
        self.is_wanted = True
        self._idle: list[Pool] = []

    def run(self, lines: str) -> list[Result]:
        """Return the results of items, each an id and an item in a line; fewer if the others would wait too long.

        Raises PflowError if the flow cannot run here.
        """
        try:
            pool = self._idle.pop()
        except IndexError:
            # Not a fork: a worker has threads, and a lock that one of them holds would stay locked in a child.
            program = f"from pflow.map.remote import main; main({os.getpid()})"
            pool = Pool([sys.executable, "-P", "-c", program], jobs=1)
            if failure := self._work(pool, [self.order], None).stopped:
                raise failure from None
        loop = self._work(pool, lines.split("\n") if lines else [], self.timeout)
        if loop.stopped is None:
            self._idle.append(pool)
        if not self.is_wanted:  # the map ended meanwhile, and did not find this pool among the idle ones
            self.end()
        return loop.results

    def _work(self, pool: Pool, texts: list[str], timeout: float | None) -> TaskLoop:
        """Have a process work on texts; end it if that is stopped."""
        loop = TaskLoop(self, texts, timeout)
        pool.ask = loop.answer
        loop.run_in(pool)
        if loop.stopped is not None:
            pool.close()
        return loop

    def end(self) -> None:
        """End the processes that are idle; the others end as soon as their threads look again."""
        self.is_wanted = False
        while self._idle:  # threads of the worker change the list meanwhile
            self._idle.pop().close()


_served: dict[str, WorkerPools] = {}
"""The process pools of this worker, by map."""

_begun: set[tuple[str, int]] = set()


def run_items(map: str, task: int, lines: str, order: str = "") -> str:
    """Run items in a worker, one after another, each an id and an item in a line. The first task brings the `order`.

    Return JSON: the results, fewer if the others would wait too long; a text if the flow cannot run here; null if this
    process has had no order, or had this task before. Time limits, signals, the working directory and what nodes print
    are as on one machine.
    """
    if order and map not in _served:
        _served[map] = WorkerPools(order)
        Thread(target=_watch, args=(map, _is_wanted()), daemon=True).start()
    if (
        map not in _served or (map, task) in _begun
    ):  # dask sends a task again that it takes for lost; items may not repeat
        return "null"
    _begun.add((map, task))
    try:
        return str(encode(_served[map].run(lines)), "utf-8")
    except PflowError as error:
        return str(encode(error.message), "utf-8")


def _is_wanted() -> Callable[[], bool]:
    """Return a function that returns True while a client still wants the result of the task that runs here now.

    A worker whose scheduler is gone closes, but waits for its threads first.
    """
    from distributed import get_worker
    from distributed.worker import WORKER_ANY_RUNNING

    worker = get_worker()
    key = worker.get_current_task()
    return lambda: key in worker.state.tasks and worker.status in WORKER_ANY_RUNNING


def _watch(map: str, is_wanted: Callable[[], bool]) -> None:
    """End this worker's work for a map once the map's client is gone, and so does not want the first task's result."""
    while is_wanted():
        time.sleep(_LOOK)
    _served.pop(map).end()
