"""What a node answers when it has all that it needs, and when nobody reads that."""

from __future__ import annotations

from typing import Any

from pflow.conformance.samples import RUN, STEPS
from pflow.conformance.sandbox import EARLY, GONE
from pflow.conformance.trial import Run, Skipped, Trial, check, how_it_ended, shown
from pflow.paths import kind_of
from pflow.process.streams import as_it_is
from pflow.types import Type


@check("noise", "nothing is on stdout but the document")
def nothing_else_on_stdout(trial: Trial) -> None:
    if noise := trial.answer.noise:
        trial.good.fail(f"on stdout beside the document: {shown(noise)}", "nothing else", "print to stderr")


@check("header", "the header is kept: version, run, the steps before")
def header_is_kept(trial: Trial) -> None:
    header = trial.answer.header
    for name, value in {"v": 1, "run": RUN}.items():
        if header.get(name) != value:
            came = f"{name} in the header: {header.get(name)!r}"
            trial.good.fail(came, f"{value!r}, as it came", "keep the header")
    if header.get("steps", [])[: len(STEPS)] != STEPS:
        trial.good.fail("the steps before this one are not in the header", "they are kept", "keep the header")


@check("writes", "it writes the keys that it declares, and no others")
def it_writes_what_it_declares(trial: Trial) -> None:
    answer, interface = trial.answer, trial.interface
    there = {*trial.members, *interface.reads, *interface.writes}
    others = [key for key in answer.members if key not in there]
    if others:
        change = f'declare it: - Writes: shared["{others[0]}"]: TYPE'
        trial.good.fail(f"it wrote {', '.join(map(repr, others))}", "only what its interface declares", change)
    left = [key for key in interface.writes if key not in answer.members]
    if left and answer.action == "default":
        trial.good.fail(f"no {', '.join(map(repr, left))} in its answer", "every key that it declares as a write")


@check("types", "what it writes has the declared types")
def types_fit(trial: Trial) -> None:
    for name, item in trial.interface.writes.items():
        if name in trial.answer.members and (misfit := _misfit(item.type, trial.answer.members[name], name)):
            trial.good.fail(misfit, f"{name}: {item.type}, as its interface declares")


def _misfit(type: Type, value: Any, place: str) -> str:
    """Where a value, or a part of it, is not of its type, and what is there; empty where it fits."""
    if not type.takes(value):
        return f"{place} is {kind_of(value)}"
    parts = [(type.items, item, f"{place}[{n}]") for n, item in enumerate(value)] if type.items else []
    fields = type.fields.items() if not type.items else ()
    parts += [(field, value[name], f"{place}.{name}") for name, field in fields if value.get(name) is not None]
    return next(filter(None, (_misfit(*part) for part in parts)), "")


@check("actions", "the action that it returns is declared")
def action_is_declared(trial: Trial) -> None:
    action, declared = trial.answer.action, trial.interface.actions
    if action not in declared:
        change = f"declare it: - Actions: {', '.join([*declared, action])}"
        trial.good.fail(f"the action {action!r}", f"one of {', '.join(declared)}", change)


@check("carries", "the pipe carries its [pipe] write on")
def pipe_carries_its_write(trial: Trial) -> None:
    write, last = trial.interface.pipe_write, trial.answer.header.get("last")
    came = f"last in the header: {last!r}"
    if write is not None and last != write.name and write.name in trial.answer.members:
        trial.good.fail(came, f"{write.name!r}, its [pipe] write", "set last")
    if write is None and last != trial.samples.pipe:
        trial.good.fail(came, f"{trial.samples.pipe!r}, as it came: it has no [pipe] write")


@check("raw", "--raw prints what the pipe carries, exactly")
def raw_is_the_value(trial: Trial) -> None:
    run = trial.run_good("--raw")
    run.expect_exit(0, "--raw prints what the pipe carries, and nothing else")
    carried = trial.answer.members.get(str(trial.answer.header.get("last")))
    if carried is not None and trial.is_steady and run.stdout != as_it_is(carried):
        run.fail(shown(run.stdout), f"{shown(as_it_is(carried))}, the value exactly", "text and bytes as they are")


@check("quiet", "--quiet prints nothing")
def quiet_is_quiet(trial: Trial) -> None:
    run = trial.run_good("--quiet")
    run.expect_exit(0, "--quiet prints nothing")
    if run.stdout:
        run.fail(f"on stdout: {shown(run.stdout)}", "nothing", "--quiet prints nothing")


@check("dry-run", "--dry-run does nothing")
def dry_run_does_nothing(trial: Trial) -> None:
    run = trial.run_good("--dry-run")
    if run.code == 2 and not run.changed:
        raise Skipped("it refuses --dry-run, which is safe")
    run.expect_exit(0, "--dry-run does nothing, or is refused with 2")
    new = [key for key in run.writes(trial.interface.writes) if key not in {*trial.members, "$action"}]
    if run.changed or new:
        came = f"it did its work all the same: {', '.join([*run.changed, *new])}"
        run.fail(came, "nothing is done, nothing written", "refuse it with 2")


@check("leftovers", "nothing that it started runs on when it has ended")
def nothing_keeps_running(trial: Trial) -> None:
    run = trial.run_good(grace=1.0)
    if run.left_running:
        run.fail("something that it started still ran when it had ended", "nothing", "wait for what you start")


@check("closed-stdout", "a closed stdout ends it silently")
def closed_stdout_ends_it(trial: Trial) -> None:
    _expect_silence(trial.run_good(reader=GONE))


@check("early-reader", "a reader that goes away early ends it silently")
def early_reader_ends_it(trial: Trial) -> None:
    _expect_silence(trial.run_good(stdin=trial.document({"large": "x" * 10_000_000}), reader=EARLY))


def _expect_silence(run: Run) -> None:
    change = "let SIGPIPE end you, or exit with 141 and say nothing"
    if run.code not in (-13, 141):
        run.fail(f"{how_it_ended(run)}, though nobody read its stdout", "141, or killed by SIGPIPE", change)
    if run.stderr:
        run.fail(f"on stderr: {run.stderr[-120:]!r}", "not a word: head has all that it wanted", change)
