"""Secrets, and texts in which a mask stands for them, however they are written there."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.jsontext import text_of
from pflow.paths import look_inside

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any, TypeVar

    from pflow.errors import PflowError

    Failure = TypeVar("Failure", bound=PflowError)

MASK = "***"
"""What is shown in place of a secret."""

_SHORT = 4
"""A secret of fewer characters is masked as a word by itself, and not inside of others."""

_PART = 8, 24
"""Of a secret that was cut, so many characters give it away: half of them, within these bounds."""

_ENDS = frozenset(" \t\r\n'\"")
"""What a part of a cut secret does not go past."""

_SLASHES, _RUN = r"\\{1,9}", "{1,99}"
"""At most so many backslashes before a character, and so many as one: a long message must not take long to search."""

_NAMED = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", "\0": "0"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class Secrets:
    """The secret values that are known so far; with them, texts and errors are masked."""

    def __init__(self) -> None:
        self._patterns: dict[str, list[re.Pattern[str]] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def add(self, value: Any) -> None:
        """Take a value: its text and each line of it; of a list or an object, all that it holds."""
        self._patterns.update(dict.fromkeys(text for text in _texts(value) if text not in self._patterns))

    def mask(self, text: str) -> str:
        """The text with a mask for each secret: as it is, quoted, escaped, encoded for a URL or as base64, or cut."""
        for secret in sorted(self._patterns, key=len, reverse=True):
            patterns = self._patterns[secret] = self._patterns[secret] or list(_patterns(secret))
            whole, *parts = patterns
            text = whole.sub(MASK, text)
            for part in parts:
                text = _without_parts(text, part)
        return text

    def hide(self, error: Failure) -> Failure:
        """The error, masked: its message, its hint and its details."""
        if self._patterns:
            error.message, error.hint = self.mask(error.message), self.mask(error.hint)
            error.args = (error.message,)
            error.details = self._masked(error.details)
        return error

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {key: self._masked(item) for key, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list) else value


def hidden(error: Failure, *secrets: Any) -> Failure:
    """The error, masked with these secrets."""
    known = Secrets()
    for each in secrets:
        known.add(each)
    return known.hide(error)


def _texts(value: Any) -> Iterator[str]:
    """The texts that would give a value away."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        inside = look_inside(value)
        yield from _texts(inside) if inside is not value else ()
        yield from {value.strip(), *(line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORT)} - {""}
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield text_of(value)


def _patterns(secret: str) -> Iterator[re.Pattern[str]]:
    """What finds a secret as a whole, and then what finds its beginning and its end."""
    import re

    units = list(_units(secret))
    whole = "".join(units)
    if len(secret) < _SHORT:
        yield re.compile(rf"(?<!\w){whole}(?!\w)")
        return
    yield re.compile("|".join([whole, *map(re.escape, _in_base64(secret))]))
    least, most = _PART
    size = min(max(least, len(units) // 2), most)
    if len(units) > size:
        yield re.compile("".join(units[:size]))
        yield re.compile("".join(units[-size:]))


def _units(secret: str) -> Iterator[str]:
    """A pattern for each character, in all the ways that quoting and encoding write it.

    White space is one unit, since messages make one blank of it, and so are backslashes, since quoting adds more.
    """
    import re
    from itertools import groupby

    for space, group in groupby(secret, str.isspace):
        text = "".join(group)
        if space:
            yield rf"(?:\s|\+|%20|{'|'.join(map(_escapes, dict.fromkeys(text)))}){_RUN}"
            continue
        for char, same in groupby(text):
            if char == "\\":
                yield rf"(?:{_escapes(char)}|\\){_RUN}"
            else:
                quoted = rf"(?:{_escapes(char)}|\\{{0,9}}{re.escape(char)})"
                yield from (char if char.isalnum() and char.isascii() else quoted for _ in same)


def _escapes(char: str) -> str:
    """What stands for a character in Python, JSON, a URL, HTML and a shell's quotes."""
    code, data = ord(char), char.encode("utf-8", "surrogatepass")
    halves = char.encode("utf-16-be", "surrogatepass").hex()
    ways = [
        "".join([f"{_SLASHES}u{halves[at : at + 4]}" for at in range(0, len(halves), 4)]),
        "".join([f"{_SLASHES}x{byte:02x}" for byte in data]),
        "".join([f"%{byte:02x}" for byte in data]),
        *(f"{_SLASHES}x{code:02x}", f"{_SLASHES}U{code:08x}", f"&#0*{code};", f"&#x0*{code:x};"),
        *([f"{_SLASHES}{_NAMED[char]}"] if char in _NAMED else []),
        *([f"&{_ENTITIES[char]};"] if char in _ENTITIES else []),
        *([r"'\\''", "'\"'\"'"] if char == "'" else []),
    ]
    return f"(?i:{'|'.join(ways)})"


def _in_base64(secret: str) -> Iterator[str]:
    """What stands for a secret in base64, wherever in the encoded text it begins."""
    from binascii import b2a_base64

    data = secret.encode("utf-8", "surrogateescape")
    for before in range(3 if len(data) >= _PART[0] else 0):
        text = b2a_base64(b"\0" * before + data, newline=False).decode()
        ends = len(text.rstrip("=")) - (text.endswith("="))
        whole = text[(0, 2, 3)[before] : ends]
        yield from {whole, whole.replace("+", "-").replace("/", "_")}


def _without_parts(text: str, part: re.Pattern[str]) -> str:
    """The text with a mask for each word that holds a part of a secret."""
    shown, at = "", 0
    for found in part.finditer(text):
        start, end = found.span()
        if start < at:
            continue
        while start > at and text[start - 1] not in _ENDS:
            start -= 1
        while end < len(text) and text[end] not in _ENDS:
            end += 1
        shown, at = shown + text[at:start] + MASK, end
    return shown + text[at:]


def is_secret_name(name: str) -> bool:
    """Whether a variable, a flag or an input of this name most likely holds a secret."""
    import re

    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return bool(_WORDS & set(words.split("_"))) or re.search(_KEYS, words) is not None


_WORDS = {"secret", "secrets", "password", "passwd", "passphrase", "token", "credential", "credentials", "apikey"}
_KEYS = r"(^|_)(api|access|auth|private|secret|signing|encryption|ssh)_?key(_|$)"
_LIKELY = ("token", "password", "secret", "api_key")

_GIVEN = r"""(?x)
(?: --([\w.-]+) (?: :?= | @ | \s+(?!-) )  |  \b([A-Za-z_][\w.-]*) :?= )
( (?: '[^']*(?:'|$) | "(?:[^"\\]|\\.)*(?:"|$) | \\. | [^\s'"\\] )+ )"""


def given_secrets(text: str, names: Collection[str] = ()) -> list[tuple[int, int]]:
    """Where the values of flags for secrets stand in a text: of those called so, of those in `names`, of near misses.

    A word without dashes before a = is a flag too, that somebody meant.
    """
    import re

    from pflow.naming import nearest

    places = []
    for found in re.finditer(_GIVEN, text):
        name = (found[1] or found[2]).rpartition(".")[2].replace("-", "_")
        if name in names or is_secret_name(name) or nearest(name, (*names, *_LIKELY)):
            places.append(found.span(3))
    return places


def hide_given(error: Failure, words: Sequence[str], names: Collection[str] = ()) -> Failure:
    """The error, masked with what the words of a command give to flags for secrets."""
    from shlex import quote

    parts = [word.partition("=") if word.startswith("--") else (word, "", "") for word in words]
    text = " ".join([name + equals + (quote(value) if value else "") for name, equals, value in parts])
    return hidden(error, *(text[start:end].strip("'\"") for start, end in given_secrets(text, names)))
