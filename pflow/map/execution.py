"""The run of a map: its log, its ledger, the loop over its items, and its last words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from pflow.driver.arguments import RunFlags
from pflow.driver.budget import Budget
from pflow.driver.decisions import ResumeFlags
from pflow.driver.earlier_run import Reopened, exclusive_search
from pflow.driver.listeners import end_of, open_log
from pflow.errors import BAD_STDIN, FAILED, OK, PflowError
from pflow.flow.rules.paths import check_unfilled
from pflow.map.estimate import most_of_item, questions_of
from pflow.map.item import ITEM
from pflow.map.ledger import DONE, Ledger, Result
from pflow.map.limiter import MOST, Limiter
from pflow.map.loop import MapLoop
from pflow.map.map import PROGRAM, Map, MapOptions
from pflow.map.report import MapProgress
from pflow.map.rows import MapOutput, Rows
from pflow.mcp.client.sockets import begin_run
from pflow.process.pool import Pool
from pflow.process.signals import Interrupted, end_in_order
from pflow.process.streams import is_readable
from pflow.process.worker import Parent
from pflow.record.log import RunLog
from pflow.record.runs import RecordedRun
from pflow.terminal.ask import confirm
from pflow.terminal.messages import say, say_error
from pflow.values.secrets import Secrets
from pflow.values.usage import BUDGET

if TYPE_CHECKING:
    from pflow.process.loop import Executor

MOST_UNASKED = 1.0
"""The dollars that a map may cost without a question, on a terminal."""


def in_order(program: str, work: Callable[[Secrets, MapOutput], int], flags: RunFlags) -> int:
    """Do the work of a command for maps as `end_in_order` does; say its failure without its secrets, and hand it on."""
    secrets, output = Secrets(), MapOutput([])
    output.choose_form(quiet=flags.quiet, raw=flags.raw, json=False)

    def fail(error: PflowError) -> int:
        secrets.hide(error)
        if error.store is None:
            say_error(program, error, debug=flags.debug)
            output.hand_on_error("map", error)
        else:  # the program before the map has said it on stderr
            output.write_document(error.store)
        return error.exit

    return end_in_order(lambda: work(secrets, output), fail)


class MapExecution:
    """One run of a map: a new one, or one that is `reopened`."""

    def __init__(self, map: Map, output: MapOutput, reopened: Reopened | None = None) -> None:
        """Begin the run, or go on with it. Raises PflowError as Reopened and open_log do."""
        self.map = map
        self.output = output
        self.flags = map.flags
        self.options = map.options
        begin_run()
        output.choose_form(quiet=self.flags.quiet, raw=self.options.raw, json=False)
        with exclusive_search() if map.resumes else nullcontext():
            reopened = reopened or map.reopen_unfinished()
            if reopened is not None:
                reopened.settle(map.initial)
                map.flow.run_id = reopened.run.id
            self.run_id = map.flow.run_id
            self.resume_command = map.resume_command(self.run_id)
            self.ledger_path = map.ledger_path(self.run_id)
            if reopened is not None:
                reopened.commit()
            self.log = self._open_log() if reopened is None else reopened.log

    def _open_log(self) -> RunLog:
        limits = {name: getattr(self.flags, name) for name in BUDGET.values()}
        about = {"map": {"ledger": self.ledger_path, "digest": self.map.digest}}
        more = {"map": asdict(self.options), "limits": limits}
        log = open_log(self.map.initial, self.run_id, self.flags, about, more)
        assert log is not None
        return log

    def run(self) -> int:
        """Run the items that are not done yet; return the exit code. Raises PflowError if the map is stopped."""
        progress: MapProgress | None = None
        end: tuple[int, dict[str, Any] | None] = FAILED, None
        try:
            with closing(Ledger(self.ledger_path)) as ledger:
                ledger.begin(self.map.facts(), self.run_id, accepts_changes=self.map.accepts_changes)
                total = self._announce(ledger)
                progress = MapProgress(self.log.directory, self.options.progress, total)
                for each in ledger.usages(self.run_id):
                    progress.usage.add(each)
                end = self._run_items(ledger, progress), None
            return end[0]
        except BaseException as failure:
            if isinstance(failure, Interrupted):
                failure.hint = f"{self.resume_command} goes on"
            hidden = self.map.secrets.hide(failure) if isinstance(failure, PflowError) else failure
            end = end_of(hidden, self.map.wired.flow.name, "map")
            raise
        finally:
            done = progress and (progress.failed, progress.usage.total())
            self.log.finish(*end, {}, *(done or ()))

    def _announce(self, ledger: Ledger) -> int | None:
        """Say what is to do, and ask a person before it costs much; return the number of items, if it is known."""
        chosen = self.map.chosen
        if chosen.are_read_once and self.options.limit is None:
            if done := ledger.counts().get(DONE, 0):
                self.map.say(f"{done:,} done before in this ledger")
            return None
        found = self.map.estimate(ledger, is_most=chosen.are_read_once)
        self.map.say(found.words())
        asks = (found.cost or 0) > MOST_UNASKED and not self.map.asks_nothing
        if asks and confirm(f"{found.account()}. Begin?") is False:
            raise PflowError("the map was not begun", exit=FAILED)
        return None if found.is_most else found.done + found.failed + found.to_do

    def _run_items(self, ledger: Ledger, progress: MapProgress) -> int:
        options, policy, is_local = self.options, self.map.policy, self.options.executor == "local"
        here = None if self.map.wired.waits else os.cpu_count() or 1
        jobs = self.flags.jobs or (here if is_local else sys.maxsize)
        rpm, tpm = (each and each / self.map.shard[1] for each in (options.rpm, options.tpm))
        limiter = Limiter(self._budget(ledger), rpm=rpm, tpm=tpm, jobs=jobs)

        rows = Rows(
            options.format, raw=options.raw, nul=options.nul, in_order=options.order == ITEM, errors=options.errors,
            write=self.output.write_rows, secret=policy.secret_members, escapes=options.escape_formulas,
        )  # fmt: skip
        loop = MapLoop(self._items_with_warnings(), ledger, rows, policy, limiter, progress)
        self.map.items.while_idle = loop.while_idle
        try:
            loop.run(self._pool(loop, jobs) if is_local else self._cluster(loop))
            rows.close()
        finally:
            progress.finish()
        return self._report_end(loop, progress)

    def _items_with_warnings(self) -> Iterator[tuple[int, Any]]:
        """Yield the items; warn if a command seems to name a member of the first item but does not get its value."""
        for number, (index, item) in enumerate(self.map.chosen):
            for doubt in check_unfilled(self.map.wired, item) if not number and isinstance(item, dict) else ():
                say(PROGRAM, str(doubt))
            yield index, item

    def _budget(self, ledger: Ledger) -> Budget:
        """Return the budget of this map and its resumes; a shard has its share."""
        share, shards = self.map.shard
        limits = {
            name: limit / shards if name == "cost" else limit // shards + (share < limit % shards)
            for name, limit in self.flags.limits.items()
        }

        def note(budget: Budget) -> None:
            ledger.note_used(budget.used, budget.seen)
            if limits:
                ledger.commit()

        whose = f"shard {self.options.shard} of the map" if shards > 1 else "the map"
        return Budget(limits, ledger.used(), ledger.seen(), whose=whose, again=self.resume_command, note=note)

    def _pool(self, loop: MapLoop, jobs: int | None) -> Executor:
        def work(id: str, item: Any, parent: Parent) -> Result:
            return self.map.flow.run(id, item, parent.ask)

        memory = self.options.max_memory and self.options.max_memory << 20
        return Pool(work, jobs=jobs or MOST, threads=self.map.wired.waits, ask=loop.answer, memory=memory)

    def _cluster(self, loop: MapLoop) -> Executor:
        from pflow.map.dask import DaskExecutor

        flow, record = self.map.flow, self.map.initial.record(self.flags)
        most = partial(most_of_item, flow, questions_of(flow)) if self.flags.limits else None
        return DaskExecutor(self.options.scheduler, flow, record, loop.answer, jobs=self.flags.jobs, most=most)

    def _report_end(self, loop: MapLoop, progress: MapProgress) -> int:
        """Say how the map ended; return the exit code. Raises PflowError for why it was stopped."""
        is_resumed, items = self.map.is_resumed, self.map.items
        for cause in loop.causes():
            say(PROGRAM, cause)
        if loop.stopped is not None:
            stopped = loop.stopped
            if self.resume_command not in stopped.hint:
                stopped.hint = f"{self.resume_command} goes on" + (f"; {stopped.hint}" if stopped.hint else "")
            raise stopped
        items.check_end()
        if is_resumed and items.is_stdin and not progress.done:
            raise _without_items(self.run_id)
        if changed := loop.ledger.changed:
            say(PROGRAM, f"{changed:,} items had another input than before, and were run again")
        if missed := is_resumed and loop.ledger.missed():
            say(PROGRAM, f"{missed:,} items that were not done have not come again; {self.resume_command} takes them")
        if progress.failed:
            what = f"{progress.failed:,} of {progress.done:,} items failed: pflow trace {self.run_id} lists them"
            what += f"; {self.resume_command} --failed tries them again"
            if begun := progress.begun_items:
                what += f"; {begun:,} of them have begun a step that does not repeat: --redo"
            say(PROGRAM, what)
        if failed := progress.failed + missed + int(items.before.header.get("failed", 0)):
            self.output.note_failed(failed)
        elif items.before.header.keys() & {"skipped", "dry"}:
            self.output.write_document(items.before)
        return FAILED if failed else OK


def resume_map(
    run: RecordedRun, choices: ResumeFlags, flags: RunFlags, secrets: Secrets, output: MapOutput, *, redo: bool
) -> int:  # fmt: skip
    """Go on with a map, with its flags, except limits that are set anew. Raises PflowError as `Reopened` does."""
    # Reopened refuses a finished run otherwise; a map with failures can go on.
    failed, choices.failed = choices.failed, True
    reopened = Reopened(run, choices, secrets)
    with reopened.reading():
        wired = reopened.load()
        flags = flags.replaced(reopened.flags(flags))
        options = MapOptions(**reopened.begin["map"])
        options.failed, options.redo, options.raw = failed, redo, options.raw or flags.raw
        options.allow_empty = True  # _report_end has a better message than that of an empty pipe
        choices.failed = False  # it means the items of the map: those of a batch inside an item are not kept
        inputs = reopened.restore(wired)[0]
        if not options.words and not is_readable("items"):
            raise _without_items(run.id)
        accepts = choices.accepts_changes
        map = Map(flags, options, inputs, secrets, accepts_changes=accepts, is_resumed=True)
    return MapExecution(map, output, reopened).run()


def _without_items(run: str) -> PflowError:
    what = f"cannot resume the map {run}: its items came through stdin, and now none came"
    return PflowError(what, hint=f"pipe them again: … | pflow resume {run}", exit=BAD_STDIN)
