"""What may come in: nothing, raw bytes, a user's own JSON, documents whole, cut or newer, and keys of others."""

from __future__ import annotations

import re
from typing import Any

from pflow.conformance.samples import laid_out_otherwise, same
from pflow.conformance.trial import Run, Skipped, Trial, check
from pflow.errors import BAD_DATA, BAD_STDIN, MISSING
from pflow.jsontext import decode

_TEXTUAL = ("str", "any", "bytes")
_DOCUMENT = "read stdin as the store document of pflow-store(7)"
_NEWER = 7
_LARGE = 10_000_000
_BINARY = bytes(range(256))
_NUMBERS = decode(b"[1.0, 0.1, 1e300, 5e-324, 9007199254740993, -9223372036854775808, 18446744073709551615]")
_TEXTS = {
    "nul": "a\0b",
    "astral": "😀 𝒳 👩‍👩‍👧",
    "signs": '"\\/\b\f\n\r\t\x7f\u2028\ufeff',
    'ke"y\n😀': "مرحبا e\u0301",
}


@check("no-input", "/dev/null is no input: flags are enough")
def no_input_is_read(trial: Trial) -> None:
    run = trial.run(trial.flags_without(), None)
    run.expect_answer("/dev/null is no input: begin with an empty store")
    trial.expect_agreement(run, _DOCUMENT)


@check("empty-pipe", "an empty pipe is 66 where a [pipe] read needs it", of_good_run=False)
def empty_pipe_is_66(trial: Trial) -> None:
    pipe = trial.interface.pipe_read
    if pipe is None or pipe.name in trial.samples.words:
        trial.answer  # noqa: B018 - raises Skipped
        change = "it reads nothing from the pipe: an empty one is no input"
        trial.run(trial.flags_without(), b"").expect_exit(0, change)
        return
    change = f"nothing came for {pipe.name}: exit with 66, the command before has failed"
    trial.run(trial.flags_without(pipe.name), b"").expect_refusal(MISSING, change)


@check("raw-text", "raw text is the [pipe] read, byte for byte; else 64")
def raw_text_is_carried(trial: Trial) -> None:
    if trial.pipe is None:
        change = "no read takes it: refuse it, a stage must not eat another program's input"
        trial.run(trial.flags_without(), b"raw text\n").expect_refusal(BAD_STDIN, change)
    elif trial.pipe.type.name not in _TEXTUAL:
        run = trial.run(trial.flags_without(trial.pipe.name), b"raw text\n")
        run.expect_refusal(BAD_DATA, f"text is no {trial.pipe.type}")
    else:
        text = trial.samples.members[trial.pipe.name]
        data = text if isinstance(text, bytes) else str(text).encode()
        run = trial.run(trial.flags_without(trial.pipe.name), data)
        _expect_stdin(run, data.decode("utf-8", "replace"))
        trial.expect_agreement(run, _DOCUMENT)


@check("raw-bytes", "raw bytes are taken or refused, never changed")
def raw_bytes_are_taken(trial: Trial) -> None:
    if trial.pipe is None or trial.pipe.type.name not in _TEXTUAL:
        raise Skipped("no read takes raw input")
    data = b"\xff\xfe\x00binary\n"
    run = trial.run(trial.flags_without(trial.pipe.name), data)
    run.expect_order("bytes that are no text")
    if run.code == 0 and run.member("stdin") != data:
        run.fail(f"the key stdin: {run.member('stdin')!r:.120}", '{"$bytes": "…"} with every byte', "bytes are base64")


@check("raw-json", "a user's own JSON is raw, not a store")
def own_json_is_raw(trial: Trial) -> None:
    text = '{"%s": "not this", "alien": 1, "deep": {"$pflow": {"v": 1}}}' % (trial.samples.pipe or "text")
    run_words = trial.flags_without(trial.samples.pipe)
    if trial.pipe is None:
        trial.run(run_words, text.encode()).expect_refusal(BAD_STDIN, "a user's own JSON is raw: refuse it")
        return
    if trial.pipe.type.name not in _TEXTUAL:
        raise Skipped(f"its [pipe] read is {trial.pipe.type}")
    run = trial.run(run_words, text.encode())
    _expect_stdin(run, text)
    if "alien" in run.expect_answer().members:
        change = "only a top level with $pflow makes a store: all other JSON is text"
        run.fail("the object's members are keys of the store", "one key stdin with its text", change)


def _expect_stdin(run: Run, text: str) -> None:
    run.expect_answer("what is no document is raw: it is the [pipe] read")
    if not same(run.member("stdin"), text):
        came = f"the key stdin: {run.member('stdin')!r:.120}"
        run.fail(came, f"{text!r:.120}: raw input, byte for byte", "put it under stdin")


@check("layout", "a document in any spacing and order is one")
def any_layout_is_read(trial: Trial) -> None:
    run = trial.run_good(stdin=laid_out_otherwise(trial.document()))
    run.expect_answer("a document may be spaced and ordered in any way: take JSON with a JSON parser")
    trial.expect_agreement(run, _DOCUMENT)


@check("cut", "a document that was cut is 65", of_good_run=False)
def cut_document_is_65(trial: Trial) -> None:
    whole = trial.document()
    for end in (len(whole) // 2, len(whole) - 3):
        change = "a document that does not parse is never worked on, nor taken for text"
        trial.run_good(stdin=whole[:end]).expect_refusal(BAD_DATA, change)


@check("newer", "a newer version of the document is 65, with both versions", of_good_run=False)
def newer_version_is_65(trial: Trial) -> None:
    run = trial.run_good(stdin=trial.document(v=_NEWER))
    run.expect_refusal(BAD_DATA, "look at v in the header: you know version 1")
    if not {str(_NEWER), "1"} <= set(re.findall(r"\d+", run.stderr)):
        run.fail(f"on stderr: {run.stderr[:120]!r}", f"a line with both versions, {_NEWER} and 1")


@check("keys", "keys that it does not know pass unchanged, in their place")
def keys_pass(trial: Trial) -> None:
    _expect_kept(trial, trial.good, trial.members, "answer with the document that came in, your keys added")


@check("numbers", "numbers pass as they are, integers of 64 bits too")
def numbers_pass(trial: Trial) -> None:
    _expect_passed(trial, {"numbers": _NUMBERS}, "leave a number that you do not know as the text that it is")


@check("text", "NUL, emoji and every other character pass")
def text_passes(trial: Trial) -> None:
    _expect_passed(trial, _TEXTS, "take JSON with a JSON parser, and write it with one")
    _try_as_read(trial, "NUL \0 and 😀", ("str", "any"), "a text with NUL and emoji")


@check("large", "a value of 10 MB passes")
def large_passes(trial: Trial) -> None:
    _expect_passed(trial, {"large": "é" * (_LARGE // 2)}, "read stdin to its end, and write all of it")
    if "network" not in trial.interface.effects:
        _try_as_read(trial, "word " * (_LARGE // 5), ("str", "any"), "a value of 10 MB")


@check("binary", "bytes pass")
def binary_passes(trial: Trial) -> None:
    members = {"binary": _BINARY, "object": {"$bytes": "not base64"}}
    _expect_passed(trial, members, 'bytes are {"$bytes": "…"} in the document: leave them so')
    _try_as_read(trial, _BINARY, ("bytes", "any"), "bytes")


def _expect_passed(trial: Trial, members: dict[str, Any], change: str) -> None:
    _expect_kept(trial, trial.run_good(stdin=trial.document(members)), trial.members_among(members), change)


def _try_as_read(trial: Trial, value: Any, types: tuple[str, ...], about: str) -> None:
    """Send a value as its [pipe] read, where that takes it: it is worked on or refused, and the key stays."""
    if trial.pipe is None or trial.pipe.type.name not in types:
        return
    run = trial.run_with({trial.pipe.name: value})
    run.expect_order(about)
    if run.code == 0:
        _expect_kept(trial, run, {trial.pipe.name: value}, "leave the keys that you read as they were")


def _expect_kept(trial: Trial, run: Run, sent: dict[str, Any], change: str) -> None:
    """That keys which it does not write are there as they were, in the order in which they came."""
    members = run.expect_answer(change).members
    kept = {key: value for key, value in sent.items() if key not in trial.interface.writes}
    for key, value in kept.items():
        if key not in members:
            run.fail(f"no {key!r} in its answer", f"{key!r} as it was", change)
        if not same(value, members[key]):
            run.fail(f"{key!r} is {_short(members[key])}", f"{_short(value)}, as it was", change)
    order = [key for key in members if key in kept]
    if order != list(kept):
        run.fail(f"the keys in the order {', '.join(order)}", f"{', '.join(kept)}, as they came", change)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text):,} characters)"
