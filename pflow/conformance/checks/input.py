"""What may stand on a node's stdin: nothing, raw bytes, a user's own JSON, a document whole, cut or newer."""

from __future__ import annotations

from pflow.conformance.check import Check, expect_answer, expect_exit, expect_order, expect_refusal, fail
from pflow.conformance.documents import laid_out_otherwise, same
from pflow.conformance.trial import Skipped
from pflow.errors import BAD_DATA, BAD_STDIN, MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.conformance.trial import Run, Trial

_TEXTUAL = ("str", "any", "bytes")
_DOCUMENT = "read stdin as the store document of pflow-store(7)"


def no_input_is_read(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    words = _all_words(trial)
    run = trial.run(words, None)
    expect_answer(run, "/dev/null is no input: begin with an empty store")
    _expect_agreement(trial, run)


def _all_words(trial: Trial, *, without: str | None = None) -> list[str]:
    words = trial.samples.all_words(without=without)
    if words is None:
        raise Skipped("a read is secret, and has no flag")
    return words


def _expect_agreement(trial: Trial, run: Run) -> None:
    if not trial.agrees(run):
        came, wanted = run.writes(trial.writes), trial.good.writes(trial.writes)
        fail(run, f"it wrote {came!r:.200}", f"{wanted!r:.200}, as for the same from the store", _DOCUMENT)


def empty_pipe_is_66(trial: Trial) -> None:
    pipe = trial.target.interface.pipe_read
    if pipe is None or pipe.name in trial.samples.words:
        trial.answer  # noqa: B018 - or it is skipped
        run = trial.run(_all_words(trial), b"")
        expect_exit(run, 0, "it reads nothing from the pipe: an empty one is no input")
        return
    change = f"nothing came for {pipe.name}: exit with 66, the command before has failed"
    expect_refusal(trial.run(_all_words(trial, without=pipe.name), b""), MISSING, change)


def raw_text_is_carried(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    pipe = trial.samples.pipe
    if pipe is None:
        change = "no read takes it: refuse it, a stage must not eat another program's input"
        expect_refusal(trial.run(_all_words(trial), b"raw text\n"), BAD_STDIN, change)
        return
    if trial.target.interface.reads[pipe].type.name not in _TEXTUAL:
        change = f"text is no {trial.target.interface.reads[pipe].type}"
        expect_refusal(trial.run(_all_words(trial, without=pipe), b"raw text\n"), BAD_DATA, change)
        return
    text = trial.samples.members[pipe]
    data = text if isinstance(text, bytes) else str(text).encode()
    run = trial.run(_all_words(trial, without=pipe), data)
    _expect_stdin(run, data.decode("utf-8", "replace"))
    _expect_agreement(trial, run)


def _expect_stdin(run: Run, text: str) -> None:
    answer = expect_answer(run, "what is no document is raw: it is the [pipe] read")
    if not same(answer.members.get("stdin"), text):
        came = repr(answer.members.get("stdin", "no such key"))
        fail(run, f"the key stdin: {came:.120}", f"{text!r:.120}: raw input, byte for byte", "put it under stdin")


def raw_bytes_are_taken(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    pipe = trial.samples.pipe
    if pipe is None or trial.target.interface.reads[pipe].type.name not in _TEXTUAL:
        raise Skipped("no read takes raw input")
    data = b"\xff\xfe\x00binary\n"
    run = trial.run(_all_words(trial, without=pipe), data)
    expect_order(run, "bytes that are no text")
    if run.code == 0:
        answer = expect_answer(run)
        if answer.members.get("stdin") != data:
            came = repr(answer.members.get("stdin", "no such key"))
            fail(run, f"the key stdin: {came:.120}", '{"$bytes": "…"} with every byte', "bytes are base64")


def own_json_is_raw(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    pipe = trial.samples.pipe
    text = '{"%s": "not this", "alien": 1, "deep": {"$pflow": {"v": 1}}}' % (pipe or "text")
    if pipe is None:
        expect_refusal(trial.run(_all_words(trial), text.encode()), BAD_STDIN, "a user's own JSON is raw: refuse it")
        return
    if trial.target.interface.reads[pipe].type.name not in _TEXTUAL:
        raise Skipped(f"its [pipe] read is {trial.target.interface.reads[pipe].type}")
    run = trial.run(_all_words(trial, without=pipe), text.encode())
    _expect_stdin(run, text)
    answer = expect_answer(run)
    if "alien" in answer.members:
        change = "only a top level with $pflow makes a store: all other JSON is text"
        fail(run, "the object's members are keys of the store", "one key stdin with its text", change)


def any_layout_is_read(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    run = trial.run(trial.samples.words_without(), laid_out_otherwise(trial.document()))
    expect_answer(run, "a document may be spaced and ordered in any way: take JSON with a JSON parser")
    _expect_agreement(trial, run)


def cut_document_is_65(trial: Trial) -> None:
    whole = trial.document()
    for end in (len(whole) // 2, len(whole) - 3):
        change = "a document that does not parse is never worked on, nor taken for text"
        expect_refusal(trial.run(trial.samples.words_without(), whole[:end]), BAD_DATA, change)


NEWER = 7


def newer_version_is_65(trial: Trial) -> None:
    import re

    run = trial.run(trial.samples.words_without(), trial.document(v=NEWER))
    expect_refusal(run, BAD_DATA, "look at v in the header: you know version 1")
    if not {str(NEWER), "1"} <= set(re.findall(r"\d+", run.stderr)):
        fail(run, f"on stderr: {run.stderr[:120]!r}", f"a line with both versions, {NEWER} and 1")


CHECKS = (
    Check("no-input", "/dev/null is no input: flags are enough", no_input_is_read),
    Check("empty-pipe", "an empty pipe is 66 where a [pipe] read needs it", empty_pipe_is_66),
    Check("raw-text", "raw text is the [pipe] read, byte for byte; else 64", raw_text_is_carried),
    Check("raw-bytes", "raw bytes are taken or refused, never changed", raw_bytes_are_taken),
    Check("raw-json", "a user's own JSON is raw, not a store", own_json_is_raw),
    Check("layout", "a document in any spacing and order is one", any_layout_is_read),
    Check("cut", "a document that was cut is 65", cut_document_is_65),
    Check("newer", "a newer version of the document is 65, with both versions", newer_version_is_65),
)
