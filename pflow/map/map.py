"""A map: its flags, flow and items, the estimate of its cost, and the earlier map that it goes on with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from pflow.driver.arguments import OWN, RunFlags
from pflow.driver.decisions import ResumeFlags
from pflow.driver.driver import parse
from pflow.driver.earlier_run import Reopened
from pflow.driver.initial_state import InitialState
from pflow.driver.inputs import RunInputs
from pflow.errors import BAD_CONFIG, FAILED, USAGE, PflowError
from pflow.files.directories import state_directory
from pflow.flow.findings import refuse_errors
from pflow.flow.subflow import load_named, wire_and_check
from pflow.interface.common import MOST_JOBS
from pflow.map.estimate import Estimate, estimate
from pflow.map.item import ITEM, ItemFlow
from pflow.map.items import Items, ItemSelection
from pflow.map.ledger import DONE, Ledger, parse_shard
from pflow.map.loop import Halt, ItemPolicy
from pflow.map.rows import check_errors
from pflow.record.log import FLOW
from pflow.record.runs import FINISHED, RUNNING, RecordedRun, read_kept, run_directories
from pflow.record.snapshot import kept
from pflow.stage.document import NOTHING, Document, Intake, new_run_id
from pflow.stage.words import groups
from pflow.terminal.ask import open_terminal
from pflow.terminal.messages import say
from pflow.values.digest import digest_of
from pflow.values.secrets import Secrets

PROGRAM = "pflow map"

_ANSWERS = {"g": "go on with it", "a": "begin anew", "n": "no"}


@dataclass
class MapOptions:
    """A map's own flags; the record of its run has them for a resume."""

    words: list[str] = field(default_factory=list)
    form: str = ""
    id_field: str = ""
    ledger: str = ""
    format: str = "jsonl"
    raw: bool = False
    nul: bool = False
    escape_formulas: bool = False
    order: str = ITEM
    errors: str = ""
    halt: str = ""
    limit: int | None = None
    sample: int | None = None
    shard: str = ""
    rpm: float | None = None
    tpm: float | None = None
    max_memory: int | None = None
    progress: str = ""
    executor: str = "local"
    scheduler: str = ""
    redo: bool = False
    failed: bool = False
    allow_empty: bool = False


def parse_halt(text: str) -> Halt:
    """Parse `soon|now[,fail=N|N%]`, as GNU parallel has it. Raises PflowError (2)."""
    when, _, said = text.partition(",")
    number = said.removeprefix("fail=").removesuffix("%") if said else "1"
    most = 100 if "%" in said else 10**9
    if when not in ("", "soon", "now") or not number.isdecimal() or not 0 < int(number) <= most:
        what = f"cannot take --halt={text}: it is soon or now, and how many may fail"
        raise PflowError(what, hint="--halt=soon,fail=3 or --halt=now,fail=10%", exit=USAGE)
    return Halt(float(number), said.endswith("%"), when == "now") if when else Halt()


class Map:
    """One map, begun or resumed."""

    def __init__(
        self, flags: RunFlags, options: MapOptions, inputs: RunInputs, secrets: Secrets, *, accepts_changes: bool,
        asks_nothing: bool = False, resumes: bool = False, is_resumed: bool = False,
    ) -> None:  # fmt: skip
        """With `resumes`, go on with an unfinished run of the same map, if any.

        `is_resumed` is true if this map resumes a run; it then reports the run's unfinished items that are missing from
        the input.
        """
        self.accepts_changes, self.asks_nothing = accepts_changes, asks_nothing
        self.resumes, self.is_resumed = resumes, is_resumed
        self.flags = flags
        self.options = options
        self.inputs = inputs
        self.wired = inputs.wired
        self.secrets = secrets
        self.items = Items(options.words, options.form, flags.encoding or "", allow_empty=options.allow_empty)
        self.initial = InitialState(inputs, Intake(Document(), NOTHING), secrets)
        self.flow = ItemFlow(
            inputs, secrets, vars(flags), run_id=new_run_id(), is_priced="cost" in flags.limits,
            is_gated=options.executor == "local",
        )  # fmt: skip
        if (flags.jobs or 0) > MOST_JOBS and not self.wired.waits:
            what = f"cannot take --jobs={flags.jobs}: each item of this flow has a process of its own"
            raise PflowError(what, hint=f"at most {MOST_JOBS}, but for flows that only wait", exit=USAGE)
        self.shard = parse_shard(options.shard) if options.shard else (0, 1)
        self.chosen = ItemSelection(self.items, options.limit, options.sample)
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
    def begin(
        cls, flow: str, flow_flags: list[str], flags: RunFlags, options: MapOptions, secrets: Secrets, **about: bool
    ) -> Map:
        """Load and check the flow. Raises PflowError as `pflow run` does."""
        spec = load_named([flow], is_run_here=True, item_names=(ITEM,))
        spec.item_names = (ITEM,)
        refuse_errors(spec.findings)
        if strays := [field.flag for found, _ in groups(flow_flags, OWN, is_open=True) for field in found]:
            raise PflowError(f"cannot take {strays[0]} for a map", hint="pflow map --help", exit=USAGE)
        spec.name = spec.name or "map"
        if flags.encoding:
            flow_flags = [*flow_flags, f"--encoding={flags.encoding}"]
        return cls(flags, options, parse(wire_and_check(spec, "map"), flow_flags)[1], secrets, **about)

    def foresee(self) -> Estimate:
        """Estimate the map before it begins; items that can be read only once are read for it."""
        path = self.options.ledger or next((run.ledger for run in self._unfinished_runs() if self.resumes), "")
        if not path or not os.path.exists(path) or not os.path.getsize(path):
            return self.estimate()
        with closing(Ledger(path, is_read=True)) as ledger:
            if not self.accepts_changes:
                ledger.expect(self.facts())
            return self.estimate(ledger)

    def estimate(self, ledger: Ledger | None = None, *, is_most: bool = False) -> Estimate:
        items, total = (self.chosen.first(), self.options.limit) if is_most else (self.chosen, self.total)
        jobs, rpm = self.flags.jobs or 1, self.options.rpm and self.options.rpm / self.shard[1]
        return estimate(self.flow, items, total, self.policy, ledger, is_most=is_most, jobs=jobs, rpm=rpm)

    def say(self, text: str) -> None:
        if not self.flags.quiet and self.options.progress != "none":
            say(PROGRAM, text)

    @cached_property
    def digest(self) -> str:
        """Return a digest that is the same for a later map of the same flow, flags and items, in the same directory.

        A ledger of --ledger may hold the items of several lists, so there the contents of the lists count too.
        """
        items = [getattr(self.options, name) for name in ("words", "form", "limit", "sample", "shard", "ledger")]
        items += [self.items.digest()] if self.options.ledger else []
        return digest_of([self.facts(), self.initial.place, items])

    def _unfinished_runs(self) -> Iterator[RecordedRun]:
        """Yield the unfinished runs of the same map, newest first. With --ledger, stop where another map used it."""
        wanted, digest, ledger = self.initial.flow_text(), self.digest, self.options.ledger
        path = os.path.abspath(ledger) if ledger else None
        runs = map(RecordedRun, (each for each in run_directories() if read_kept(each, FLOW) == wanted))
        same = (run for run in runs if run.map_digest == digest or run.ledger == path)
        open = takewhile(lambda run: run.map_digest == digest and run.status not in (DONE, FINISHED), same)
        return (run for run in open if run.status == RUNNING or run.is_resumable)

    def reopen_unfinished(self) -> Reopened | None:
        """Reopen the last run of the same map, if it is unfinished and this map goes on with it; else return None.

        This map continues that run if --resume is given, if it has the same --ledger and items that do not come from
        stdin, or if a person agrees.
        """
        if self.options.ledger and self.accepts_changes:
            return None
        goes_on = self.resumes or (self.options.ledger and not self.items.is_stdin)
        for run in self._unfinished_runs():
            done = 0 if goes_on else self._count_done(run)
            if goes_on or (done and run.status != RUNNING and self._goes_on(run, done)):
                reopened, self.is_resumed = Reopened(run, ResumeFlags(), self.secrets), not self.options.ledger
                reopened.flags(self.flags)  # this records the limits of this command as the run's own
                self.say(reopened.notice())
                return reopened
            if done:
                break
        return None

    def _goes_on(self, run: RecordedRun, done: int) -> bool:
        """Say what the same map has done before, and return True if a person wants to go on with it.

        Raises PflowError (1) if the person wants neither that nor a new map.
        """
        told = f"{done:,}{f' of {self.total:,}' if self.total else ''} are done in the run {run.id}"
        terminal = None if self.items.is_stdin or self.asks_nothing else open_terminal()
        if terminal is None:
            new = "has a budget of its own" if self.options.ledger else "begins anew"
            if not self.items.is_stdin or self.chosen.first():  # `first` raises if the stage before has failed
                say(PROGRAM, f"{told}: {self.resume_command(run.id)}; this map {new}, --resume goes on")
            return False
        with terminal:
            answer = terminal.choose_listed(told, _ANSWERS)
        if answer == "n":
            raise PflowError("the map was not begun", hint=f"{self.resume_command(run.id)} goes on", exit=FAILED)
        return answer == "g"

    def _count_done(self, run: RecordedRun) -> int:
        """Count the items that a run has done (only this map's, if they are known); 0 without a readable ledger."""
        try:
            with closing(Ledger(run.ledger, is_read=True)) as ledger:
                return ledger.counts().get(DONE, 0) if self.items.is_stdin else self.estimate(ledger).done
        except PflowError:
            return 0

    def resume_command(self, run: str) -> str:
        return f"{'… | ' if self.items.is_stdin else ''}pflow resume {run}"

    def ledger_path(self, run: str) -> str:
        """Return the path of the ledger: that of --ledger, else one of the run's own."""
        if self.options.ledger:
            return os.path.abspath(self.options.ledger)
        state = state_directory()
        if state is None:
            hint = "--ledger=FILE, HOME or XDG_STATE_HOME names a place for it"
            raise PflowError("cannot keep a ledger of this map", hint=hint, exit=BAD_CONFIG)
        return os.path.join(state, "maps", f"{run}.db")

    def facts(self) -> dict[str, Any]:
        """Return the facts that tell if a ledger belongs to this map: the flow, its nodes' code, its flags' values."""
        given = {name: getattr(self.inputs, name) for name in ("values", "params", "data")}
        return {**self.initial.facts(), "inputs": digest_of(kept(given)), "id": self.options.id_field}
