"""Digests tell values apart by type, length and order, and say nothing of them to who lacks the key."""

import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given

from pflow.values.digest import digest_of, frame, keyed_digest
from tests.values.test_jsontext import VALUES

READERS = {b"s": lambda text: text.decode("utf-8", "surrogatepass"), b"b": bytes, b"i": int, b"d": float}
WORDS = {b"True": True, b"False": False, b"None": None}


def parse(framed: bytes) -> tuple[Any, bytes]:
    """The value that was framed, and what follows it."""
    letter, size = framed[:1], int.from_bytes(framed[1:9], "big")
    data, rest = framed[9 : 9 + size], framed[9 + size :]
    assert len(data) == size
    if letter not in b"[{":
        return READERS.get(letter, WORDS.get)(data), rest
    parts = []
    while data:
        part, data = parse(data)
        parts.append(part)
    return (parts if letter == b"[" else dict(zip(parts[::2], parts[1::2], strict=True))), rest


@given(VALUES)
def test_each_value_has_a_form_of_its_own(value):
    """What can be parsed back to the very value cannot be the form of another."""
    back, rest = parse(frame(value))
    assert repr(back) == repr(value)
    assert rest == b""


def test_what_json_tools_take_for_one_value_are_several():
    values = [1, 1.0, "1", True, "true", None, "", b"1", [1], ["1"], {"1": 1}, [], {}, [[]], 0, 0.0, -0.0, False]
    values += [{"a": 1, "b": 2}, {"b": 2, "a": 1}, ["a", "bc"], ["ab", "c"], ["abc"], "\udcff", b"\xff"]
    assert len({digest_of(value) for value in values}) == len(values)


def test_tuples_are_lists():
    assert digest_of({"a": (1, (2,))}) == digest_of({"a": [1, [2]]})


@pytest.mark.parametrize("key", [b"", b"k" * 32, b"k" * 64, b"k" * 65])
def test_a_keyed_digest_is_an_hmac(key):
    assert keyed_digest(key, "value") == hmac.new(key, frame("value"), hashlib.sha256).hexdigest()
