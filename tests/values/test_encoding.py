"""Text that is not UTF-8: what it seems to be, and what to type."""

import pytest

from pflow.values.encoding import ELSE, conversion, decode_as, not_utf8, remedy, wide_codec

TEXTS = ("hi", "café au lait", '{"a": "ü"}\n')


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("codec", ["utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be"])
def test_wide_characters_are_known_by_their_mark_or_their_zero_bytes(text, codec):
    data = text.encode(codec)
    assert wide_codec(data) == codec
    assert not_utf8(data).startswith(f"it is {codec.upper()}, not UTF-8")
    assert remedy(data) == f"--encoding={codec} where it is read, or iconv -f {codec.upper()} -t UTF-8"


@pytest.mark.parametrize("codec", ["utf-16le", "UTF_16BE", "utf-32le", "utf-16"])
def test_the_mark_of_a_wide_encoding_is_no_text_and_that_of_utf8_stays(codec):
    mark = "" if codec == "utf-16" else "\ufeff"
    assert decode_as(codec, f"{mark}café".encode(codec), "a") == "café"
    assert decode_as("utf-8", "\ufeffcafé".encode(), "a") == "\ufeffcafé"


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ("café\n".encode("latin-1"), "--encoding=cp1252 where it is read, or iconv -f CP1252 -t UTF-8"),
        ("it’s – so".encode("cp1252"), "--encoding=cp1252 where it is read, or iconv -f CP1252 -t UTF-8"),
        ("привет".encode("koi8-r"), ELSE),
        ("日本".encode("shift-jis"), ELSE),
    ],
)
def test_other_encodings_are_guessed_if_most_of_the_text_is_ascii(data, hint):
    assert (not_utf8(data)[:18], remedy(data)) == ("it is not UTF-8 (b", hint)
    assert (conversion(data).split()[2] == "ENCODING") == (hint == ELSE)


@pytest.mark.parametrize("data", [b"", b"a", "é日本".encode(), b"\0", b"\0\1", b"\0\1\2\3", b"ab\0cd\0", b"\0" * 99])
def test_what_is_utf8_stays_so(data):
    assert (wide_codec(data), not_utf8(data)) == ("", "")
