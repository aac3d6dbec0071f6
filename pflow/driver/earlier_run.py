"""Resuming an earlier run where it stopped, and replaying one from its beginning."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.binding.flag_value import read_text
from pflow.binding.sources import Constant, has
from pflow.driver.arguments import RunFlags
from pflow.driver.decisions import Decision, ResumeFlags, cannot_resume, refuse_drift
from pflow.driver.initial_state import enter, is_same, restore_environment, restore_flow, restore_inputs, restore_intake
from pflow.driver.inputs import RunInputs
from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, FAILED, MISSING, Attempt, PflowError, Within
from pflow.files.atomic import open_private, take_turn
from pflow.files.directories import make_private
from pflow.files.reading import Opened
from pflow.files.state_key import state_key
from pflow.flow.findings import refuse_errors
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_hash
from pflow.flow.rules import check
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.interface import fresh, spell_flag
from pflow.record.journal import NEW_RUN_HINT, UNSEALED, Journal, bounds_seal, first_record, seal, unseal
from pflow.record.log import FLOW, RunLog, runs_directory
from pflow.record.records import JOURNAL, UNSOUND, step_name
from pflow.record.runs import DONE, FINISHED, RUNNING, RecordedRun, read_kept, run_directories
from pflow.record.snapshot import Snapshot, environment_params, own_params
from pflow.stage import VERSION, WRITER
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake, take_in
from pflow.stage.trace import event_line
from pflow.terminal.ask import ask
from pflow.terminal.messages import say
from pflow.values.digest import keyed_digest
from pflow.values.paths import Path, parse_path, write_path
from pflow.values.secrets import Secrets
from pflow.values.usage import BUDGET

if TYPE_CHECKING:
    from pflow.driver.initial_state import InitialState
    from pflow.record.records import Change, Record


class Reopened:
    """A run that is resumed, and locked so that no other process resumes it. `events` are those in its log so far."""

    def __init__(self, run: RecordedRun, choices: ResumeFlags, secrets: Secrets) -> None:
        """Raises PflowError: 1 if there is nothing to resume, 75 while it is running, 65 if it is damaged."""
        if run.status != RUNNING:
            _refuse_finished(run, choices)
        self.choices = choices
        self.log = RunLog.reopen(run.directory, run.ms or 0)
        self.run = run = RecordedRun(run.directory)  # read again: before we had the lock, its process may have written
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
            raise cannot_resume(run.id, "the key of pflow's state has changed", NEW_RUN_HINT, BAD_CONFIG)
        if self.begin["bounds"] != bounds_seal(run.id, self.begin["place"]):
            raise cannot_resume(run.id, UNSEALED, NEW_RUN_HINT, BAD_CONFIG)

    @property
    def models(self) -> list[list[str]]:
        """The models that were chosen so far, each after its step and param."""
        return list(self.records.begin.get("models", ()))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Refuse a journal with contents that this version of pflow does not write. Raises PflowError (65)."""
        try:
            yield
        except UNSOUND as error:
            why = f"its journal is damaged, or of another version ({type(error).__name__})"
            raise cannot_resume(self.run.id, why, _anew(self.run), BAD_DATA) from error

    def load(self) -> WiredFlow:
        """Go to the run's directory, and return its flow.

        Raises PflowError: 66 if the directory or the flow is gone, 65 if the flow is damaged or breaks a rule.
        """
        place = self.begin["place"]
        enter(place["directory"], "resume the run")
        restore_environment(self.begin)
        flow = restore_flow(self.run.directory, place)
        flow.item_names = ("item",) if "map" in self.begin else flow.item_names
        wired = wire(flow)
        refuse_errors(check(wired), "resume")
        return wired

    def restore(self, flow: WiredFlow) -> tuple[RunInputs, Intake]:
        """Return the inputs and the intake that the run began with.

        Raises PflowError (78) if a secret is missing, or has changed.
        """
        begin = fresh(self.begin)  # a copy: the record itself is written again, with its secrets sealed
        others = unseal(begin, self._find_secret, self.journal.key)
        if others and not self.choices.accepts_changes:
            hint = f"pflow resume {self.run.id} --accept-changes resumes it anyway"
            raise cannot_resume(self.run.id, f"the secret '{others[0]}' has changed", hint, BAD_CONFIG)
        intake = restore_intake(begin)
        inputs = restore_inputs(begin, flow, intake)
        inputs.reopened = self
        return inputs, intake

    def flags(self, flags: RunFlags) -> dict[str, Any]:
        """Return the flags of the run with the new limits in `flags`, which later resumes keep."""
        limits = (*BUDGET.values(), "max_visits")
        new = {name: value for name in limits if (value := getattr(flags, name))}
        before = self.begin
        with self.reading():
            for part in {"flags", "limits"} & before.keys():  # only a map has `limits` here; a run's are in the log
                self.begin = {**self.begin, part: {name: new.get(name, value) for name, value in before[part].items()}}
            kept = {**self.begin["flags"], **self.begin.get("limits", {})}
            if not all(isinstance(kept.get(name), int | float | None) for name in (*limits, "timeout", "jobs")):
                raise TypeError("a limit is not a number")
        self.decided += [self.begin] * (self.begin != before)
        return kept

    def _secrets(self) -> dict[str, str]:
        """Return the digest of each secret environment variable. Raises PflowError (78) if one is no longer set."""
        for name in self.begin["secrets"]:
            if not os.environ.get(name):
                why = f"it needs the secret in {name} again"
                raise cannot_resume(self.run.id, why, f"set {name}", BAD_CONFIG)
        return {name: keyed_digest(self.journal.key, os.environ[name]) for name in self.begin["secrets"]}

    def _find_secret(self, name: str) -> str:
        """Return the text of a secret, from the file that a flag names or from a person."""
        flag = spell_flag(name)
        file, question = self.choices.files.get(name), f"{name} (a secret of the run {self.run.id}): "
        text = read_text(flag, file) if file else ask(question, is_secret=True)
        if not text:
            why = f"it needs the secret '{name}' again"
            raise cannot_resume(self.run.id, why, f"{flag}@FILE has its text", BAD_CONFIG)
        self.journal.secrets.add(text)
        return text

    def settle(self, initial: InitialState) -> None:
        """Decide what runs again.

        Raises PflowError: 78 if the flow, a secret or a file has changed and that is not accepted; as `Decision`.
        """
        with self.reading():
            decision = Decision(self.run.id, initial.wired, self.records, self.choices)
            facts = {**initial.facts(), "secrets": self._secrets()}
            if not self.choices.accepts_changes:
                refuse_drift(self.run.id, self.begin, facts)
                if changed := self._changed(decision.runs_again):
                    raise self._refused(changed)
            else:
                if facts != {name: self.begin[name] for name in facts}:
                    self.decided.append({**self.begin, **facts})
                self.decided += self.records.files.accepted()
            self.decided += decision.decide(lambda path: has(initial.store, path))

    def _changed(self, runs_again: Callable[[str], bool]) -> list[Change]:
        """Return the changes of files that were read by finished steps which do not run again."""
        return [
            *self.records.files.changes(lambda path: bool(self.records.outermost_done(path)) and not runs_again(path))
        ]

    def _refused(self, changed: list[Change], more: str = "") -> PflowError:
        step = step_name(self.records.outermost_done(changed[0][2]))
        hint = f"pflow resume {self.run.id} --from={step} reads it again, --accept-changes goes on with what was read"
        return cannot_resume(self.run.id, f"{_told_files(changed)}{more}", hint, BAD_CONFIG)

    def is_outdated(self, quiet: bool) -> bool:
        """Return True if files that the run read have changed, so that a new run has to begin; unless `quiet`, say so.

        Raises PflowError (78) if the run has begun a step that must not be repeated.
        """
        if "superseded" in self.begin:
            return True
        changed = self._changed(lambda path: False)
        if changed and "started" in self.begin:
            more = f"; a new run cannot begin, since '{step_name(self.begin['started'])}' may not repeat"
            raise self._refused(changed, more)
        if changed:
            self.journal.write({"superseded": True})
            if not quiet:
                say("pflow run", f"beginning anew, not resuming the run {self.run.id}: {_told_files(changed)}")
        return bool(changed)

    def notice(self) -> str:
        """Return the message that says which run is resumed."""
        begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.run.begun))
        return f"resuming the run {self.run.id}, begun {begun}"

    def commit(self) -> None:
        """Note in the log that the run goes on; keep all decisions or none."""
        self.log.write_line(event_line("resume", {"pid": os.getpid(), "by": WRITER, **self.choices.about()}))
        if self.decided:
            record = {"decided": self.decided}
            self.journal.write(record)
            self.records.add(record)


def _anew(run: RecordedRun) -> str:
    """Return the hint for a run that cannot be resumed: how to do its work again."""
    return NEW_RUN_HINT if run.is_map else f"pflow replay {run.id} runs it anew"


def _told_files(changed: list[Change]) -> str:
    """Name the files that have changed, the first three of them."""
    here = os.path.join(os.getcwd(), "")
    words = [
        f"'{path.removeprefix(here)}', which '{step_name(visit)}' read, {how}" for _, path, visit, how in changed[:3]
    ]
    return "; ".join(words + [f"and {len(changed) - 3:,} more"] * (len(changed) > 3))


def _refuse_finished(run: RecordedRun, choices: ResumeFlags) -> None:
    """Raise PflowError (1) for a run that has nothing to resume."""
    # An empty journal counts too: its run was killed before it wrote the first record.
    has_journal = os.path.isfile(os.path.join(run.directory, JOURNAL))
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
def exclusive_search() -> Iterator[None]:
    """Keep other processes from looking for an unfinished run until this one has found or begun one.

    Two that look at once would both find none, and both begin.
    """
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


def find_unfinished(initial: InitialState, flags: RunFlags) -> Reopened | None:
    """Reopen the newest unfinished run that began alike, else return None. Raises PflowError as `Reopened` does."""
    wanted, record = initial.flow_text(), initial.record(flags)
    seal(record, initial.secrets, state_key())
    for directory in run_directories():
        if read_kept(directory, FLOW) != wanted:
            continue
        before = first_record(directory)
        if before is not None and {"begin", "store"} <= before.keys() and is_same(before, record):
            run = RecordedRun(directory)
            if run.status not in (DONE, FINISHED) and "map" not in before:
                found = Reopened(run, ResumeFlags(), initial.secrets)
                if not found.is_outdated(flags.quiet):
                    return found
                found.journal.finish(is_kept=True)
                found.log.release()
                break
    return None


class Replay:
    """A run to be replayed. Raises PflowError: 65 if its snapshot is damaged, 78 if its seal is missing or wrong."""

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        kept = Snapshot.of(run)
        if kept is None:
            what = f"cannot replay the run '{run.id}': its snapshot is missing or damaged"
            raise PflowError(what, hint=f"pflow trace {run.id} shows what is known of it", exit=BAD_DATA)
        self.kept = kept
        if kept.seal != bounds_seal(run.id, kept.place):
            raise PflowError(f"cannot replay the run '{run.id}': {UNSEALED}", hint=NEW_RUN_HINT, exit=BAD_CONFIG)

    def flow(self) -> FlowSpec:
        """Go to the run's directory, and load its flow. Raises PflowError: 66 if either is gone, 65 if damaged."""
        enter(self.kept.place["directory"], "replay the run")
        return restore_flow(self.run.directory, self.kept.place)

    def inputs(self, wired: WiredFlow) -> RunInputs:
        """Return the values of flags, answers and variables; unset each variable that was not set then.

        Raises PflowError (78) if a secret variable is not set now.
        """
        if flow_hash(wired) != self.kept.flow_hash:
            say("pflow replay", "warning: the version of a node, or a subflow, has changed since the run")
        inputs = RunInputs(wired)
        inputs.replayed, inputs.confined = self.kept, self.kept.place["confined"]
        for id, params in self.kept.config_overrides.items():
            for name, value in params.items() if id in wired.steps else ():
                self._set_param(inputs, wired.steps[id], name, value)
        for text, value in self.kept.cli_injections.items():
            if text not in self.kept.piped["paths"]:
                _inject(inputs, parse_path(text), value)
        for id, name, field in list(environment_params(wired, inputs.params)):
            if name not in self.kept.config_overrides.get(id, {}):
                os.environ.pop(field.env, None)
        return inputs

    def _set_param(self, inputs: RunInputs, step: WiredStep, name: str, value: Any) -> None:
        field = dict(own_params(step)).get(name)
        if field is None or not field.is_secret:
            is_path = field is not None and field.type.is_path and isinstance(value, bytes)
            inputs.set_param(step, name, os.fsdecode(value) if is_path else value)
        elif not os.environ.get(field.env):
            what = f"cannot replay the run '{self.run.id}': the secret '{name}' of '{step.id}' is missing"
            raise PflowError(what, hint=f"{field.env} in the environment gives it", exit=BAD_CONFIG)

    def intake(self, timeout: float | None = None) -> Intake:
        """Return the piped data of the run. If it was not kept whole, read it from stdin (Snapshot.follow checks it).

        Raises PflowError if stdin has no data: 78 if the data was secret, else 66.
        """
        piped = self.kept.piped
        if piped["again"]:
            taken = take_in(source="text" if piped["as"] == RAW else piped["as"], timeout=timeout)
            if taken.kind in (EMPTY, NOTHING):
                is_secret = not all("$digest" in self.kept.cli_injections[path] for path in piped["again"])
                why = "it is a secret" if is_secret else "it is larger than 10 MB"
                what = f"cannot replay the run '{self.run.id}': its piped input was not kept, since {why}"
                hint = f"pipe it again: … | pflow replay {self.run.id}"
                raise PflowError(what, hint=hint, exit=BAD_CONFIG if is_secret else MISSING)
            return taken
        document = Document({"v": VERSION, **({"last": piped["last"]} if piped["last"] else {})})
        for path in map(parse_path, piped["paths"]):
            if len(path) == 1:  # a longer path names the part of such a key that the first step read
                document.set(str(path[0]), self.kept.cli_injections[write_path(path)])
        if piped["as"] == "json":
            document.own = [key for key in document if key != "stdin"]
        raw = document["stdin"] if piped["as"] == RAW else b""
        data = raw if isinstance(raw, bytes) else str(raw).encode()
        return Intake(document, STORE if piped["as"] == "json" else piped["as"], data)


def _inject(inputs: RunInputs, path: Path, value: Any) -> None:
    """Set a value in the same way as the run's flag did."""
    wired = inputs.wired
    for name, known in wired.inputs.items():
        if path == (known.path if known.step is None else (known.step, known.read)):
            inputs.set_input(name, value)
            return
    step = wired.steps.get(str(path[0])) if len(path) == 2 else None
    if _is_in_flow(wired, path, value):
        return
    if step is None:
        inputs.values[write_path(path)] = value
    else:
        inputs.data.setdefault(step.id, {})[str(path[1])] = value


def _is_in_flow(wired: WiredFlow, path: Path, value: Any) -> bool:
    """Return True if the flow itself has this value for a step: the step will store it when it runs."""
    for step in wired.steps.values():
        for key in step.step.inputs:
            source = step.sources.get(key)
            if path in ((step.id, key), step.data_place(key)) and isinstance(source, Constant):
                return bool(source.value == value)
    return False
