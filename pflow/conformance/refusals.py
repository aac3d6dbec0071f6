"""Which flags and values a node takes, what it refuses with which code, and that it passes another's failure on."""

from __future__ import annotations

from typing import TypeVar

from pflow.conformance.samples import document, flag_words, misfit_of, same, value_of
from pflow.conformance.trial import ALIENS, Run, Skipped, Trial, check, shown
from pflow.errors import BAD_DATA, MISSING, USAGE
from pflow.interface import Item

_UNKNOWN = "--no-such-flag-here=1"
_BAD_TEXTS = {"int": "seven", "float": "much", "bool": "maybe", "dict": "{", "choice": "no-such-choice"}
_CODES = (75, 9)
T = TypeVar("T")


@check("missing", "a required read that nothing gives is 66", of_good_run=False)
def missing_read_is_66(trial: Trial) -> None:
    for item in _some(_required(trial), "every read has a default"):
        change = f"without {item.name} there is nothing to do: exit with 66"
        _run_without(trial, item).expect_refusal(MISSING, change)


@check("explicit", "an [explicit] read is never taken from the store", of_good_run=False)
def explicit_read_is_no_key(trial: Trial) -> None:
    explicit = [item for item in _required(trial) if "explicit" in item.marks]
    for item in _some(explicit, "it has no required [explicit] read"):
        sent = document({**ALIENS, **trial.samples.members, item.name: value_of(item.type)}, trial.samples.pipe)
        run = trial.run(trial.samples.words_without(item.name), sent)
        run.expect_refusal(MISSING, f"take {item.name} from its flag, never from the store")


@check("misfit", "a value of the store that does not fit its read is 65", of_good_run=False)
def misfit_is_65(trial: Trial) -> None:
    items = [trial.interface.reads[name] for name in trial.samples.members]
    strict = [item for item in items if _has_misfit(item)]
    for item in _some(strict, "no read from the store has a type that refuses anything"):
        run = trial.run_with({item.name: misfit_of(item.type)})
        run.expect_refusal(BAD_DATA, f"{item.name} is {item.type}: check it before you work on it")


def _has_misfit(item: Item) -> bool:
    """Whether some value does not fit; null for a str stands for its default where that is null."""
    return item.type.name != "any" and not (item.type.name == "str" and not item.required and item.default is None)


@check("flags", "a read's flag gives it as the store does, and is stored")
def flags_are_taken(trial: Trial) -> None:
    for apart in (False, True):
        words = trial.samples.all_words(apart=apart)
        if words is None:
            raise Skipped("a read is secret, and has no flag")
        _some([*trial.samples.members], "it takes nothing from the store")
        run = trial.run(words, document(ALIENS))
        run.expect_exit(0, "a flag named like a read gives its value: --key=value and --key value")
        trial.expect_agreement(run, "take a read from its flag as from the store")
        for name, value in trial.samples.members.items():
            is_stored = trial.interface.reads[name].is_stored and name not in trial.interface.writes
            if is_stored and not same(run.member(name), value):
                change = "put a data flag's value into the document, unless the key is there"
                run.fail(f"no {name!r} in the store", f"{name!r} from its flag: it is data", change)


@check("params", "each param has its flag, and its default holds without")
def params_are_taken(trial: Trial) -> None:
    items = [item for item in trial.interface.params.values() if item.name not in trial.samples.words]
    items = [item for item in items if not item.required and item.default is not None and "secret" not in item.marks]
    words = [word for item in items for word in flag_words(item, item.default)]
    run = trial.run_good(*_some(words, "no param has a default that can be given"))
    run.expect_exit(0, "a flag for each param that you declare")
    trial.expect_agreement(run, "the default is what holds when there is no flag")


@check("bad-value", "a flag's value that does not fit is 2", of_good_run=False)
def bad_value_is_2(trial: Trial) -> None:
    items = [*trial.interface.reads.values(), *trial.interface.params.values()]
    strict = [item for item in items if item.type.name in _BAD_TEXTS and "secret" not in item.marks]
    for item in _some(strict, "every text is a value of its flags"):
        bad = f"--{item.name.replace('_', '-')}={_BAD_TEXTS[item.type.name]}"
        run = trial.run([*trial.samples.words_without(item.name), bad], trial.document(without=item.name))
        run.expect_refusal(USAGE, f"{item.name} is {item.type}")


@check("unknown-flag", "a flag that it does not know is 2", of_good_run=False)
def unknown_flag_is_2(trial: Trial) -> None:
    trial.run_good(_UNKNOWN).expect_refusal(USAGE, "refuse a flag that you do not know, with 2")


@check("fails-in-order", "a failure is an error document and one line on stderr", of_good_run=False)
def failure_is_a_document(trial: Trial) -> None:
    required = _required(trial)
    run = _run_without(trial, required[0]) if required else trial.run_good(_UNKNOWN)
    change = "write the document with error: {step, node, exit, message} in its header, and say one line on stderr"
    if run.code == 0:
        raise Skipped("it does not fail (see missing and unknown-flag)")
    error = None if isinstance(run.answer, str) else run.answer.error
    if error is None:
        came = run.answer if isinstance(run.answer, str) else "a document without an error"
        run.fail(f"on stdout: {came}", "an error document, so that no later stage does anything", change)
    if error.get("exit") != run.code or not isinstance(error.get("message"), str):
        run.fail(f"error: {error!r:.100}", f"exit: {run.code}, as it ended, and a message", change)
    if len(run.stderr.strip().splitlines()) != 1:
        run.fail(f"on stderr: {run.stderr[:200]!r}", "one line that says what cannot be done", change)
    lost = [key for key, value in ALIENS.items() if not same(run.member(key), value)]
    if required and lost:
        run.fail(f"no {lost[0]!r} in the error document", "the store as it was", change)


@check("error-passes", "an error document is passed on untouched, with its exit code", of_good_run=False)
def error_passes(trial: Trial) -> None:
    for code in _CODES:
        run = trial.run_good(stdin=_error_document(code))
        change = "look for error in the header first: copy stdin to stdout and exit with its code"
        run.expect_exit(code, change)
        if run.stdout != run.sent.stdin:
            run.fail(f"another document: {shown(run.stdout)}", "every byte as it came", change)
    run = trial.run_good("--raw", stdin=_error_document(9))
    run.expect_exit(9, "--raw prints nothing then, and exits with its code")
    if run.stdout:
        run.fail(f"with --raw: {shown(run.stdout)}", "nothing on stdout", "--raw has no error documents")


@check("error-idle", "on an error document nothing is done", of_good_run=False)
def error_does_nothing(trial: Trial) -> None:
    for code in _CODES:
        trial.run_good(stdin=_error_document(code)).expect_nothing_done()


def _some(items: list[T], otherwise: str) -> list[T]:
    """The items. Raises Skipped where there are none."""
    if not items:
        raise Skipped(otherwise)
    return items


def _required(trial: Trial) -> list[Item]:
    trial.samples  # noqa: B018 - raises Skipped
    return [item for item in trial.interface.reads.values() if item.required]


def _run_without(trial: Trial, item: Item) -> Run:
    words = trial.samples.words_without(item.name)
    return trial.run(words, trial.document(without=item.name))


def _error_document(code: int) -> bytes:
    error = {"step": "before", "node": "before", "exit": code, "message": "it failed on purpose"}
    return document({**ALIENS, "text": "data"}, "text", error=error)
