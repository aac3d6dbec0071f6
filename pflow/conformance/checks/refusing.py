"""What a node refuses, with which exit code, and how it says so; and that it passes another's failure on."""

from __future__ import annotations

from pflow.conformance.check import Check, expect_exit, expect_nothing_done, expect_refusal, fail, shown
from pflow.conformance.documents import Answer, document, same
from pflow.conformance.samples import flag_words, misfit_of, value_of
from pflow.conformance.trial import ALIENS, Skipped
from pflow.errors import BAD_DATA, MISSING, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.conformance.trial import Run, Trial
    from pflow.interface import Item

UNKNOWN = "--no-such-flag-here=1"


def missing_read_is_66(trial: Trial) -> None:
    needed = _needed(trial)
    if not needed:
        raise Skipped("every read has a default")
    for item in needed:
        change = f"without {item.name} there is nothing to do: exit with 66"
        expect_refusal(_run_without(trial, item), MISSING, change)


def _needed(trial: Trial) -> list[Item]:
    trial.samples  # noqa: B018 - or it is skipped
    return [item for item in trial.target.interface.reads.values() if item.required]


def _run_without(trial: Trial, item: Item) -> Run:
    words = trial.samples.words_without(item.name)
    return trial.kept(f"without {item.name}", words, trial.document(without=item.name))


def explicit_read_is_no_key(trial: Trial) -> None:
    explicit = [item for item in _needed(trial) if "explicit" in item.marks]
    if not explicit:
        raise Skipped("it has no required [explicit] read")
    for item in explicit:
        sent = trial.document_with({item.name: value_of(item.type)})
        run = trial.run(trial.samples.words_without(item.name), sent)
        expect_refusal(run, MISSING, f"take {item.name} from its flag, never from the store")


def misfit_is_65(trial: Trial) -> None:
    members = trial.samples.members
    items = [trial.target.interface.reads[name] for name in members]
    tried = [item for item in items if _is_refusable(item)]
    if not tried:
        raise Skipped("no read from the store has a type that refuses anything")
    for item in tried:
        run = trial.run(trial.samples.words_without(), trial.document_with({item.name: misfit_of(item.type)}))
        expect_refusal(run, BAD_DATA, f"{item.name} is {item.type}: check it before you work on it")


def _is_refusable(item: Item) -> bool:
    """Whether some value does not fit; null for a str stands for none where that is its default."""
    return item.type.name != "any" and not (item.type.name == "str" and not item.required and item.default is None)


def unknown_flag_is_2(trial: Trial) -> None:
    expect_refusal(_with_unknown_flag(trial), USAGE, "refuse a flag that you do not know, with 2")


def _with_unknown_flag(trial: Trial) -> Run:
    return trial.kept("unknown flag", [*trial.samples.words_without(), UNKNOWN], trial.document())


_BAD_TEXTS = {"int": "seven", "float": "much", "bool": "maybe", "dict": "{", "choice": "no-such-choice"}


def bad_value_is_2(trial: Trial) -> None:
    trial.samples  # noqa: B018 - or it is skipped
    interface = trial.target.interface
    items = [item for item in [*interface.reads.values(), *interface.params.values()] if "secret" not in item.marks]
    tried = [item for item in items if item.type.name in _BAD_TEXTS]
    if not tried:
        raise Skipped("every text is a value of its flags")
    for item in tried:
        words = trial.samples.words_without(item.name)
        bad = f"--{item.name.replace('_', '-')}={_BAD_TEXTS[item.type.name]}"
        expect_refusal(
            trial.run([*words, bad], trial.document(without=item.name)), USAGE, f"{item.name} is {item.type}"
        )


def flags_are_taken(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    for apart in (False, True):
        words = trial.samples.all_words(apart=apart)
        if words is None:
            raise Skipped("a read is secret, and has no flag")
        if not trial.samples.members:
            raise Skipped("it takes nothing from the store")
        run = trial.run(words, document(ALIENS))
        expect_exit(run, 0, "a flag named like a read gives its value: --key=value and --key value")
        _expect_agreement(trial, run, "take a read from its flag as from the store")
        _expect_stored(trial, run)


def _expect_agreement(trial: Trial, run: Run, change: str) -> None:
    if not trial.agrees(run):
        came, wanted = run.writes(trial.writes), trial.good.writes(trial.writes)
        fail(run, f"it wrote {came!r:.200}", f"{wanted!r:.200}, as for the same from the store", change)


def _expect_stored(trial: Trial, run: Run) -> None:
    assert isinstance(run.answer, Answer)
    for name, value in trial.samples.members.items():
        is_kept = trial.target.interface.reads[name].is_stored and name not in trial.writes
        if is_kept and not same(run.answer.members.get(name), value):
            change = "put a data flag's value into the document, unless the key is there"
            fail(run, f"no {name!r} in the store", f"{name!r} from its flag: it is data", change)


def params_are_taken(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    params = trial.target.interface.params.values()
    tried = [item for item in params if _has_value(item) and item.name not in trial.samples.words]
    if not tried:
        raise Skipped("no param has a default that can be given")
    words = [word for item in tried for word in flag_words(item, item.default)]
    run = trial.run([*trial.samples.words_without(), *words], trial.document())
    expect_exit(run, 0, "a flag for each param that you declare")
    _expect_agreement(trial, run, "the default is what holds when there is no flag")


def _has_value(item: Item) -> bool:
    return not item.required and item.default is not None and "secret" not in item.marks


def failure_is_a_document(trial: Trial) -> None:
    needed = _needed(trial)
    run = _run_without(trial, needed[0]) if needed else _with_unknown_flag(trial)
    change = "write the document with error: {step, node, exit, message} in its header, and say one line on stderr"
    if run.code == 0:
        raise Skipped("it does not fail (see missing and unknown-flag)")
    error = None if isinstance(run.answer, str) else run.answer.error
    if error is None:
        came = run.answer if isinstance(run.answer, str) else "a document without an error"
        fail(run, f"on stdout: {came}", "an error document, so that no later stage does anything", change)
    if error.get("exit") != run.code or not isinstance(error.get("message"), str):
        fail(run, f"error: {error!r:.100}", f"exit: {run.code}, as it ended, and a message", change)
    if len(run.stderr.strip().splitlines()) != 1:
        fail(run, f"on stderr: {run.stderr[:200]!r}", "one line that says what cannot be done", change)
    _expect_store(trial, run, change) if needed else None


def _expect_store(trial: Trial, run: Run, change: str) -> None:
    assert isinstance(run.answer, Answer)
    lost = [key for key, value in ALIENS.items() if not same(run.answer.members.get(key), value)]
    if lost:
        fail(run, f"no {lost[0]!r} in the error document", "the store as it was", change)


def _failed(code: int) -> bytes:
    error = {"step": "before", "node": "before", "exit": code, "message": "it failed on purpose"}
    return document({**ALIENS, "text": "data"}, "text", error=error)


CODES = (75, 9)


def error_passes(trial: Trial) -> None:
    for code in CODES:
        run = _on_error(trial, code)
        change = "look for error in the header first: copy stdin to stdout and exit with its code"
        expect_exit(run, code, change)
        if run.stdout != run.sent.stdin:
            fail(run, f"another document: {shown(run.stdout)}", "every byte as it came", change)
    run = trial.run([*trial.samples.words_without(), "--raw"], _failed(9))
    expect_exit(run, 9, "--raw prints nothing then, and exits with its code")
    if run.stdout:
        fail(run, f"with --raw: {shown(run.stdout)}", "nothing on stdout", "--raw has no error documents")


def _on_error(trial: Trial, code: int) -> Run:
    return trial.kept(f"error {code}", trial.samples.words_without(), _failed(code))


def error_does_nothing(trial: Trial) -> None:
    for code in CODES:
        expect_nothing_done(_on_error(trial, code))


CHECKS = (
    Check("missing", "a required read that nothing gives is 66", missing_read_is_66),
    Check("explicit", "an [explicit] read is never taken from the store", explicit_read_is_no_key),
    Check("misfit", "a value of the store that does not fit its read is 65", misfit_is_65),
    Check("flags", "a read's flag gives it as the store does, and is stored", flags_are_taken),
    Check("params", "each param has its flag, and its default holds without", params_are_taken),
    Check("bad-value", "a flag's value that does not fit is 2", bad_value_is_2),
    Check("unknown-flag", "a flag that it does not know is 2", unknown_flag_is_2),
    Check("fails-in-order", "a failure is an error document and one line on stderr", failure_is_a_document),
    Check("error-passes", "an error document is passed on untouched, with its exit code", error_passes),
    Check("error-idle", "on an error document nothing is done", error_does_nothing),
)
