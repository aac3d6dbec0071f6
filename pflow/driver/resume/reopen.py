"""A run that is reopened: found and locked, its flow and inputs as they were, its journal open."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.binding.flag_value import read_text
from pflow.binding.sources import has
from pflow.driver.arguments import RunFlags
from pflow.driver.begin import enter, is_same, restore_environment, restore_flow, restore_inputs, restore_intake
from pflow.driver.inputs import RunInputs
from pflow.driver.resume.choices import Choices, Decision, cannot_resume
from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, FAILED, Attempt, PflowError, Within
from pflow.files.atomic import open_private, take_turn
from pflow.files.directories import make_private
from pflow.files.reading import Opened
from pflow.files.state_key import state_key
from pflow.flow.findings import refuse_errors
from pflow.flow.rules import check
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.interface.interface import fresh, spell_flag
from pflow.record.journal import ANEW, UNSEALED, Journal, bounds_seal, first_record, seal, unseal
from pflow.record.log import FLOW, RunLog, runs_directory
from pflow.record.records import JOURNAL, UNSOUND, name_of
from pflow.record.runs import DONE, FINISHED, RUNNING, Run, read_kept, run_directories
from pflow.stage import WRITER
from pflow.stage.document import Intake
from pflow.stage.trace import event_line
from pflow.terminal.ask import ask
from pflow.terminal.messages import say
from pflow.values.digest import keyed_digest
from pflow.values.secrets import Secrets
from pflow.values.usage import BUDGET

if TYPE_CHECKING:
    from pflow.driver.begin import Beginning, Facts
    from pflow.record.records import Change, Record


class Reopened:
    """A run that nobody else can resume meanwhile. `events` are those of its log so far."""

    def __init__(self, run: Run, choices: Choices, secrets: Secrets) -> None:
        """Raises PflowError: 1 if there is nothing to resume, 75 while it is running, 65 if it is damaged."""
        if run.status != RUNNING:
            _refuse_finished(run, choices)
        self.choices = choices
        self.log = RunLog.reopen(run.directory, run.ms or 0)
        self.run = run = Run(run.directory)  # as it is now that nobody else writes
        _refuse_finished(run, choices)
        self.events = run.events()[0]
        with Within(f"cannot resume the run {run.id}"):
            self.journal = self.log.journal = Journal(run.directory, secrets, state_key())
        if self.journal.records is None:
            raise cannot_resume(run.id, "it was ended before anything ran", "pflow run begins it anew", FAILED)
        self.records = self.journal.records
        self.begin = self.records.begin
        self.decided: list[Record] = []
        if not {"store", "inputs", "place", "nodes", "key", "bounds"} <= self.begin.keys():
            kept = f"pflow map … --ledger={run.ledger} --accept-changes keeps what it has done" if run.ledger else ""
            raise cannot_resume(run.id, "another version of pflow began it", kept or _anew(run), BAD_DATA)
        if self.begin["key"] != keyed_digest(self.journal.key, ""):
            raise cannot_resume(run.id, "the key of pflow's state has changed", ANEW, BAD_CONFIG)
        if self.begin["bounds"] != bounds_seal(run.id, self.begin["place"]):
            raise cannot_resume(run.id, UNSEALED, ANEW, BAD_CONFIG)

    @property
    def models(self) -> list[list[str]]:
        """The models that were chosen so far, each after its step and param."""
        return list(self.records.begin.get("models", ()))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Refuse a run whose journal has what no pflow of this version has written. Raises PflowError (65)."""
        try:
            yield
        except UNSOUND as error:
            why = f"its journal is damaged, or of another version ({type(error).__name__})"
            raise cannot_resume(self.run.id, why, _anew(self.run), BAD_DATA) from error

    def load(self) -> WiredFlow:
        """Go to the run's directory, and return its flow.

        Raises PflowError: 66 if one is gone, 65 if it is damaged or breaks a rule.
        """
        place = self.begin["place"]
        enter(place["directory"], "resume the run")
        restore_environment(self.begin)
        flow = restore_flow(self.run.directory, place)
        flow.items = ("item",) if "map" in self.begin else flow.items
        wired = wire(flow)
        refuse_errors(check(wired), "resume")
        return wired

    def restore(self, flow: WiredFlow) -> tuple[RunInputs, Intake]:
        """Return what the run began with. Raises PflowError (78) if a secret is missing, or has changed."""
        begin = fresh(self.begin)  # what the journal has stays sealed
        others = unseal(begin, self._find_secret, self.journal.key)
        if others and not self.choices.accepts_changes:
            hint = f"pflow resume {self.run.id} --accept-changes resumes it anyway"
            raise cannot_resume(self.run.id, f"the secret '{others[0]}' has changed", hint, BAD_CONFIG)
        intake = restore_intake(begin)
        inputs = restore_inputs(begin, flow, intake)
        inputs.reopened = self
        return inputs, intake

    def flags(self, flags: RunFlags) -> dict[str, Any]:
        """Return the flags of the run with the limits that `flags` sets anew, which its resumes keep."""
        limits = (*BUDGET.values(), "max_visits")
        new = {name: value for name in limits if (value := getattr(flags, name))}
        before = self.begin
        with self.reading():
            for part in {"flags", "limits"} & before.keys():  # the budget of a run without a map is in its log
                self.begin = {**self.begin, part: {name: new.get(name, value) for name, value in before[part].items()}}
            kept = {**self.begin["flags"], **self.begin.get("limits", {})}
            if not all(isinstance(kept.get(name), int | float | None) for name in (*limits, "timeout", "jobs")):
                raise TypeError("a limit is not a number")
        self.decided += [self.begin] * (self.begin != before)
        return kept

    def _secrets(self) -> dict[str, str]:
        """Return a digest of each variable that holds a secret. Raises PflowError (78) if one is not set any more."""
        for name in self.begin["secrets"]:
            if not os.environ.get(name):
                why = f"it needs the secret in {name} again"
                raise cannot_resume(self.run.id, why, f"set {name}", BAD_CONFIG)
        return {name: keyed_digest(self.journal.key, os.environ[name]) for name in self.begin["secrets"]}

    def _find_secret(self, name: str) -> str:
        """Return the text of a secret, from its file or a person."""
        flag = spell_flag(name)
        file, question = self.choices.files.get(name), f"{name} (a secret of the run {self.run.id}): "
        text = read_text(flag, file) if file else ask(question, is_secret=True)
        if not text:
            why = f"it needs the secret '{name}' again"
            raise cannot_resume(self.run.id, why, f"{flag}@FILE has its text", BAD_CONFIG)
        self.journal.secrets.add(text)
        return text

    def settle(self, beginning: Beginning) -> None:
        """Compare the flow with what the run began with (78), and decide what runs again. Raises as `Decision` does."""
        with self.reading():
            decision = Decision(self.run.id, beginning.wired, self.records, self.choices)
            facts = {**beginning.facts(), "secrets": self._secrets()}
            if not self.choices.accepts_changes:
                _refuse_drift(self.run.id, self.begin, facts)
                if changed := self._changed(decision.runs_again):
                    raise self._refused(changed)
            else:
                if facts != {name: self.begin[name] for name in facts}:
                    self.decided.append({**self.begin, **facts})
                self.decided += self.records.files.accepted()
            self.decided += decision.decide(lambda path: has(beginning.store, path))

    def _changed(self, runs_again: Callable[[str], bool]) -> list[Change]:
        """Return the changes of files that were read by steps which are done and do not run again."""
        return [*self.records.files.changes(lambda path: bool(self.records.done_with(path)) and not runs_again(path))]

    def _refused(self, changed: list[Change], more: str = "") -> PflowError:
        step = name_of(self.records.done_with(changed[0][2]))
        hint = f"pflow resume {self.run.id} --from={step} reads it again, --accept-changes goes on with what was read"
        return cannot_resume(self.run.id, f"{_told_files(changed)}{more}", hint, BAD_CONFIG)

    def is_outdated(self, quiet: bool) -> bool:
        """Return True if files that it read have changed, and say so. Raises PflowError (78) if it may not repeat."""
        if "superseded" in self.begin:
            return True
        changed = self._changed(lambda path: False)
        if changed and "started" in self.begin:
            more = f"; a new run cannot begin, since '{name_of(self.begin['started'])}' may not repeat"
            raise self._refused(changed, more)
        if changed:
            self.journal.write({"superseded": True})
            if not quiet:
                say("pflow run", f"beginning anew, not resuming the run {self.run.id}: {_told_files(changed)}")
        return bool(changed)

    def notice(self) -> str:
        """Return the words that say which run is resumed."""
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.run.begun))
        return f"resuming the run {self.run.id}, begun {begun}"

    def commit(self) -> None:
        """Note in the log that the run goes on; keep all decisions or none."""
        self.log.line(event_line("resume", {"pid": os.getpid(), "by": WRITER, **self.choices.about()}))
        if self.decided:
            record = {"decided": self.decided}
            self.journal.write(record)
            self.records.add(record)


def _anew(run: Run) -> str:
    """Return the hint for a run that cannot be resumed: how to do its work again."""
    return ANEW if run.is_map else f"pflow replay {run.id} runs it anew"


def _told_files(changed: list[Change]) -> str:
    """Name the files that have changed, the first three of them."""
    here = os.path.join(os.getcwd(), "")
    words = [
        f"'{path.removeprefix(here)}', which '{name_of(visit)}' read, {how}" for _, path, visit, how in changed[:3]
    ]
    return "; ".join(words + [f"and {len(changed) - 3:,} more"] * (len(changed) > 3))


def _refuse_drift(run: str, before: Facts, now: Facts) -> None:
    """Raise PflowError (78), naming all changes, if something has changed since a run began."""
    changes = list(_changes(before["nodes"], now["nodes"]))
    if before["flow"] != now["flow"]:
        changes.insert(0, "its flow has changed")
    others = [name for name, digest in before["secrets"].items() if digest != now["secrets"][name]]
    changes += [f"the secret in {name} has changed" for name in others]
    if changes:
        hint = f"pflow resume {run} --accept-changes resumes it anyway"
        raise cannot_resume(run, "; ".join(changes), hint, BAD_CONFIG)


def _changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield each change in words."""
    for id, fact in before.items():
        there = now.get(id, {})
        if fact["version"] != there.get("version"):
            yield f"'{id}' is {fact['type']} {there.get('version')}, was {fact['version']}"
        for part in sorted(fact["code"].keys() | there.get("code", {}).keys()):
            was, is_now = fact["code"].get(part), there.get("code", {}).get(part)
            if was != is_now:
                yield f"'{id}': {part} {_how(was, is_now)}"


def _how(was: str | None, is_now: str | None) -> str:
    if was is None or is_now is None:
        return "is new" if was is None else "is gone"
    return "has changed" if len(was) == 64 else f"is {is_now}, was {was}"


def _refuse_finished(run: Run, choices: Choices) -> None:
    """Raise PflowError (1) for a run that has nothing to resume."""
    has_journal = os.path.isfile(os.path.join(run.directory, JOURNAL))  # an empty one too: it was ended at once
    if has_journal and (choices.runs_again or run.status not in (DONE, FINISHED)):
        return
    why, hint = "it kept no journal", _anew(run)
    if run.status == DONE and run.ledger:
        why, hint = "it is done", f"pflow map … --ledger={run.ledger} prints its results again"
    elif run.status == DONE:
        more = f"{hint}; pflow run --keep-store keeps what --from and --only need"
        why, hint = "it is done", "--from=STEP and --only=STEP run steps of it again" if has_journal else more
    elif has_journal:
        why, hint = "it is finished, with failures", "--failed runs its failed items again"
    elif run.exit is None and all(event["event"] != "start" for event in run.events()[0]):
        why, hint = "it was ended before anything ran", "pflow run begins it anew"
    raise cannot_resume(run.id, why, hint, FAILED)


@contextmanager
def alone() -> Iterator[None]:
    """Keep other processes from looking for an unfinished run until this one has found or begun one."""
    place = runs_directory()
    if place is None:
        yield
        return
    with Attempt(f"cannot look for an unfinished run in '{place}'", exit=CANNOT_WRITE):
        make_private(place)
        fd = open_private(os.path.join(place, ".resuming"))
    with Opened(fd):
        take_turn(fd)
        yield


def find_unfinished(beginning: Beginning, flags: RunFlags) -> Reopened | None:
    """Reopen the newest unfinished run that began alike, else return None. Raises PflowError as `Reopened` does."""
    wanted, record = beginning.flow_text(), beginning.record(flags)
    seal(record, beginning.secrets, state_key())
    for directory in run_directories():
        if read_kept(directory, FLOW) != wanted:
            continue
        before = first_record(directory)
        if before is not None and {"begin", "store"} <= before.keys() and is_same(before, record):
            run = Run(directory)
            if run.status not in (DONE, FINISHED) and "map" not in before:
                found = Reopened(run, Choices(), beginning.secrets)
                if not found.is_outdated(flags.quiet):
                    return found
                found.journal.finish(is_kept=True)
                found.log.release()
                break
    return None
