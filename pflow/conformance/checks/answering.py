"""What a node answers when it has all that it needs: a document, and what its interface says that it writes."""

from __future__ import annotations

import shlex

from pflow.conformance.check import Check, expect_answer, expect_exit, fail, how_it_ended, shown
from pflow.conformance.documents import RUN, STEPS
from pflow.conformance.trial import Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.conformance.trial import Trial
    from pflow.types import Type


def it_runs(trial: Trial) -> None:
    good = trial.good
    if good.code != 0:
        needs = (
            f"mend it; if it takes other values: pflow test-node {shlex.quote(trial.target.typed)} -- --FLAG=VALUE …"
        )
        fail(good, how_it_ended(good), "exit code 0: it was given all that it reads", needs)
    expect_answer(good, "write the document that came in, with your keys in it")


def nothing_else_on_stdout(trial: Trial) -> None:
    noise = trial.answer.noise
    if noise:
        fail(trial.good, f"on stdout beside the document: {shown(noise)}", "nothing else", "print to stderr")


def header_is_kept(trial: Trial) -> None:
    header = trial.answer.header
    wanted = {"v": 1, "run": RUN}
    for name, value in wanted.items():
        if header.get(name) != value:
            fail(trial.good, f"{name} in the header: {header.get(name)!r}", f"{value!r}, as it came", "keep the header")
    if header.get("steps", [])[: len(STEPS)] != STEPS:
        fail(trial.good, "the steps before this one are not in the header", "they are kept", "keep the header")


def it_writes_what_it_declares(trial: Trial) -> None:
    answer, interface = trial.answer, trial.target.interface
    there = {**trial.document_members, **dict.fromkeys(interface.reads), **interface.writes}
    others = [key for key in answer.members if key not in there]
    if others:
        change = f'declare it: - Writes: shared["{others[0]}"]: TYPE'
        fail(trial.good, f"it wrote {', '.join(map(repr, others))}", "only what its interface declares", change)
    left = [key for key in interface.writes if key not in answer.members]
    if left and answer.action == "default":
        fail(trial.good, f"no {', '.join(map(repr, left))} in its answer", "every key that it declares as a write")


def types_fit(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    for name, item in trial.target.interface.writes.items():
        if name in trial.answer.members:
            place = _misfit(item.type, trial.answer.members[name], name)
            if place:
                fail(trial.good, place, f"{name}: {item.type}, as its interface declares")


def _misfit(type: Type, value: Any, place: str) -> str:
    """Where a value is not of its type, parts included, and what is there; empty where it fits."""
    from pflow.paths import kind_of

    if not type.takes(value):
        return f"{place} is {kind_of(value)}"
    if type.items:
        found = [_misfit(type.items, item, f"{place}[{n}]") for n, item in enumerate(value)]
    else:
        parts = [(name, field) for name, field in type.fields.items() if value.get(name) is not None]
        found = [_misfit(field, value[name], f"{place}.{name}") for name, field in parts]
    return next(filter(None, found), "")


def action_is_declared(trial: Trial) -> None:
    action, declared = trial.answer.action, trial.target.interface.actions
    if action not in declared:
        change = f"declare it: - Actions: {', '.join([*declared, action])}"
        fail(trial.good, f"the action {action!r}", f"one of {', '.join(declared)}", change)


def pipe_carries_its_write(trial: Trial) -> None:
    write, last = trial.target.interface.pipe_write, trial.answer.header.get("last")
    if write is not None and last != write.name and write.name in trial.answer.members:
        fail(trial.good, f"last in the header: {last!r}", f"{write.name!r}, its [pipe] write", "set last")
    if write is None and last != trial.samples.pipe:
        fail(trial.good, f"last in the header: {last!r}", f"{trial.samples.pipe!r}, as it came: it has no [pipe] write")


def raw_is_the_value(trial: Trial) -> None:
    answer = trial.answer
    run = trial.run([*trial.samples.words_without(), "--raw"], trial.document())
    expect_exit(run, 0, "--raw prints what the pipe carries, and nothing else")
    carried = answer.members.get(str(answer.header.get("last")))
    if carried is None or not trial.is_steady:
        return
    if run.stdout != _raw(carried):
        fail(run, f"{shown(run.stdout)}", f"{shown(_raw(carried))}, the value exactly", "text and bytes as they are")


def _raw(value: Any) -> bytes:
    from pflow.process.stdout import as_it_is

    return as_it_is(value)


def quiet_is_quiet(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    run = trial.run([*trial.samples.words_without(), "--quiet"], trial.document())
    expect_exit(run, 0, "--quiet prints nothing")
    if run.stdout:
        fail(run, f"on stdout: {shown(run.stdout)}", "nothing", "--quiet prints nothing")


def nothing_keeps_running(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    run = trial.run(trial.samples.words_without(), trial.document(), grace=1.0)
    if run.left_running:
        fail(run, "something that it started still ran when it had ended", "nothing", "wait for what you start")


def dry_run_does_nothing(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    run = trial.run([*trial.samples.words_without(), "--dry-run"], trial.document())
    if run.code == 2 and not run.changed:
        raise Skipped("it refuses --dry-run, which is safe")
    expect_exit(run, 0, "--dry-run does nothing, or is refused with 2")
    written = [] if isinstance(run.answer, str) else [key for key in trial.writes if key in run.answer.members]
    new = [key for key in written if key not in trial.document_members]
    if run.changed or new:
        came = ", ".join([*run.changed, *new])
        fail(run, f"it did its work all the same: {came}", "nothing is done, nothing written", "refuse it with 2")


CHECKS = (
    Check("runs", "with all that it reads it ends with 0 and a document", it_runs),
    Check("noise", "nothing is on stdout but the document", nothing_else_on_stdout),
    Check("header", "the header is kept: version, run, the steps before", header_is_kept),
    Check("writes", "it writes the keys that it declares, and no others", it_writes_what_it_declares),
    Check("types", "what it writes has the declared types", types_fit),
    Check("actions", "the action that it returns is declared", action_is_declared),
    Check("carries", "the pipe carries its [pipe] write on", pipe_carries_its_write),
    Check("raw", "--raw prints what the pipe carries, exactly", raw_is_the_value),
    Check("quiet", "--quiet prints nothing", quiet_is_quiet),
    Check("dry-run", "--dry-run does nothing", dry_run_does_nothing),
    Check("leftovers", "nothing that it started runs on when it has ended", nothing_keeps_running),
)
