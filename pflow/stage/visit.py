"""One visit of a node, in a stage and in a step alike: the cache, tries, checked changes, and the trace entry."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING, Any, Callable, Coroutine, Mapping
from pflow.binding.resolve import Binding, Places
from pflow.binding.store import NodeStore, check_changes
from pflow.errors import PflowError, exit_code, is_permanent
from pflow.interface.interface import Interface
from pflow.process import signals
from pflow.process.signals import Deadline, HeldSignals, call_after

if TYPE_CHECKING:
    from pflow.cache.use import CachedNode, Lookup
    from pflow.process.worker import Parent


class Visit:
    """The account of one visit of a node, or of one item of a batch, for the trace.

    `reads` and `writes` have the places of each key, `spent` the usage of each try and answer (pflow.values.usage),
    `more` other members of the entry.
    """

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.action: Any = None
        self.reads: Places = {}
        self.writes: Places = {}
        self.spent: list[dict[str, Any]] = []
        self.more: dict[str, Any] = {}

    def usage(self) -> dict[str, Any]:
        """Return the sum of the usage of models; empty if the node asked none."""
        if not self.spent:
            return {}
        from pflow.values.usage import Usage

        return Usage(*self.spent).members()

    def ms(self) -> float:
        """Return the milliseconds since the visit began."""
        return round((time.monotonic() - self.begun) * 1000, 3)

    def entry(self, failure: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the visit's members of a trace entry, in a stage or a run; `failure` says how it failed, if it did."""
        entry = {"reads": self.reads, "writes": self.writes, "ms": self.ms(), **self.usage(), **self.more}
        if failure:
            entry |= failure
        elif self.action is not None and self.action != "default":
            entry["action"] = str(self.action)
        return entry


class NodeRunner:
    """Visits a node: a stage once, a step whenever its flow reaches it. Subclasses run the node, warn and learn."""

    if TYPE_CHECKING:
        id: str
        interface: Interface
        binding: Binding
        cached: CachedNode | None
        as_failure: Callable[[BaseException], PflowError]
        """Returns the error that says how a node failed."""
        answer: Callable[[str, Any, Callable[[Any], None]], None]
        """Answers requests that a child process sends to the run."""
        learn: Callable[[list[Any]], None]
        """Treats these values as secrets from now on."""
        warn: Callable[[str], None]

    is_apart = False
    """True if the node acts in a child process."""
    is_restricted = False
    """True if the child process is confined to the bounds of the run."""

    def act(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        """Run the node on its view of the store and return its action."""
        raise NotImplementedError

    def begin(self, node: Any) -> None:
        """Note that the node is about to act."""

    def equip(self, node: Any) -> None:
        """Give a node the services that it uses while it acts."""

    def sink(self) -> Callable[[Any], None] | None:
        """Return the function that takes the parts that the node emits; None if there is none."""
        raise NotImplementedError

    def enter_child(self, parent: Parent) -> None:
        """Prepare this process, a new child, to run the node."""

    def places_read(self, view: NodeStore, store: Any) -> Places:
        """Return the places that the values of each read came from."""
        return self.binding.origins(view, store)

    def spend(self, node: Any, usage: dict[str, Any], visit: Visit) -> None:
        visit.spent.append(usage)

    def note_try(self, node: Any, error: Exception, visit: Visit) -> None:
        """Note a failed call of `exec` that is tried again."""

    def open(self, store: Any) -> NodeStore:
        """Return the node's view of a store. Raises PflowError: 66 if a value is missing, 65."""
        if self.binding.has_secrets:
            self.learn([*self.binding.secrets(store)])
        return self.binding.open(store)

    def visit(self, node: Any, view: NodeStore, store: Any, visit: Visit) -> tuple[dict[str, Any], Lookup | None]:
        """Take the node's changes from the cache, or run it. Return the checked changes, and the lookup, if any."""
        lookup, is_kept = None, False
        try:
            if self.cached is not None:
                lookup = self.cached.look_up(node, view, self.warn)
                is_kept = lookup.found is not None
            visit.action = lookup.apply(view) if lookup and is_kept else self._act(node, view, visit)
            if isinstance(warning := getattr(node, "warning", None), str) and warning:
                visit.more["warning"] = warning
            changes = view.changes(self.binding.is_watched)
            if view.dropped:
                visit.more["dropped"] = view.dropped
                names = ", ".join(f"'{key}'" for key in view.dropped)
                self.warn(f"'{self.id}' changed {names} in place, but does not declare that as a write: it is dropped")
            if "usage" in changes and not is_kept:
                from pflow.values.usage import answer_members

                self.spend(node, answer_members(changes["usage"]), visit)
        finally:
            visit.reads = self.places_read(view, store)
            if self.binding.has_secrets and (written := self.interface.secret_writes.intersection(view.changed)):
                self.learn([dict.get(view, key) for key in written])
        check_changes(self.interface, changes)
        return changes, lookup

    def _act(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        self.begin(node)
        if not self.is_apart:
            if runs_confined(node):
                from pflow.process.confine import shut_files

                shut_files()  # Landlock does not restrict files that the shell left open
            return self.act_here(node, view, visit)
        from pflow.stage.apart import act_apart

        return act_apart(self, node, view, visit)

    def act_here(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        """Run a node in this process. A stand-in first confines the process, then loads the installed node."""
        confinement = getattr(node, "confinement", None)
        if confinement is None:
            return self._act_counted(node, view, visit)
        declared = None
        if confinement.is_on:
            values = self._path_values(confinement, node, view)
            declared = confinement.declared(values, is_program=node.is_program)
        made = node
        try:
            made = node.enter(declared)
            if made is not node:
                self.equip(made)
            return self._act_counted(made, view, visit)
        except Exception as error:
            if declared is None:
                raise
            failure = self.as_failure(error)
            confinement.explain(failure, error, getattr(made, "said", b""))
            raise failure from (None if failure is error else error)
        finally:
            # The caller reads these from the stand-in, not from the node that it loaded.
            vars(node).update(warning=getattr(made, "warning", ""), not_kept=getattr(made, "not_kept", ""))

    def _path_values(self, confinement: Any, node: Any, view: NodeStore) -> list[Any]:
        """Return the paths from a person, a flow or an earlier step, without defaults, which a stranger has set."""
        found = []
        for key in (field.name for field in confinement.fields):
            if key in self.interface.reads and view.is_given(key):
                found.append(view.peek(key))
            elif self.binding.source_of(key) is not None:
                found.append(node.params.get(key, view.peek(key) if key in view else None))
        return found

    def _act_counted(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        """Run the node, and note its calls of models if there are several or one failed."""
        if not getattr(node, "tells_budget", False):
            return self.act(node, view, visit)
        node.calls = node.calls.of_visit()
        try:
            return self.act(node, view, visit)
        finally:
            calls = node.calls.made
            if len(calls) > 1 or any(call[3] for call in calls):
                visit.more["asked"] = [
                    {"at": round((begun - visit.begun) * 1000, 3), "ms": round((ended - begun) * 1000, 3), **usage}
                    | (self.told(error) if error else {})
                    for begun, ended, usage, error in calls
                ]

    def told(self, error: BaseException) -> dict[str, Any]:
        """Return the trace's account of a failed call or try."""
        return {"exit": getattr(error, "exit", None) or exit_code(error)}

    def try_node(
        self, node: Any, view: NodeStore, visit: Visit, *, retries: int | None, wait: float | None,
        timeout: float | None = None, sink: Callable[[Any], None] | None = None,
    ) -> Any:  # fmt: skip
        """Run a node with tries and return its action. If `retries` or `wait` is None, the node's own counts.

        `sink` gets the parts that it emits. Raises what the node raises, and Interrupted after `timeout` seconds.
        """
        import pocketflow

        if (warm := getattr(node, "warm", None)) is not None:
            signals.warm_up(warm)
        if wait is None:
            wait = getattr(node, "wait", 0) if retries is None else 1.0
        if retries is None:
            retries = max(int(getattr(node, "max_retries", 1)), 1) - 1
        tries = Tries(
            node,
            retries,
            wait,
            spent=lambda usage: self.spend(node, usage, visit),
            failed=lambda error: self.note_try(node, error, visit),
        )
        if sink is not None:
            node.sink = tries.emit_to(sink)
        node.max_retries = 1  # the loop is ours: it honours Retry-After, and ends once a part was emitted
        is_async = isinstance(node, pocketflow.AsyncNode)
        if is_async:
            exec_async = node.exec_async
            node.exec_async = lambda prepared: tries.call_async(exec_async, prepared)
        else:
            exec = node.exec
            node.exec = lambda prepared: tries.call(exec, prepared)
        with Deadline(timeout, "--timeout"):
            action = _run_async(node._run_async(view)) if is_async else node._run(view)
        count = getattr(node, "cur_retry", 0) + 1
        if count > 1:
            visit.more["tries"] = count
        return action


def runs_confined(node: Any) -> bool:
    """Return True for the stand-in of an installed Python node that must run confined."""
    confinement = getattr(node, "confinement", None)
    return confinement is not None and confinement.is_on and not node.is_program


_LONGEST_WAIT = 3600
"""The most seconds to wait: if a server asks for more, the failure is final."""
_PATIENCE = 1.0
"""The seconds that a cancelled async node has to end."""


class Tries:
    """Calls `exec`, and repeats a failed call up to `retries` times, `wait` seconds apart.

    A failure is final if a part of the answer was emitted, or if another try cannot succeed. `spent` gets the model
    usage of failed calls, `failed` each failure that is not final.
    """

    def __init__(
        self, node: Any, retries: int, wait: float, *, spent: Callable[[dict[str, Any]], None],
        failed: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        self.node = node
        self.retries = retries
        self.wait = wait
        self.spent = spent
        self.failed = failed
        self.emitted = False

    def call(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        for attempt in range(self.retries + 1):
            self.node.cur_retry = attempt
            try:
                return exec(prepared)
            except BaseException as error:
                self.node.max_retries = attempt + 1  # pocketflow's own loop must not try again
                signals.sleep(self._pause(attempt, error))
        raise AssertionError

    async def call_async(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        import asyncio

        for attempt in range(self.retries + 1):
            try:
                return await exec(prepared)
            except Exception as error:
                await asyncio.sleep(self._pause(attempt, error))
        raise AssertionError

    def _pause(self, attempt: int, error: BaseException) -> float:
        """Return the seconds until the next try. Raises the error if no try is left."""
        asked = error.retry_after if isinstance(error, PflowError) else None
        if usage := getattr(error, "usage", None):
            self.spent(usage)
        pause = max(self.wait, asked or 0)
        is_last = attempt == self.retries or self.emitted
        if not isinstance(error, Exception) or is_last or is_permanent(error) or pause > max(self.wait, _LONGEST_WAIT):
            raise error
        self.failed(error)
        return pause

    def emit_to(self, sink: Callable[[Any], None]) -> Callable[[Any], None]:
        def emit(part: Any) -> None:
            self.emitted = True
            sink(part)

        return emit


def _run_async(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end. A signal or a time limit cancels it and is raised afterwards.

    An exception that a signal raises inside an event loop is lost, or stops the loop for good. So it is raised there
    only if the work does not end when it is cancelled: then it may be blocking the loop.
    """
    import asyncio

    held = HeldSignals()

    async def run() -> Any:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)
            call_after(_PATIENCE, held.release)

        held.notify(cancel)
        try:
            return await work
        finally:
            held.notify(None)

    try:
        if asyncio._get_running_loop() is None:
            return asyncio.run(run())
        from concurrent.futures import ThreadPoolExecutor

        # A notebook runs its cells in a loop, and asyncio.run refuses a thread that has one.
        return ThreadPoolExecutor(1).submit(asyncio.run, run()).result()
    finally:
        held.release()
