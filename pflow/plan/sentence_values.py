"""The values that a sentence names: paths, URLs, numbers, and texts in quotes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from pflow.jsontext import text_of

URL, PATH, NUMBER, QUOTED = "url", "path", "number", "quoted"

_PATTERNS = {
    QUOTED: r"\"(?P<double>[^\"\n]+)\"|(?<!\w)'(?P<single>[^'\n]+)'(?!\w)|`(?P<back>[^`\n]+)`",
    URL: r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>`]*[^\s\"'<>`.,;:!?)\]}]",
    NUMBER: r"(?<![\w./-])(?<!\d,)-?\d+(?:\.\d+)?(?![\w/*-]|[.,]\w)",
    PATH: r"(?<![\w/~*.])[~\w./*?@+-]*[~\w/*]",
}
_ALL = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_EXTENSION = re.compile(r"[\w*?@+-]\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NO_PATHS = {"e.g", "i.e", "and/or", "either/or", "he/she", "his/her", "n/a", "w/o", "w/", "/", "etc"}


@dataclass(frozen=True)
class Value:
    """A value in a sentence: its kind, its text without quotes, and where it starts and ends."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def expanded(self) -> str:
        """The text; of a path that begins with ~ what a shell makes of it, for no shell has seen the sentence."""
        return os.path.expanduser(self.text) if self.kind == PATH else self.text

    @property
    def number(self) -> int | float:
        return float(self.text) if "." in self.text else int(self.text)


def values_in(sentence: str) -> list[Value]:
    """Every value, in the order of the sentence."""
    found = []
    for match in _ALL.finditer(sentence):
        kind = next(kind for kind in _PATTERNS if match[kind] is not None)
        text = next(each for each in (match["double"], match["single"], match["back"], match[0]) if each)
        kind = _kind_in_quotes(text) if kind == QUOTED else kind
        if kind != PATH or _is_path(text):
            found.append(Value(kind, text, match.start(), match.end()))
    return found


def _kind_in_quotes(text: str) -> str:
    match = _ALL.fullmatch(text)
    kind = next(kind for kind in _PATTERNS if match[kind] is not None) if match else QUOTED
    return QUOTED if kind == PATH and not _is_path(text) else kind


def _is_path(text: str) -> bool:
    """Whether a word is a path: it has a slash, or ends as a file's name does."""
    return text.lower() not in _NO_PATHS and ("/" in text or bool(_EXTENSION.search(text) and "@" not in text))


def with_value(text: str, before: Any, value: Any) -> str:
    """A text in which each mention of the value `before` is one of `value`: a description follows its flow."""
    for each in reversed(values_in(text)):
        if text_of(before) in (each.text, each.expanded):
            text = text[: each.start] + text_of(value) + text[each.end :]
    return text
