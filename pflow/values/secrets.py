"""Secrets: which values, names and words are secret, and how they are masked in any text, quoted or escaped.

An interface marks its own secrets with `[secret]`; everything else is judged here.
"""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Collection, Iterator, Sequence
from pflow.errors import PflowError, shorten
from pflow.values.jsontext import change_texts, text_of
from pflow.values.paths import look_inside

if TYPE_CHECKING:
    from typing import TypeVar

    Failure = TypeVar("Failure", bound=PflowError)

MASK = "***"
"""The text shown in place of a secret."""

_SHORT = 4
"""A secret of fewer characters is masked only as a whole word."""


class Secrets:
    """The secret values known so far, which mask texts and errors."""

    def __init__(self, others: Secrets | None = None) -> None:
        """Begin with the secrets of `others`; those that are added here are not added there."""
        # The number of texts is kept with their forms: another thread may add a text while the forms are made.
        self._forms: tuple[int, list[str]] = others._forms if others else (0, [])
        self._texts: set[str] = set(others._texts) if others else set()

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, value: Any) -> bool:
        """Add a value's text and each of its lines, or the items of a list or object; return True if any is new."""
        new = {*_texts(value)} - self._texts
        for known in (self, all_secrets) if new else ():
            known._texts |= new
        return bool(new)

    def mask(self, text: str) -> str:
        """Mask each secret in a text, also where it is quoted, escaped or URL-encoded."""
        if self._forms[0] < len(self._texts):
            texts = self._texts.copy()
            forms = {form for secret in texts for form in _forms(secret)}
            # The longest first: masking a secret inside a longer one would leave the rest of the longer one readable.
            self._forms = len(texts), sorted(forms, key=len, reverse=True)
        for form in self._forms[1]:
            text = text.replace(form, MASK) if len(form) >= _SHORT else _without_word(text, form)
        return text

    def are_in(self, value: Any) -> bool:
        """Return True if a value contains a secret, also in a key or in bytes."""
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
        """Mask an error's message, hint and details."""
        if self._texts:
            error.message, error.hint = self.mask(error.message), self.mask(error.hint)
            error.args = (error.message,)
            error.details = self.masked(error.details)
        return error

    def masked(self, value: Any) -> Any:
        """Return a copy of a value with the secrets in its texts masked."""
        return change_texts(value, self.mask)

    def without(self, value: Any) -> Any:
        """Return a value with its secrets masked; the mask alone if a secret is in a key, in bytes or in a number."""
        shown = self.masked(value) if self._texts else value
        return MASK if self.are_in(shown) else shown


all_secrets = Secrets()
"""All secrets that are known in this process."""


def masked(error: Failure, *secrets: Any) -> Failure:
    """Mask these secrets in an error."""
    known = Secrets()
    known.add([*secrets])
    return known.hide(error)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts that would reveal a value."""
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
    """Yield a secret as Python, JSON, URLs and shells write it, also one inside another, and as `shorten` cuts it."""
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
    """Return True if a variable, flag or input of this name most likely holds a secret."""
    import re

    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return bool(_WORDS & set(words.split("_"))) or re.search(_KEYS, words) is not None


def is_secret_header(name: str) -> bool:
    """Return True if an HTTP header of this name most likely holds a secret."""
    return name.lower() in ("authorization", "cookie", "proxy-authorization") or is_secret_name(name)


_WORDS = {"secret", "secrets", "password", "passwd", "passphrase", "token", "credential", "credentials", "apikey"}
_KEYS = r"(^|_)(api|access|auth|private|secret|signing|encryption|ssh)_?key(_|$)"
_LIKELY = ("token", "password", "secret", "api_key")

# A name has at most 100 letters, and begins only after the first dashes: otherwise the regex would start again at each
# character of a long row, which takes quadratic time.
_FLAG = r"""(?x)
(?: (?<!-)-{2,}([\w.][\w.-]{0,99}) (?: :?= | @ | \s+(?!-) )  |  \b([A-Za-z_][\w.-]{0,99}) :?= )
( (?: '[^']*(?:'|$) | "(?:[^"\\]|\\.)*(?:"|$) | \\. | [^\s'"\\] )+ )"""


def find_secrets(text: str, names: Collection[str] = ()) -> list[tuple[int, int]]:
    """Find the values of secret flags in a text, also of NAME=VALUE without dashes.

    A flag is secret if its name is in `names`, has a word such as `token`, or is nearly such a name.
    """
    import re

    from pflow.text.naming import nearest

    places = []
    for found in re.finditer(_FLAG, text):
        name = (found[1] or found[2]).rpartition(".")[2].replace("-", "_")
        if name in names or is_secret_name(name) or nearest(name, (*names, *_LIKELY)):
            places.append(found.span(3))
    return places


def mask_flags(error: Failure, words: Sequence[str], names: Collection[str] = ()) -> Failure:
    """Mask in an error the values that a command's words give to secret flags."""
    from shlex import quote

    parts = [word.partition("=") if word.startswith("--") else (word, "", "") for word in words]
    text = " ".join([name + equals + (quote(value) if value else "") for name, equals, value in parts])
    return masked(error, *(text[start:end].strip("'\"") for start, end in find_secrets(text, names)))


_VALUES = (
    r"\bsk-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}"
    r"|\bAIza[\w-]{30,}|\bglpat-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY.*"
)
_VARIABLE = r"\$\{?[!#]?([A-Za-z_]\w*)|\b(?:printenv|getenv|environ|ENVIRON|ENV|process\.env)(?:\.get)?\W{1,4}(\w+)"
_LOGIN = r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"


def of_environment(least: int = 6) -> list[str]:
    """Return the values, of at least so many characters, of the variables whose names promise secrets."""
    return [value for name, value in os.environ.items() if len(value) >= least and is_secret_name(name)]


def _unlike_words() -> list[str]:
    """Return the secrets of the environment that no text has by chance: long ones that are no word or path."""
    values = of_environment(8)
    return [each for each in values if not each.isalpha() and not (os.path.isabs(each) and os.path.exists(each))]


def is_secret_value(text: str) -> bool:
    """Return True if a text holds a key of a known form, or a secret of the environment."""
    import re

    return re.search(_VALUES, text) is not None or any(value in text for value in _unlike_words())


def hider() -> Callable[[str], str]:
    """Return a function that masks keys, and the secrets that the environment has now, in texts."""
    import re

    values = sorted(_unlike_words(), key=len, reverse=True)

    def hide(text: str) -> str:
        for value in values:
            text = text.replace(value, MASK)
        return re.sub(_VALUES, MASK, text)

    return hide


def mask_logins(text: str) -> str:
    """Mask the credentials after the scheme of an Authorization header."""
    import re

    return re.sub(_LOGIN, rf"\1 {MASK}", text)


def secret_variables(text: str) -> list[str]:
    """Return the environment variables in a text, as `$NAME` or `printenv NAME`, whose names promise secrets."""
    import re

    names = [match[1] or match[2] for match in re.finditer(_VARIABLE, text)]
    return [name for name in names if name.isupper() and is_secret_name(name)]
