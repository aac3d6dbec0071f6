"""Secrets, and texts in which a mask stands for them, however they are written there."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import shorten
from pflow.values.jsontext import text_of
from pflow.values.paths import look_inside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any, TypeVar

    from pflow.errors import PflowError

    Failure = TypeVar("Failure", bound=PflowError)

MASK = "***"
"""What is shown in place of a secret."""

_SHORT = 4
"""A secret of fewer characters is masked as a word by itself, and not inside of others."""


class Secrets:
    """The secret values that are known so far; with them, texts and errors are masked."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._forms: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, value: Any) -> bool:
        """Take a value: its text and each line of it; of a list or an object, all that it holds. Whether it is new."""
        known = len(self._texts)
        self._texts.update(_texts(value))
        is_new = len(self._texts) > known
        if is_new:
            self._forms = []
        return is_new

    def mask(self, text: str) -> str:
        """The text with a mask for each secret: as it is, quoted, escaped, or encoded for a URL."""
        if not self._forms:
            forms = {form for secret in self._texts for form in _forms(secret)}
            self._forms = sorted(forms, key=len, reverse=True)
        for form in self._forms:
            text = text.replace(form, MASK) if len(form) >= _SHORT else _without_word(text, form)
        return text

    def are_in(self, value: Any) -> bool:
        """Whether one stands in a value, be it as a key or in bytes."""
        if not self._texts:
            return False
        if isinstance(value, bytes):
            value = value.decode("utf-8", "backslashreplace")
        elif isinstance(value, dict):
            return self.are_in([*value, *value.values()])
        elif isinstance(value, list):
            return any(map(self.are_in, value))
        text = text_of(value)
        return self.mask(text) != text

    def hide(self, error: Failure) -> Failure:
        """The error, masked: its message, its hint and its details."""
        if self._texts:
            error.message, error.hint = self.mask(error.message), self.mask(error.hint)
            error.args = (error.message,)
            error.details = self.masked(error.details)
        return error

    def masked(self, value: Any) -> Any:
        """A value with a mask for each secret in its texts."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {key: self.masked(item) for key, item in value.items()}
        return [self.masked(item) for item in value] if isinstance(value, list) else value


def masked(error: Failure, *secrets: Any) -> Failure:
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


def _forms(secret: str) -> Iterator[str]:
    """A secret as Python, JSON, a URL and a shell's word write it, in one another too, and as a message cuts it."""
    from json import dumps
    from shlex import quote as shell_word
    from urllib.parse import quote, quote_plus

    def quoted(text: str) -> set[str]:
        as_json = dumps(text), dumps(text, ensure_ascii=False)
        bodies = {each[1:-1] for each in (repr(text), ascii(text), *as_json)}
        return {text, *bodies, *(each.replace("'", "\\'") for each in bodies)}

    data = secret.encode("utf-8", "backslashreplace")
    once = quoted(secret) | {repr(data)[2:-1], shell_word(secret).strip("'")}
    urls = {quote(data), quote(data, safe=""), quote_plus(data)}
    for form in urls.union(*map(quoted, once)):
        yield form
        yield " ".join(form.split())
        yield shorten(form).removesuffix("…")


def _without_word(text: str, word: str) -> str:
    import re

    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", MASK, text)


def is_secret_name(name: str) -> bool:
    """Whether a variable, a flag or an input of this name most likely holds a secret."""
    import re

    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return bool(_WORDS & set(words.split("_"))) or re.search(_KEYS, words) is not None


_WORDS = {"secret", "secrets", "password", "passwd", "passphrase", "token", "credential", "credentials", "apikey"}
_KEYS = r"(^|_)(api|access|auth|private|secret|signing|encryption|ssh)_?key(_|$)"
_LIKELY = ("token", "password", "secret", "api_key")

_FLAG = r"""(?x)
(?: --([\w.-]+) (?: :?= | @ | \s+(?!-) )  |  \b([A-Za-z_][\w.-]*) :?= )
( (?: '[^']*(?:'|$) | "(?:[^"\\]|\\.)*(?:"|$) | \\. | [^\s'"\\] )+ )"""


def find_secrets(text: str, names: Collection[str] = ()) -> list[tuple[int, int]]:
    """Where the values of flags for secrets stand in a text: of those called so, of those in `names`, of near misses.

    A word without dashes before a = is a flag too, that somebody meant.
    """
    import re

    from pflow.words.naming import nearest

    places = []
    for found in re.finditer(_FLAG, text):
        name = (found[1] or found[2]).rpartition(".")[2].replace("-", "_")
        if name in names or is_secret_name(name) or nearest(name, (*names, *_LIKELY)):
            places.append(found.span(3))
    return places


def mask_flags(error: Failure, words: Sequence[str], names: Collection[str] = ()) -> Failure:
    """The error, masked with what the words of a command give to flags for secrets."""
    from shlex import quote

    parts = [word.partition("=") if word.startswith("--") else (word, "", "") for word in words]
    text = " ".join([name + equals + (quote(value) if value else "") for name, equals, value in parts])
    return masked(error, *(text[start:end].strip("'\"") for start, end in find_secrets(text, names)))
