"""The decisions before a run is resumed: what has changed, and which interrupted or finished steps run again."""

from __future__ import annotations

from dataclasses import dataclass, field

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.binding.sources import AlternativeSource
from pflow.errors import BAD_CONFIG, BAD_DATA, FAILED, MISSING, USAGE, PflowError
from pflow.flow.graph import END, Write
from pflow.flow.references import uses
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.record.records import batch_of, is_within, outer_paths, step_name
from pflow.terminal.ask import open_terminal
from pflow.values.paths import Path

if TYPE_CHECKING:
    from pflow.driver.initial_state import Facts
    from pflow.record.records import Record, Records

_FORK = ":fork"
"""The end of a fork's path: it follows the path of the step before the fork."""

_KEYS = {"r": "run it again", "d": "take it as done", "s": "stop"}


@dataclass
class ResumeFlags:
    """The flags of `pflow resume`: names of steps, what runs again, and the files of secrets by name."""

    redo: set[str] = field(default_factory=set)
    skip: set[str] = field(default_factory=set)
    start: str | None = None
    only: str | None = None
    failed: bool = False
    accepts_changes: bool = False
    files: dict[str, str] = field(default_factory=dict)

    def about(self) -> dict[str, Any]:
        """Return the steps by flag, for an event."""
        known = {"redo": sorted(self.redo), "skip": sorted(self.skip), "from": self.start, "only": self.only}
        return {name: value for name, value in known.items() if value}

    @property
    def runs_again(self) -> bool:
        """True if something that is done runs again."""
        return self.failed or self.start is not None or self.only is not None


class Decision:
    """The decisions before a run is resumed, as records for its journal."""

    def __init__(self, run: str, flow: WiredFlow, records: Records, choices: ResumeFlags) -> None:
        """Raises PflowError: 2 for an unknown step, and for a step in both --redo and --skip; 1 for a step of --from or
        --only that has not run, and for --failed without a failed item; 66 if a value is lost that the step needs.
        """
        self.run = run
        self.flow = flow
        self.records = records
        self.choices = choices
        self.steps = steps_by_name(flow)
        for flag, names in choices.about().items():
            for name in [names] if isinstance(names, str) else names:
                refuse_unknown(flow, flag, name)
        if both := choices.redo & choices.skip:
            what = f"cannot take --redo and --skip for '{min(both)}'"
            raise PflowError(what, hint="choose one", exit=USAGE)
        self.again: list[Record] = []
        if choices.start is not None:
            self.again += self._again(choices.start, with_later=True)
        if choices.only is not None:
            self.again += self._again(choices.only, with_later=False)
        if choices.failed:
            self.again += self._failed()

    def decide(self, is_there: Callable[[Path], bool]) -> Iterator[Record]:
        """Yield the records. `is_there` returns True for a place of the store that the run began with.

        Raises PflowError: 65 if a step is undecided, 66 if a later step needs a skipped one, 2 for a step in --redo or
        --skip that was not interrupted.
        """
        yield from self.again
        yield from self._settle([path for path in self.records.interrupted if not self.runs_again(path)], is_there)

    def runs_again(self, path: str) -> bool:
        """Return True if --from, --only or --failed runs a visit again."""
        return any(is_within(path, record["again"]) for record in self.again if "again" in record)

    def _again(self, name: str, *, with_later: bool) -> Iterator[Record]:
        """Yield the records that forget a step's visits, the visits around these and, `with_later`, the later visits.

        Raises PflowError: 1 if the step has not run, 66 if compaction has removed a value that it needs.
        """
        done = list(self.records.done)
        known = [*done, *self.records.interrupted, *self.records.failed]
        holds: dict[str, bool] = {}
        for path in known:
            for outer in outer_paths(path):
                holds[outer] = holds.get(outer, False) or is_of(path, name)
        around = {path for path in known if name.startswith(f"{step_name(path)}/")}
        if lost := next((step_name(path) for path in around if path not in holds), None):
            what = f"cannot run '{name}' again: only the final result of '{lost}' is kept"
            raise PflowError(what, hint=f"--from={lost} or --only={lost} runs all of it", exit=MISSING)
        if not any(is_of(path, name) for path in known):
            what = f"cannot run '{name}' again: it has not run yet"
            raise PflowError(what, hint=f"pflow resume {self.run} goes on", exit=FAILED)
        first = next((at for at, path in enumerate(done) if is_of(path, name)), len(done))
        later = [*done[first:], *known[len(done) :]]
        again = [path for path in later if is_again(self.flow, name, path, with_later=with_later)]
        self._refuse_replaced(name, done, set(again))
        forgotten: set[str] = set()
        for path in sorted(again, key=len):  # an outer visit first: forgetting it forgets what is inside
            visit = path.rpartition("[")[0] if path.endswith("]") else path
            if path in around:
                yield from [{"failed": path}] * holds[path]
            elif forgotten.isdisjoint([visit, *outer_paths(visit)]):
                forgotten.add(visit)
                yield {"again": visit}

    def _failed(self) -> Iterator[Record]:
        """Yield the records that forget the failed items of batches, and the visits after their batches.

        The items of a later batch stay done, and run again only if their values change. But if the batch also reads
        other values from a step that runs again, all its items run again.
        """
        done = list(self.records.done)
        items = [path for path in done if "error" in self.records.done[path]]
        if not items:
            raise cannot_resume(self.run, "no item of a batch failed", f"pflow trace {self.run} shows it", FAILED)
        around = {outer for path in items for outer in outer_paths(path)}
        names = {step_name(path) for path in items}
        later = [
            path
            for path in done[done.index(items[0]) :]
            if any(is_again(self.flow, name, path, with_later=True) for name in names)
        ]
        runs_again = {step_name(path) for path in later}
        kept = {name for name in self.steps if self._keeps_items(name, runs_again)}
        found: dict[str, Record] = {}
        for path in later:
            inside = [each for each in (*outer_paths(path), path) if each.endswith("]") and each not in around]
            visit = batch_of(inside[0]) if inside else path
            is_kept = step_name(visit) in kept
            if path in items:
                found[path] = {"again": path}
            elif path in around or (is_kept and not inside):
                found[path] = {"failed": path}
            elif not is_kept:
                found[visit] = {"again": visit}
        yield from found.values()

    def _keeps_items(self, name: str, again: set[str]) -> bool:
        """Return True for a batch that reads nothing but its list of items from the other steps of `again`."""
        flow, step = self.steps[name]
        if step.step.batch is None or not step.is_known:
            return False
        prefix = name.removesuffix(step.id)
        # Without a key, it is the list of items that is read.
        taken = (writes for _, reader, key, writes in uses(flow) if reader == step.id and key)
        used = {prefix + write.step for writes in taken for write in writes}
        return used.isdisjoint(again - {name})

    def _refuse_replaced(self, name: str, done: list[str], again: set[str]) -> None:
        """Raise PflowError (66) if a visit that runs again needs values that compaction dropped from an earlier one,
        since a later visit of the same step replaced them.
        """
        seen: list[str] = []
        for at, path in enumerate(done):
            if path in again:
                later = {step_name(each) for each in done[at:]}
                if lost := next((each for each in seen if step_name(each) in later), None):
                    what = (
                        f"cannot run '{name}' again: the result of '{step_name(lost)}' in an earlier round is not kept"
                    )
                    raise PflowError(what, hint=f"--from={step_name(lost)} runs that again, too", exit=MISSING)
            elif self.records.done[path].get("dropped"):
                seen.append(path)

    def _settle(self, interrupted: list[str], is_there: Callable[[Path], bool]) -> Iterator[Record]:
        """Yield a record for each interrupted visit and item, which makes it run again or counts it as done."""
        found: dict[str, list[str]] = {}
        for path in interrupted:
            found.setdefault(step_name(path), []).append(path)
        for flag, names in (("--redo", self.choices.redo), ("--skip", self.choices.skip)):
            for name in sorted(names - found.keys()):
                hint = self._hint_for(name)
                raise PflowError(f"cannot take {flag}={name}: it was not interrupted", hint=hint, exit=USAGE)
        open_ones = {name: paths for name, paths in found.items() if name not in self.choices.redo | self.choices.skip}
        redo = self.choices.redo | self._ask(open_ones)
        for name, paths in found.items():
            flow, step = self.steps[name]
            for path in paths:
                if name in redo:
                    yield {"again": path}
                    continue
                if not path.endswith("]"):
                    refuse_missing(flow, step, is_there)
                yield {"end": path}

    def _hint_for(self, name: str) -> str:
        """Return the hint for a step that was not interrupted: it failed, has not run, or has finished."""
        if any(is_of(path, name) for path in self.records.failed):
            return f"{name} failed: pflow resume runs it again by itself"
        if not any(is_of(path, name) for path in self.records.done):
            return f"{name} has not run yet: pflow resume runs it"
        return f"--only={name} runs a finished step again"

    def _ask(self, names: dict[str, list[str]]) -> set[str]:
        """Ask a person which steps run again; the others are done. Raises PflowError (65)."""
        if not names:
            return set()
        terminal = open_terminal()
        if terminal is None:
            raise self._undecided(names)
        redo: set[str] = set()
        with terminal:
            for name, paths in names.items():
                answer = terminal.choose_listed(self._told(name, paths), _KEYS, otherwise="s")
                if answer == "s":
                    raise self._undecided(names)
                redo |= {name} if answer == "r" else set()
        return redo

    def _told(self, name: str, paths: list[str]) -> str:
        if any("end" in self.records.interrupted[path] for path in paths):
            return f"'{name}' ({self.steps[name][1].step.type}) wrote a secret, which is not kept, and may not repeat"
        items = sum(path.endswith("]") for path in paths)
        count = f" at {items} of its items" if items > 1 else " at one of its items" if items else ""
        return f"'{name}' ({self.steps[name][1].step.type}) was interrupted{count}, and may not repeat"

    def _undecided(self, names: dict[str, list[str]]) -> PflowError:
        told = "; ".join(self._told(name, paths) for name, paths in names.items())
        flags = " ".join(f"--redo={name}|--skip={name}" for name in names)
        hint = f"pflow resume {self.run} {flags}: run it again, or take it as done"
        return cannot_resume(self.run, told, hint, BAD_DATA)


def refuse_drift(run: str, before: Facts, now: Facts) -> None:
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


def steps_by_name(flow: WiredFlow, prefix: str = "") -> dict[str, tuple[WiredFlow, WiredStep]]:
    """Return each step with its flow; a step of a subflow is called `outer/inner`."""
    found: dict[str, tuple[WiredFlow, WiredStep]] = {}
    for id, step in flow.steps.items():
        found[prefix + id] = flow, step
        if step.subflow is not None:
            found |= steps_by_name(step.subflow, f"{prefix}{id}/")
    return found


def is_of(path: str, name: str) -> bool:
    """Return True if a visit belongs to this step, or is inside a visit of it."""
    return f"{step_name(path)}/".startswith(f"{name}/")


def is_again(flow: WiredFlow, name: str, path: str, *, with_later: bool) -> bool:
    """Return True if a visit runs again with a step: if it visits the step, is around it or, `with_later`, after it."""
    ids = path.split("/")
    for level, wanted in enumerate(name.split("/")):
        id = ids[level].partition("@")[0]
        if ids[level].endswith(_FORK) and any(
            wanted in branch for fork in flow.graph.forks() if fork.source == id for branch in fork.branches
        ):
            return True
        if id != wanted or ids[level].endswith(_FORK):
            return with_later and id in flow.graph.reach(wanted)
        inner = flow.steps[id].subflow
        if level == len(ids) - 1 or inner is None:
            return True
        flow = inner
    return True


def cannot_resume(run: str, why: str, hint: str, exit: int) -> PflowError:
    return PflowError(f"cannot resume the run {run}: {why}", hint=hint, exit=exit)


def refuse_unknown(flow: WiredFlow, flag: str, name: str) -> None:
    """Raise PflowError (2) if a flag names no step."""
    known = steps_by_name(flow)
    if name not in known:
        hint = f"the steps are {', '.join(known)}"
        raise PflowError(f"cannot take --{flag}={name}: no such step", hint=hint, exit=USAGE)


def refuse_missing(flow: WiredFlow, step: WiredStep, is_there: Callable[[Path], bool]) -> None:
    """Raise PflowError (66) if a later step needs a value that the skipped `step` would have written."""
    found: dict[tuple[str, str], list[Write | None]] = {}
    for place, reader, key, writes in uses(flow):
        is_lost = bool(writes) and all(write.step == step.id for write in writes) and not is_there(place)
        found.setdefault((reader, key), []).append(writes[0] if is_lost else None)
    for (reader, key), lost in found.items():
        if reader == END or not flow.graph.may_precede(step.id, reader) or _does_without(flow.steps[reader], key, lost):
            continue
        key = next(write.key for write in lost if write)
        what = f"cannot skip '{step.id}': '{reader}' needs '{key}', which it would have written"
        raise PflowError(what, hint=f"--redo={step.id} runs it again", exit=MISSING)


def _does_without(reader: WiredStep, key: str, lost: list[Write | None]) -> bool:
    """Return True if `reader` can run without the `lost` writes for its read `key`. None in `lost` is a kept write."""
    field, source = reader.interface.reads.get(key), reader.sources.get(key)
    is_optional = source.is_optional if source is not None else field is not None and not field.required
    enough = any if isinstance(source, AlternativeSource) else all
    return is_optional or enough(write is None for write in lost)
