"""A map as a run: from its flags to its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pflow.driver.arguments import OWN, RunFlags
from pflow.driver.begin import Beginning
from pflow.driver.budget import Budget
from pflow.driver.driver import checked, parse, refuse_errors
from pflow.driver.inputs import RunInputs
from pflow.driver.listeners import end_of, open_log
from pflow.driver.resume.choices import Choices
from pflow.driver.resume.reopen import Reopened, alone
from pflow.errors import BAD_CONFIG, BAD_STDIN, FAILED, OK, USAGE, PflowError
from pflow.files.directories import state_directory
from pflow.flow.rules import check
from pflow.flow.rules.paths import check_unfilled
from pflow.flow.subflow import load_named
from pflow.interface.common import MOST_JOBS
from pflow.many.estimate import Estimate, estimate, most_of_item, questions_of
from pflow.many.item import ITEM, ItemFlow
from pflow.many.items import Chosen, Items
from pflow.many.ledger import Ledger
from pflow.many.limiter import Limiter
from pflow.many.loop import ItemPolicy, MapLoop
from pflow.many.merge import parse_shard
from pflow.many.options import Options, parse_halt
from pflow.many.progress import MapProgress
from pflow.many.rows import Rows, check_errors
from pflow.many.states import DONE, Result
from pflow.mcp.client.sockets import begin_run
from pflow.process.signals import Interrupted
from pflow.process.streams import divert_prints, is_readable, write_pieces
from pflow.process.workers import Parent, Pool
from pflow.record.log import FLOW, RunLog
from pflow.record.run import FINISHED, RUNNING, Run, read_kept
from pflow.record.runs import run_directories
from pflow.record.snapshot import kept
from pflow.stage.document import Document, new_run_id
from pflow.stage.intake import NOTHING, Intake
from pflow.stage.words import groups
from pflow.terminal.ask import confirm, open_terminal
from pflow.terminal.messages import say
from pflow.values.digest import digest_of
from pflow.values.secrets import Secrets
from pflow.words.budget import BUDGET

if TYPE_CHECKING:
    from pflow.process.loop import Executor

PROGRAM = "pflow map"

MOST_UNASKED = 1.0
"""The dollars that a map may cost without a question, on a terminal."""

_ANSWERS = {"g": "go on with it", "a": "begin anew", "n": "no"}

MOST_WAITING = 256
"""The most items in flight that only wait, unless --jobs says more."""


class Map:
    """One map, begun or resumed."""

    def __init__(self, flags: RunFlags, options: Options, inputs: RunInputs, secrets: Secrets) -> None:
        self.flags = flags
        self.options = options
        self.inputs = inputs
        self.wired = inputs.wired
        self.secrets = secrets
        self.items = Items(options.words, options.form, flags.encoding or "", allow_empty=options.allow_empty)
        self.beginning = Beginning(inputs, Intake(Document(), NOTHING), secrets)
        self.run_id = new_run_id()
        self.accepts_changes = self.asks_nothing = self.is_resumed = self.resumes = False
        self.flow = ItemFlow(
            inputs, secrets, vars(flags), run_id=self.run_id, is_priced="cost" in flags.limits,
            is_gated=options.executor == "local",
        )  # fmt: skip
        if (flags.jobs or 0) > MOST_JOBS and not self.wired.waits:
            what = f"cannot take --jobs={flags.jobs}: each item of this flow has a process of its own"
            raise PflowError(what, hint=f"at most {MOST_JOBS}, but for flows that only wait", exit=USAGE)
        self.shard = parse_shard(options.shard) if options.shard else (0, 1)
        self.chosen = Chosen(self.items, options.limit, options.sample)
        self.total = self.chosen.count() if self.shard[1] == 1 else None
        self.policy = ItemPolicy(
            id_field=options.id_field, timeout=flags.timeout if options.executor == "local" else None,
            halt=parse_halt(options.halt), shard=self.shard, retries_failed=options.failed, redoes=options.redo,
            shares_equals=bool(flags.cache),
            secret_members=frozenset(name for name, each in self.wired.inputs.items() if each.secret),
        )  # fmt: skip
        if options.errors:
            uses = {**dict.fromkeys(options.words, "the items come from it"), self.wired.flow.file: "it is the flow"}
            check_errors(options.errors, {options.ledger: "it is the ledger", **uses})

    @classmethod
    def begin(cls, flow: str, flow_flags: list[str], flags: RunFlags, options: Options, secrets: Secrets) -> Map:
        """Load and check the flow. Raises PflowError as `pflow run` does."""
        spec = load_named([flow], is_run_here=True, items=(ITEM,))
        spec.items = (ITEM,)
        refuse_errors(spec.findings)
        if strays := [item.flag for found, _ in groups(flow_flags, OWN, is_open=True) for item in found]:
            raise PflowError(f"cannot take {strays[0]} for a map", hint="pflow map --help", exit=USAGE)
        spec.name = spec.name or "map"
        if flags.encoding:
            flow_flags = [*flow_flags, f"--encoding={flags.encoding}"]
        return cls(flags, options, parse(checked(spec, "map"), flow_flags)[1], secrets)

    @classmethod
    def resume(cls, run: Run, choices: Choices, flags: RunFlags, secrets: Secrets, *, redo: bool) -> int:
        """Go on with a map, its flags as they were but for new limits. Raises PflowError as `Reopened` does."""
        failed, choices.failed = choices.failed, True  # a map that is finished, with failures, goes on too
        reopened = Reopened(run, choices, secrets)
        with reopened.reading():
            wired = reopened.load()
            refuse_errors(check(wired), "resume")
            flags = flags.replaced(reopened.flags(flags))
            options = Options(**reopened.begin["map"])
            options.failed, options.redo, options.raw = failed, redo, options.raw or flags.raw
            options.allow_empty = True  # _ended says what it then has to
            choices.failed = False  # of items of batches inside an item nothing is kept
            inputs = reopened.restore(wired)[0]
            if not options.words and not is_readable("items"):
                raise _without_items(run.id)
            each = cls(flags, options, inputs, secrets)
        each.accepts_changes, each.is_resumed = choices.accepts_changes, True
        return each.run(reopened)

    def foresee(self) -> Estimate:
        """Estimate the map before it begins; items that can be read only once are read for it."""
        path = self.options.ledger or next((run.ledger for run in self._unfinished_runs() if self.resumes), "")
        if not path or not os.path.exists(path) or not os.path.getsize(path):
            return self._estimate()
        with closing(Ledger(path, is_read=True)) as ledger:
            if not self.accepts_changes:
                ledger.expect(self._facts())
            return self._estimate(ledger)

    def _estimate(self, ledger: Ledger | None = None, *, is_most: bool = False) -> Estimate:
        items, total = (self.chosen.first(), self.options.limit) if is_most else (self.chosen, self.total)
        jobs, rpm = self.flags.jobs or 1, self.options.rpm and self.options.rpm / self.shard[1]
        return estimate(self.flow, items, total, self.policy, ledger, is_most=is_most, jobs=jobs, rpm=rpm)

    def run(self, reopened: Reopened | None = None) -> int:
        """Run the items that are not done yet; return the exit code. Raises PflowError if the map is stopped."""
        begin_run()
        fd = divert_prints()
        with alone() if self.resumes else nullcontext():
            log = self._open_log(reopened or self._unfinished())
        progress: MapProgress | None = None
        end: tuple[int, dict[str, Any] | None] = FAILED, None
        try:
            with closing(Ledger(self.ledger_path)) as ledger:
                ledger.begin(self._facts(), self.run_id, accepts_changes=self.accepts_changes)
                total = self._begun(ledger)
                progress = MapProgress(log.directory, self.options.progress, total)
                for each in ledger.usages(self.run_id):
                    progress.usage.add(each)
                end = self._run_items(ledger, progress, fd), None
            return end[0]
        except BaseException as failure:
            if isinstance(failure, Interrupted):
                failure.hint = f"{self._again(self.run_id)} goes on"
            hidden = self.secrets.hide(failure) if isinstance(failure, PflowError) else failure
            end = end_of(hidden, self.wired.flow.name, "map")
            raise
        finally:
            done = progress and (progress.failed, progress.usage.total())
            log.finish(*end, {}, *(done or ()))

    def _begun(self, ledger: Ledger) -> int | None:
        """Say what is to do, and ask a person before it costs much; return the number of items, if it is known."""
        if self.chosen.are_read_once and self.options.limit is None:
            if done := ledger.counts().get(DONE, 0):
                self._say(f"{done:,} done before in this ledger")
            return None
        found = self._estimate(ledger, is_most=self.chosen.are_read_once)
        self._say(found.words())
        asks = (found.cost or 0) > MOST_UNASKED and not self.asks_nothing
        if asks and confirm(f"{found.account()}. Begin?") is False:
            raise PflowError("the map was not begun", exit=FAILED)
        return None if found.is_most else found.done + found.failed + found.to_do

    def _say(self, text: str) -> None:
        if not self.flags.quiet and self.options.progress != "none":
            say(PROGRAM, text)

    def _open_log(self, reopened: Reopened | None) -> RunLog:
        """Begin the run of the map, or go on with it; set the path of its ledger."""
        if reopened is not None:
            reopened.settle(self.beginning)
            self.run_id = self.flow.run_id = reopened.run.id
        self.ledger_path = self._ledger_path()
        if reopened is not None:
            reopened.commit()
            return reopened.log
        limits = {name: getattr(self.flags, name) for name in BUDGET.values()}
        about = {"map": {"ledger": self.ledger_path, "digest": self.digest}}
        more = {"map": asdict(self.options), "limits": limits}
        log = open_log(self.beginning, self.run_id, self.flags, about, more)
        assert log is not None
        return log

    @cached_property
    def digest(self) -> str:
        """Return what this map has in common with a later one of the same flow, flags and items, in the same place.

        In a ledger that is named, the items of several lists may be: there the lists themselves are compared.
        """
        items = [getattr(self.options, name) for name in ("words", "form", "limit", "sample", "shard", "ledger")]
        items += [self.items.digest()] if self.options.ledger else []
        return digest_of([self._facts(), self.beginning.place, items])

    def _unfinished_runs(self) -> Iterator[Run]:
        """Yield the last runs of the same map, newest first, if they are unfinished; of a ledger, if it is the last."""
        wanted, digest, ledger = self.beginning.flow_text(), self.digest, self.options.ledger
        path = os.path.abspath(ledger) if ledger else None
        runs = map(Run, (each for each in run_directories() if read_kept(each, FLOW) == wanted))
        same = (run for run in runs if run.map_digest == digest or run.ledger == path)
        open = takewhile(lambda run: run.map_digest == digest and run.status not in (DONE, FINISHED), same)
        return (run for run in open if run.status == RUNNING or run.is_resumable)

    def _unfinished(self) -> Reopened | None:
        """Reopen the last map that was the same, if it is unfinished and is to go on.

        That says its ledger if the items are known to be the same; else --resume, or a person.
        """
        if self.options.ledger and self.accepts_changes:
            return None
        goes_on = self.resumes or (self.options.ledger and not self.items.is_stdin)
        for run in self._unfinished_runs():
            done = 0 if goes_on else self._count_done(run)
            if goes_on or (done and run.status != RUNNING and self._goes_on(run, done)):
                reopened, self.is_resumed = Reopened(run, Choices(), self.secrets), not self.options.ledger
                reopened.flags(self.flags)  # its limits are now these
                self._say(reopened.notice())
                return reopened
            if done:
                break
        return None

    def _goes_on(self, run: Run, done: int) -> bool:
        """Say what a map has done that began alike, and return True if a person wants it to go on.

        Raises PflowError (1) if a person wants neither that nor a new map.
        """
        told = f"{done:,}{f' of {self.total:,}' if self.total else ''} are done in the run {run.id}"
        terminal = None if self.items.is_stdin or self.asks_nothing else open_terminal()
        if terminal is None:
            new = "has a budget of its own" if self.options.ledger else "begins anew"
            say(PROGRAM, f"{told}: {self._again(run.id)}; this map {new}, --resume goes on")
            return False
        with terminal:
            answer = terminal.choose_listed(told, _ANSWERS)
        if answer == "n":
            raise PflowError("the map was not begun", hint=f"{self._again(run.id)} goes on", exit=FAILED)
        return answer == "g"

    def _count_done(self, run: Run) -> int:
        """Count the items that a map has done, of these if they are known; 0 without a ledger that can be read."""
        try:
            with closing(Ledger(run.ledger, is_read=True)) as ledger:
                return ledger.counts().get(DONE, 0) if self.items.is_stdin else self._estimate(ledger).done
        except PflowError:
            return 0

    def _again(self, run: str) -> str:
        return f"{'… | ' if self.items.is_stdin else ''}pflow resume {run}"

    def _ledger_path(self) -> str:
        """Return the path of the ledger: that of --ledger, else one of the run's own."""
        if self.options.ledger:
            return os.path.abspath(self.options.ledger)
        state = state_directory()
        if state is None:
            hint = "--ledger=FILE, HOME or XDG_STATE_HOME names a place for it"
            raise PflowError("cannot keep a ledger of this map", hint=hint, exit=BAD_CONFIG)
        return os.path.join(state, "maps", f"{self.run_id}.db")

    def _facts(self) -> dict[str, Any]:
        """Return what a ledger belongs to: the flow, its nodes' code, and the values of its flags."""
        given = {name: getattr(self.inputs, name) for name in ("values", "params", "data")}
        return {**self.beginning.facts(), "inputs": digest_of(kept(given)), "id": self.options.id_field}

    def _warned(self, items: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Pass items on; warn if a command has the name of a member of the first one, which it does not get."""
        for number, (index, item) in enumerate(items):
            for doubt in check_unfilled(self.wired, item) if not number and isinstance(item, dict) else ():
                say(PROGRAM, str(doubt))
            yield index, item

    def _run_items(self, ledger: Ledger, progress: MapProgress, fd: int) -> int:
        options, flags = self.options, self.flags
        here = None if self.wired.waits else os.cpu_count() or 1
        jobs = flags.jobs or (here if options.executor == "local" else sys.maxsize)
        paces = [each and each / self.shard[1] for each in (options.rpm, options.tpm)]
        limiter = Limiter(self._budget(ledger), rpm=paces[0], tpm=paces[1], most=MOST_WAITING, jobs=jobs)

        def write(data: bytes) -> None:
            if not flags.quiet:
                if os.isatty(fd):
                    progress.clear()
                write_pieces(fd, [data])

        rows = Rows(
            options.format, raw=options.raw, nul=options.nul, in_order=options.order == ITEM, errors=options.errors,
            write=write, secret=self.policy.secret_members, escapes=options.escape_formulas,
        )  # fmt: skip
        loop = MapLoop(self._warned(self.chosen), ledger, rows, self.policy, limiter, progress)
        self.items.while_idle = loop.while_idle
        try:
            loop.run(self._executor(loop, jobs))
            rows.close()
        finally:
            progress.finish()
        return self._ended(loop, progress)

    def _budget(self, ledger: Ledger) -> Budget:
        """Return the budget of this map and its resumes; a shard has its share."""
        share, shards = self.shard
        limits = {
            name: limit / shards if name == "cost" else limit // shards + (share < limit % shards)
            for name, limit in self.flags.limits.items()
        }

        def note(budget: Budget) -> None:
            ledger.note_used(budget.used, budget.seen)
            if limits:
                ledger.commit()

        whose = f"shard {self.options.shard} of the map" if shards > 1 else "the map"
        return Budget(limits, ledger.used(), ledger.seen(), whose=whose, again=self._again(self.run_id), note=note)

    def _executor(self, loop: MapLoop, jobs: int | None) -> Executor:
        def work(id: str, item: Any, parent: Parent) -> Result:
            return self.flow.run(id, item, parent.ask)

        if self.options.executor == "dask":
            from pflow.many.dask import DaskExecutor

            record = self.beginning.record(self.flags)
            most = partial(most_of_item, self.flow, questions_of(self.flow)) if self.flags.limits else None
            return DaskExecutor(self.options.scheduler, self.flow, record, loop.answer, jobs=self.flags.jobs, most=most)
        memory = self.options.max_memory and self.options.max_memory << 20
        return Pool(work, jobs=jobs or MOST_WAITING, threads=self.wired.waits, ask=loop.answer, memory=memory)

    def _ended(self, loop: MapLoop, progress: MapProgress) -> int:
        """Say how the map ended; return the exit code. Raises PflowError for why it was stopped."""
        again = self._again(self.run_id)
        if self.is_resumed and self.items.is_stdin and not progress.done:
            raise _without_items(self.run_id)
        for cause in loop.causes():
            say(PROGRAM, cause)
        if loop.stopped is not None:
            stopped = loop.stopped
            if again not in stopped.hint:
                stopped.hint = f"{again} goes on" + (f"; {stopped.hint}" if stopped.hint else "")
            raise stopped
        if changed := loop.ledger.changed:
            say(PROGRAM, f"{changed:,} items had another input than before, and were run again")
        if missed := self.is_resumed and loop.ledger.missed():
            say(PROGRAM, f"{missed:,} items that were not done have not come again; {again} takes them")
        if not progress.failed:
            return FAILED if missed else OK
        what = f"{progress.failed:,} of {progress.done:,} items failed: pflow trace {self.run_id} lists them"
        what += f"; {again} --failed tries them again"
        if begun := progress.begun_items:
            what += f"; {begun:,} of them have begun a step that does not repeat: --redo"
        say(PROGRAM, what)
        return FAILED


def _without_items(run: str) -> PflowError:
    what = f"cannot resume the map {run}: its items came through stdin, and now none came"
    return PflowError(what, hint=f"pipe them again: … | pflow resume {run}", exit=BAD_STDIN)
