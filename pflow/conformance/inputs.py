"""Checks of a node's input, on stdin and as flags: what it takes and passes on, and what it refuses with which code."""

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from pflow.conformance.samples import Skipped, document, flag_words, misfit_of, same, shown, value_of
from pflow.conformance.sandbox import NodeRun
from pflow.conformance.trial import ALIENS, Trial, check
from pflow.errors import BAD_DATA, BAD_STDIN, BUG, EXIT_CODES, MISSING, OK, USAGE
from pflow.interface.interface import Field, spell_flag
from pflow.values.jsontext import decode

_TEXTUAL = ("str", "any", "bytes")
_NEWER = 7
_UNKNOWN = "--no-such-flag-here=1"
_BAD_TEXTS = {"int": "seven", "float": "much", "bool": "maybe", "dict": "{", "choice": "no-such-choice"}
T = TypeVar("T")


@check("no-input", "flags are enough if stdin is /dev/null")
def no_input_is_read(trial: Trial) -> None:
    trial.expect_agreement(trial.run_by_flags(None), "begin with an empty store")


@check("empty-pipe", "an empty pipe ends with 66 if a [pipe] read needs it", of_good_run=False)
def empty_pipe_is_66(trial: Trial) -> None:
    pipe = trial.interface.pipe_read
    if pipe is None or pipe.name in trial.samples.words:
        trial.answer  # noqa: B018 - raises Skipped
        trial.run_by_flags(b"").expect_exit(0, "it reads nothing from the pipe, so an empty one is no fault")
    else:
        trial.run_by_flags(b"", without=pipe.name).expect_refusal(MISSING, "the command before has failed")


@check("raw-text", "raw text becomes the [pipe] read, byte for byte; without one it is refused (64)")
def raw_text_is_carried(trial: Trial) -> None:
    if trial.pipe is None:
        change = "no read takes it: a stage must not eat another program's input"
        trial.run_by_flags(b"raw text\n").expect_refusal(BAD_STDIN, change)
    elif trial.pipe.type.name not in _TEXTUAL:
        run = trial.run_by_flags(b"raw text\n", without=trial.pipe.name)
        run.expect_refusal(BAD_DATA, f"text is not of type {trial.pipe.type}")
    else:
        text = trial.samples.members[trial.pipe.name]
        run = _run_raw(trial, text if isinstance(text, bytes) else str(text).encode())
        trial.expect_agreement(run, "raw text on stdin is the [pipe] read")


@check("raw-bytes", "raw bytes are taken or refused, never changed")
def raw_bytes_are_taken(trial: Trial) -> None:
    _run_raw(trial, b"\xff\xfe\x00binary\n", may_refuse=True)


@check("raw-json", "a user's own JSON is raw, not a store")
def own_json_is_raw(trial: Trial) -> None:
    text = '{"%s": "not this", "alien": 1, "deep": {"$pflow": {"v": 1}}}' % (trial.samples.pipe or "text")
    run = _run_raw(trial, text.encode())
    if "alien" in run.answer.members:
        change = "only a top level with $pflow makes a store; any other JSON is text"
        run.fail("the object's members are keys of the store", "one key stdin with its text", change)


def _run_raw(trial: Trial, data: bytes, *, may_refuse: bool = False) -> NodeRun:
    """Run the node with raw data as its [pipe] read, and check that the data is the key stdin too."""
    if trial.pipe is None or trial.pipe.type.name not in _TEXTUAL:
        raise Skipped("no read takes raw input")
    run = trial.run_by_flags(data, without=trial.pipe.name)
    if may_refuse and run.code in {*EXIT_CODES} - {OK, BUG} and "Traceback (most recent call last)" not in run.stderr:
        return run
    run.expect_answer("raw data on stdin is the [pipe] read")
    came = run.answer.members.get("stdin")
    if (came if isinstance(came, bytes) else str(came).encode()) != data:
        change = 'bytes are {"$bytes": "…"} in base64'
        run.fail(f"the key stdin: {came!r:.120}", f"{data!r:.120}, byte for byte", change)
    return run


@check("layout", "a document is read in any spacing and order")
def any_layout_is_read(trial: Trial) -> None:
    members = json.loads(trial.document())
    header = members.pop("$pflow")
    del header["members"]  # in another layout, a line is not a member, so the count would be wrong
    run = trial.run_good(stdin=json.dumps({**members, "$pflow": header}, indent=3).encode() + b"\n\n")
    trial.expect_agreement(run, "take JSON with a JSON parser")


@check("cut", "a document that was cut off is refused (65)", of_good_run=False)
def cut_document_is_65(trial: Trial) -> None:
    whole = trial.document()
    for end in (len(whole) // 2, len(whole) - 3):
        trial.run_good(stdin=whole[:end]).expect_refusal(BAD_DATA, "refuse it: it is neither a document nor text")


@check("newer", "a newer version of the document is refused (65), with both versions", of_good_run=False)
def newer_version_is_65(trial: Trial) -> None:
    run = trial.run_good(stdin=trial.document(v=_NEWER))
    run.expect_refusal(BAD_DATA, "look at v in the header: you know version 1")
    if not {str(_NEWER), "1"} <= set(re.findall(r"\d+", run.stderr)):
        run.fail(f"on stderr: {run.stderr[:120]!r}", f"a line with both versions, {_NEWER} and 1")


_NUMBERS = b"[1.0, 0.1, 1e300, 5e-324, 9007199254740993, -9223372036854775808, 18446744073709551615]"
_TEXTS = {"nul": "a\0b", "😀": "😀 𝒳 👩‍👩‍👧", "signs": '"\\/\b\f\n\r\t\x7f\u2028\ufeff', 'ke"y\n': "مرحبا e\u0301"}
_PASSING: dict[str, tuple[str, dict[str, Any]]] = {
    "keys": ("keys that it does not know pass unchanged, in their place", ALIENS),
    "numbers": ("numbers pass unchanged, integers of 64 bits too", {"numbers": decode(_NUMBERS)}),
    "text": ("NUL, emoji and every other character pass", _TEXTS),
    "large": ("a value of 10 MB passes", {"large": "é" * 5_000_000}),
    "binary": ("bytes pass", {"binary": bytes(range(256)), "object": {"$bytes": "not base64"}}),
}


_TOGETHER = ("numbers", "text", "binary")
"""The ids of checks whose members are sent in one document, which saves runs."""


def _check_passing(id: str, demand: str, members: dict[str, Any]) -> None:
    @check(id, demand)
    def members_pass(trial: Trial) -> None:
        """Check that keys that the node does not write stay unchanged and in order."""
        change = "answer with the whole document that came in, your keys added"
        around = {key: value for name in _TOGETHER for key, value in _PASSING[name][1].items()}
        around = around if id in _TOGETHER else members
        run = trial.run_good(stdin=trial.document(around))
        came = run.expect_answer(change).members
        others = {*trial.interface.writes, *around} - {*members}
        sent = {key: value for key, value in trial.members_among(around).items() if key not in others}
        for key, value in sent.items():
            if key not in came or not same(value, came[key]):
                what = f"{key!r} is {came[key]!r:.60}" if key in came else f"no {key!r} in its answer"
                run.fail(what, f"{value!r:.60}, unchanged", change)
        order = [key for key in came if key in sent]
        if order != list(sent):
            run.fail(f"the keys in the order {', '.join(order)}", f"{', '.join(sent)}, their order on stdin", change)


for _id, (_demand, _members) in _PASSING.items():
    _check_passing(_id, _demand, _members)


@check("missing", "a required read without a value ends with 66", of_good_run=False)
def missing_read_is_66(trial: Trial) -> None:
    for field in _some(_required(trial), "every read has a default"):
        trial.run_without(field).expect_refusal(MISSING, f"without {field.name} there is nothing to do")


@check("explicit", "an [explicit] read is never taken from the store", of_good_run=False)
def explicit_read_is_no_key(trial: Trial) -> None:
    explicit = [field for field in _required(trial) if "explicit" in field.marks]
    for field in _some(explicit, "it has no required [explicit] read"):
        sent = document({**ALIENS, **trial.samples.members, field.name: value_of(field.type)}, trial.samples.pipe)
        run = trial.run(trial.samples.words_without(field.name), sent)
        run.expect_refusal(MISSING, f"take {field.name} from its flag alone")


@check("misfit", "a value in the store that does not fit its read is refused (65)", of_good_run=False)
def misfit_is_65(trial: Trial) -> None:
    fields = [trial.interface.reads[name] for name in trial.samples.members]
    strict = [field for field in fields if field.type.name != "any" and (field.required or field.type.name != "str")]
    for field in _some(strict, "no read from the store has a type that refuses anything"):
        members = {**ALIENS, **trial.samples.members, field.name: misfit_of(field.type)}
        run = trial.run_good(stdin=document(members, trial.samples.pipe))
        run.expect_refusal(BAD_DATA, f"{field.name} is {field.type}: check it before you work on it")


@check("flags", "a read's flag works like its key in the store, and is stored")
def flags_are_taken(trial: Trial) -> None:
    members = _some([*trial.samples.members.items()], "it takes nothing from the store")
    for apart in (False, True):
        run = trial.run_by_flags(document(ALIENS), apart=apart)
        trial.expect_agreement(run, "a flag named like a read gives its value: --key=value and --key value")
        for name, value in members:
            is_stored = trial.interface.reads[name].is_stored and name not in trial.interface.writes
            if is_stored and not same(run.answer.members.get(name), value):
                change = "put a data flag's value into the document, unless the key is there"
                run.fail(f"no {name!r} in the store", f"{name!r} from its flag: it is data", change)


@check("params", "each param has a flag, and a default without it")
def params_are_taken(trial: Trial) -> None:
    fields = [field for field in trial.interface.params.values() if field.name not in trial.samples.words]
    fields = [field for field in fields if not field.required and field.default is not None and not field.is_secret]
    words = [word for field in fields for word in flag_words(field, field.default)]
    run = trial.run_good(*_some(words, "no param has a default that can be given"))
    trial.expect_agreement(run, "take a flag for each param that you declare", "the same as without the flags")


@check("words", "bare words and letters work like their flags")
def words_are_taken(trial: Trial) -> None:
    words = trial.samples.short_words()
    run = trial.run(_some(words, "its values have no short form"), trial.document())
    change = "give a bare word to the next [word] read, and the value after -x to the item marked [short x]"
    trial.expect_agreement(run, change, "the same as by its flags")


@check("bad-value", "a flag's value that does not fit is refused (2)", of_good_run=False)
def bad_value_is_2(trial: Trial) -> None:
    strict = [field for field in trial.samples.interface.taken if field.type.name in _BAD_TEXTS and not field.is_secret]
    for field in _some(strict, "its flags take any text"):
        bad = f"{spell_flag(field.name)}={_BAD_TEXTS[field.type.name]}"
        trial.run_without(field, bad).expect_refusal(USAGE, f"{field.name} is {field.type}")


@check("unknown-flag", "an unknown flag is refused (2)", of_good_run=False)
def unknown_flag_is_2(trial: Trial) -> None:
    trial.run_good(_UNKNOWN).expect_refusal(USAGE)


@check("fails-in-order", "a failure prints an error document, and one line on stderr", of_good_run=False)
def failure_is_a_document(trial: Trial) -> None:
    required = _required(trial)
    run = trial.run_without(required[0]) if required else trial.run_good(_UNKNOWN)
    if run.code == 0:
        raise Skipped("it does not fail (see missing and unknown-flag)")
    change = "write the document with error: {step, node, exit, message} in its header, and say one line on stderr"
    error = run.answer.error or {}
    if error.get("exit") != run.code or not isinstance(error.get("message"), str):
        expected = f"a document with an error, its exit {run.code}, and a message"
        run.fail(f"on stdout: {shown(run.stdout)}", expected, change)
    if len(run.stderr.strip().splitlines()) != 1:
        run.fail(f"on stderr: {run.stderr[:200]!r}", "one line that says what cannot be done", change)
    lost = [key for key, value in ALIENS.items() if not same(run.answer.members.get(key), value)]
    if required and lost:
        run.fail(f"no {lost[0]!r} in the error document", "the store as it was", change)


@check(
    "error-passes", "an error document is passed on untouched, with its exit code; nothing is done", of_good_run=False
)
def error_passes(trial: Trial) -> None:
    change = "look for error in the header first: copy stdin to stdout and exit with its code"
    for code, words in ((75, ()), (9, ()), (9, ("--raw",))):
        error = {"step": "before", "node": "before", "exit": code, "message": "it failed on purpose"}
        _expect_passing(trial, words, code, change, error=error)


@check("skipped-passes", "a skipped document is passed on untouched, with 0; nothing is done", of_good_run=False)
def skipped_passes(trial: Trial) -> None:
    for words in ((), ("--raw",)):
        change = "look for skipped in the header: copy stdin to stdout and exit with 0"
        _expect_passing(trial, words, OK, change, skipped=True)


def _expect_passing(trial: Trial, words: Sequence[str], code: int, change: str, **header: Any) -> None:
    sent = document({**ALIENS, "text": "data"}, "text", **header)
    run = trial.run_good(*words, stdin=sent)
    run.expect_refusal(code, change)
    if run.stdout != (expected := b"" if words else sent):
        run.fail(f"on stdout: {shown(run.stdout)}", f"{shown(expected)}, unchanged; nothing with --raw", change)


def _some(items: list[T], otherwise: str) -> list[T]:
    """Return the items. Raises Skipped if there are none."""
    if not items:
        raise Skipped(otherwise)
    return items


def _required(trial: Trial) -> list[Field]:
    return [field for field in trial.samples.interface.reads.values() if field.required]
