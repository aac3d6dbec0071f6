"""What passes through a node: keys and values that it does not know, in every form that JSON has."""

from __future__ import annotations

from pflow.conformance.check import Check, expect_answer, expect_order, fail
from pflow.conformance.documents import as_value, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.conformance.trial import Run, Trial


def keys_pass(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    _expect_kept(trial.good, trial.document_members, trial)


def numbers_pass(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    numbers = as_value("[1.0, 0.1, 1e300, 5e-324, 9007199254740993, -9223372036854775808, 18446744073709551615]")
    _pass_on(trial, {"numbers": numbers}, "leave a number that you do not know as the text that it is")


TEXTS = {"nul": "a\0b", "astral": "😀 𝒳 👩‍👩‍👧", "signs": '"\\/\b\f\n\r\t\x7f\u2028\ufeff', 'ke"y\n😀': "مرحبا e\u0301"}


def text_passes(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    _pass_on(trial, TEXTS, "take JSON with a JSON parser, and write it with one")
    _try_as_read(trial, "NUL \0 and 😀", ("str", "any"), "a text with NUL and emoji")


LARGE = 10_000_000


def large_passes(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    _pass_on(trial, {"large": "é" * (LARGE // 2)}, "read stdin to its end, and write all of it")
    if "network" not in trial.target.interface.effects:
        _try_as_read(trial, "word " * (LARGE // 5), ("str", "any"), "a value of 10 MB")


BINARY = bytes(range(256))


def binary_passes(trial: Trial) -> None:
    trial.answer  # noqa: B018 - or it is skipped
    members = {"binary": BINARY, "object": {"$bytes": "not base64"}}
    _pass_on(trial, members, 'bytes are {"$bytes": "…"} in the document: leave them so')
    _try_as_read(trial, BINARY, ("bytes", "any"), "bytes")


def _pass_on(trial: Trial, members: dict[str, Any], change: str) -> None:
    """Send these with what it needs; they come back as they went."""
    run = trial.run(trial.samples.words_without(), trial.document(members))
    expect_answer(run, change)
    _expect_kept(run, trial.samples.members | members, trial, change)


def _try_as_read(trial: Trial, value: Any, types: tuple[str, ...], about: str) -> None:
    """Send a value as its [pipe] read, where that takes it: it is worked on or refused, and the key stays."""
    pipe = trial.samples.pipe
    if pipe is None or trial.target.interface.reads[pipe].type.name not in types:
        return
    run = trial.run(trial.samples.words_without(), trial.document_with({pipe: value}))
    expect_order(run, about)
    if run.code == 0:
        _expect_kept(run, {pipe: value}, trial)


def _expect_kept(run: Run, sent: dict[str, Any], trial: Trial, change: str = "") -> None:
    """That keys which it does not write are there as they were, in the order in which they came."""
    answer = expect_answer(run)
    change = change or "answer with the document that came in, your keys added"
    kept = {key: value for key, value in sent.items() if key not in trial.writes}
    for key, value in kept.items():
        if key not in answer.members:
            fail(run, f"no {key!r} in its answer", f"{key!r} as it was", change)
        if not same(value, answer.members[key]):
            fail(run, f"{key!r} is {_short(answer.members[key])}", f"{_short(value)}, as it was", change)
    order = [key for key in answer.members if key in kept]
    came = [key for key in trial.order_of(run) if key in kept]
    if order != came:
        fail(run, f"the keys in the order {', '.join(order)}", f"{', '.join(came)}, as they came", change)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text):,} characters)"


CHECKS = (
    Check("keys", "keys that it does not know pass unchanged, in their place", keys_pass),
    Check("numbers", "numbers pass as they are, integers of 64 bits too", numbers_pass),
    Check("text", "NUL, emoji and every other character pass", text_passes),
    Check("large", "a value of 10 MB passes", large_passes),
    Check("binary", "bytes pass", binary_passes),
)
