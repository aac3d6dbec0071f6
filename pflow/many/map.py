"""A map as a run: from its choices to its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import partial
from itertools import islice, takewhile
from typing import Any

from pflow.driver.arguments import RunFlags, own_flags
from pflow.driver.begin import Beginning
from pflow.driver.budget import Budget
from pflow.driver.driver import checked, parse, refuse_errors
from pflow.driver.inputs import RunInputs
from pflow.driver.listeners import end_of, open_log
from pflow.driver.resume.choices import Choices as Resumption
from pflow.driver.resume.reopen import Reopened, alone
from pflow.engine.commits import gate_of
from pflow.errors import BAD_CONFIG, BAD_STDIN, FAILED, OK, USAGE, PflowError
from pflow.files.directories import state_directory
from pflow.flow.flow import MOST_JOBS
from pflow.flow.rules import check
from pflow.flow.rules.paths import check_unfilled
from pflow.flow.subflow import load_named
from pflow.kit.mcp.place import begin_run
from pflow.many.estimate import Estimate, estimate, most_of_item, questions_of
from pflow.many.executor import DONE, Executor, Result
from pflow.many.item import ITEM, ItemFlow
from pflow.many.items import Items, chosen
from pflow.many.ledger import Ledger
from pflow.many.limiter import Limiter
from pflow.many.loop import Choices, MapLoop
from pflow.many.merge import parse_shard
from pflow.many.options import Options, parse_halt
from pflow.many.progress import MapProgress
from pflow.many.rows import Rows, check_errors
from pflow.process.parent import ask_parent
from pflow.process.signals import Interrupted
from pflow.process.streams import divert_prints, is_readable, write_pieces
from pflow.process.workers import Parent, Pool
from pflow.record.log import FLOW, RunLog
from pflow.record.runs import FINISHED, RUNNING, Run, read_kept, run_directories
from pflow.record.snapshot import kept
from pflow.stage.document import Document, new_run_id
from pflow.stage.intake import NOTHING, Intake
from pflow.terminal.ask import confirm, open_terminal
from pflow.terminal.messages import say
from pflow.values.digest import digest_of
from pflow.values.masks import Secrets
from pflow.words import budget

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
        self.flow = ItemFlow(inputs, secrets, vars(flags), run_id=self.run_id)
        if (flags.jobs or 0) > MOST_JOBS and not self.wired.waits:
            what = f"cannot take --jobs={flags.jobs}: each item of this flow has a process of its own"
            raise PflowError(what, hint=f"at most {MOST_JOBS}, but for flows that only wait", exit=USAGE)
        self.halt = parse_halt(options.halt)
        self.share, self.shards = parse_shard(options.shard) if options.shard else (0, 1)
        self.total = self._total()
        if options.errors:
            uses = {**dict.fromkeys(options.words, "the items come from it"), self.wired.flow.file: "it is the flow"}
            check_errors(options.errors, {options.ledger: "it is the ledger", **uses})

    @classmethod
    def begin(cls, flow: str, flow_flags: list[str], flags: RunFlags, options: Options, secrets: Secrets) -> Map:
        """Load and check the flow. Raises PflowError as `pflow run` does."""
        spec = load_named([flow], is_run_here=True, items=(ITEM,))
        spec.items = (ITEM,)
        refuse_errors(spec.findings)
        if strays := [word for word in flow_flags if word.partition("=")[0] in own_flags()]:
            raise PflowError(f"cannot take {strays[0]} for a map", hint="pflow map --help", exit=USAGE)
        spec.name = spec.name or "map"
        if flags.encoding:
            flow_flags = [*flow_flags, f"--encoding={flags.encoding}"]
        return cls(flags, options, parse(checked(spec, "map"), flow_flags)[1], secrets)

    @classmethod
    def resume(cls, run: Run, chosen: Resumption, flags: RunFlags, secrets: Secrets, *, redo: bool) -> int:
        """Go on with a map, its flags as they were but for new limits. Raises PflowError as `Reopened` does."""
        failed, chosen.failed = chosen.failed, True  # a map that is finished, with failures, goes on too
        reopened = Reopened(run, chosen, secrets)
        with reopened.reading():
            wired = reopened.load()
            refuse_errors(check(wired), "resume")
            vars(flags).update(reopened.flags(flags))
            options = Options(**reopened.begin["map"])
            options.failed, options.redo, options.raw = failed, redo, options.raw or flags.raw
            options.allow_empty = True  # _ended says what it then has to
            chosen.failed = False  # of items of batches inside an item nothing is kept
            inputs = reopened.restore(wired)[0]
            if not options.words and not is_readable("items"):
                raise _without_items(run.id)
            each = cls(flags, options, inputs, secrets)
        each.accepts_changes, each.is_resumed = chosen.accepts_changes, True
        return each.run(reopened)

    def estimate(self, ledger: Ledger | None = None) -> Estimate:
        """Estimate the map; items that can be read only once are read for it."""
        total = None if self.shards > 1 else self.total
        jobs, rpm = self.flags.jobs or 1, self.options.rpm
        return estimate(self.flow, islice(self.items, total), total, ledger, jobs=jobs, rpm=rpm)

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
                for each in ledger.told(self.run_id):
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
        if self.items.is_stdin or self.shards > 1:
            if done := ledger.counts().get(DONE, 0):
                self._say(f"{done:,} done before")
            return None
        found = self.estimate(ledger)
        self._say(found.words())
        if (
            (found.cost or 0) > MOST_UNASKED
            and not self.asks_nothing
            and confirm(f"{found.account()}. Begin?") is False
        ):
            raise PflowError("the map was not begun", exit=FAILED)
        return found.done + found.to_do

    def _say(self, text: str) -> None:
        if not self.flags.quiet:
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
        limits = {name: getattr(self.flags, name) for name in budget.BUDGET.values()}
        about = {"map": {"ledger": self.ledger_path, "digest": self._digest()}}
        more = {"map": asdict(self.options), "limits": limits}
        log = open_log(self.beginning, self.run_id, self.flags, about, more)
        assert log is not None
        return log

    def _digest(self) -> str:
        """Return what this map has in common with a later one of the same flow, flags and items, in the same place."""
        items = [getattr(self.options, name) for name in ("words", "form", "limit", "sample", "shard", "ledger")]
        return digest_of([self._facts(), self.beginning.place, items])

    def _unfinished(self) -> Reopened | None:
        """Reopen the last map that was the same, if it is unfinished, and --resume or a person wants it to go on."""
        if self.options.ledger:
            return None
        wanted, digest = self.beginning.flow_text(), self._digest()
        runs = map(Run, (each for each in run_directories() if read_kept(each, FLOW) == wanted))
        same = (run for run in runs if run.map_digest == digest)
        for run in takewhile(lambda run: run.status not in (DONE, FINISHED), same):
            done = _count_done(run)
            if self.resumes or (done and run.status != RUNNING and self._goes_on(run, done)):
                reopened, self.is_resumed = Reopened(run, Resumption(), self.secrets), True
                self._say(reopened.told())
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
            say(PROGRAM, f"{told}: {self._again(run.id)}; this map begins anew, --resume goes on")
            return False
        with terminal:
            answer = "?"
            while answer == "?":
                answer = terminal.choose(f"{told} [{', '.join(map(': '.join, _ANSWERS.items()))}] ", _ANSWERS)
        if answer == "n":
            raise PflowError("the map was not begun", hint=f"{self._again(run.id)} goes on", exit=FAILED)
        return answer == "g"

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

    def _total(self) -> int | None:
        """Return how many items the map takes, if that is known before they are read."""
        most = [each for each in (self.options.limit, self.options.sample) if each is not None]
        count = self.items.count() if self.shards == 1 else None
        return None if count is None else min([count, *most])

    def _told(self, items: Iterable[Any]) -> Iterator[Any]:
        """Pass items on; warn if a command names a member of the first one, which nothing fills there."""
        for number, item in enumerate(items):
            for doubt in check_unfilled(self.wired, item) if not number and isinstance(item, dict) else ():
                say(PROGRAM, str(doubt))
            yield item

    def _run_items(self, ledger: Ledger, progress: MapProgress, fd: int) -> int:
        options, flags = self.options, self.flags
        here = None if self.wired.waits else os.cpu_count() or 1
        jobs = flags.jobs or (here if options.executor == "local" else sys.maxsize)
        paces = [each and each / self.shards for each in (options.rpm, options.tpm)]
        limiter = Limiter(self._budget(ledger), rpm=paces[0], tpm=paces[1], most=MOST_WAITING, jobs=jobs)
        secret = frozenset(name for name, each in self.wired.inputs.items() if each.secret)

        def write(data: bytes) -> None:
            if not flags.quiet:
                if os.isatty(fd):
                    progress.clear()
                write_pieces(fd, [data])

        rows = Rows(
            options.format, raw=options.raw, nul=options.nul, in_order=options.order == ITEM, errors=options.errors,
            write=write, secret=secret,
        )  # fmt: skip
        choices = Choices(
            id_field=options.id_field, timeout=flags.timeout if options.executor == "local" else None, halt=self.halt,
            shard=(self.share, self.shards), retries_failed=options.failed, redoes=options.redo,
            shares_equals=bool(flags.cache), secret_members=secret,
        )  # fmt: skip
        items = chosen(self._told(self.items), options.limit, options.sample)
        loop = MapLoop(items, ledger, rows, choices, limiter, progress)
        self.items.while_idle = loop.while_idle
        try:
            loop.run(self._executor(loop, limiter, jobs))
            rows.close()
        finally:
            progress.finish()
        return self._ended(loop)

    def _budget(self, ledger: Ledger) -> Budget:
        """Return the budget of this map and its resumes; a shard has its share."""
        limits = {
            name: limit / self.shards if name == "cost" else limit // self.shards
            for name, limit in self.flags.limits.items()
        }

        def note(budget: Budget) -> None:
            ledger.note_used(budget.used, budget.seen)
            if limits:
                ledger.commit()

        whose = f"shard {self.options.shard} of the map" if self.shards > 1 else "the map"
        return Budget(limits, ledger.used(), ledger.seen(), whose=whose, again=self._again(self.run_id), note=note)

    def _executor(self, loop: MapLoop, limiter: Limiter, jobs: int | None) -> Executor:
        def answer(name: str, question: Any, reply: Callable[[Any], None]) -> None:
            if name == "start":
                loop.start(question)
                reply(None)
            elif name == "claim_file":
                reply(loop.ledger.claim_file(*question))
            else:
                limiter.answer(name, question, reply)

        def work(id: str, item: Any, parent: Parent) -> Result:
            budget.gate, budget.in_map = gate_of(ask_parent), True
            return self.flow.run(id, item, parent.ask)

        budget.is_priced = "cost" in self.flags.limits
        if self.options.executor == "dask":
            from pflow.many.dask import DaskExecutor

            record = self.beginning.record(self.flags)
            most = partial(most_of_item, self.flow, questions_of(self.flow)) if self.flags.limits else None
            return DaskExecutor(self.options.scheduler, self.flow, record, answer, jobs=self.flags.jobs, most=most)
        memory = self.options.max_memory and self.options.max_memory << 20
        return Pool(
            work, jobs=jobs or MOST_WAITING, threads=self.wired.waits, ask=answer, memory=memory, on_lost=limiter.lost
        )  # fmt: skip

    def _ended(self, loop: MapLoop) -> int:
        """Say how the map ended; return the exit code. Raises PflowError for why it was stopped."""
        again = self._again(self.run_id)
        if self.is_resumed and self.items.is_stdin and not loop.ended:
            raise _without_items(self.run_id)
        if loop.failed:
            say(PROGRAM, loop.cause())
        if loop.stopped is not None:
            stopped = loop.stopped
            if again not in stopped.hint:
                stopped.hint = f"{again} goes on" + (f"; {stopped.hint}" if stopped.hint else "")
            raise stopped
        if changed := loop.ledger.changed:
            say(PROGRAM, f"{changed:,} items had another input than before, and were run again")
        if missed := self.is_resumed and loop.ledger.missed():
            say(PROGRAM, f"{missed:,} items that were not done have not come again; {again} takes them")
        if not loop.failed:
            return FAILED if missed else OK
        begun = f"; {loop.begun:,} of them have begun a step that does not repeat: --redo" if loop.begun else ""
        what = f"{loop.failed:,} of {loop.ended:,} items failed: pflow trace {self.run_id} lists them"
        say(PROGRAM, f"{what}; {again} --failed tries them again{begun}")
        return FAILED


def _count_done(run: Run) -> int:
    """Count the items that a map has done; 0 without a ledger that can be read."""
    try:
        with closing(Ledger(run.ledger, is_read=True)) as ledger:
            return ledger.counts().get(DONE, 0)
    except PflowError:
        return 0


def _without_items(run: str) -> PflowError:
    what = f"cannot resume the map {run}: its items came through stdin, and now none came"
    return PflowError(what, hint=f"pipe them again: … | pflow resume {run}", exit=BAD_STDIN)
