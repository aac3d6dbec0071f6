"""The words and separators of pipe syntax, quoted as for a POSIX shell, each with its place."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import USAGE, PflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Part = tuple[str, int]
    """A piece of a word, and how it is quoted."""

WORD, LINK, END = "word", "link", "end"
SEPARATORS = ("=>", ">>", "|", "::")
BLANK = " \t\r"
_BEHIND = BLANK + "\n;|"
"""What ends a word."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")
_MASK = "\0"
_UNQUOTED, _DOUBLE, _QUOTED = range(3)


class Token:
    """A word, a separator (LINK) or the end of a chain (END), at its place in the text.

    `bare` is the text with \\0 for each quoted letter; `loose` keeps what is in double quotes, where a shell would
    expand a `$`.
    """

    __slots__ = ("at", "bare", "is_quoted", "kind", "loose", "text")

    def __init__(self, kind: str, at: int, parts: list[Part]) -> None:
        self.kind = kind
        self.at = at
        self.text = "".join([text for text, _ in parts])
        self.bare = "".join([text if how == _UNQUOTED else _MASK * len(text) for text, how in parts])
        self.loose = "".join([text if how != _QUOTED else _MASK * len(text) for text, how in parts])
        self.is_quoted = any(how != _UNQUOTED for _, how in parts)


def is_separator(text: str) -> bool:
    """Whether a word without quotes is a separator: `=>`, `>>`, `|`, `::`, or `=failed=>` for an action."""
    return text in SEPARATORS or (text.startswith("=") and text.endswith("=>") and len(text) > 3)


def is_cut_separator(word: str) -> bool:
    """Whether a word is what the shell leaves of a `=>` or `=failed=>` that it took for a redirection."""
    return word == "=" or (len(word) > 2 and word.startswith("=") and word.endswith("="))


def scan(text: str) -> list[Token]:
    """The tokens of a text. Raises PflowError (2) for a quote that is never closed."""
    return _Scanner(text).run()


def scan_words(words: Sequence[str]) -> tuple[str, list[Token]]:
    """The tokens of words that a shell has taken apart, and the text that their places are in."""
    tokens, at = [], 0
    for word in words:
        kind = LINK if is_separator(word) else END if word == ";" else WORD
        tokens.append(Token(kind, at, [(word, _QUOTED if kind == WORD else _UNQUOTED)]))
        at += len(word) + 1
    return " ".join(words), tokens


def fault(text: str, at: int, why: str, hint: str = "") -> PflowError:
    """The error for a place in pipe syntax: the text around it, what is wrong and what to do."""
    return PflowError(f"{cannot_read(text, at)}: {why}", hint=hint, exit=USAGE)


def cannot_read(text: str, at: int) -> str:
    start, end = max(0, at - 24), at + 36
    around = " ".join(text[start:end].split())
    around = ("…" if start else "") + around + ("…" if end < len(text) else "")
    line = f", line {text.count(chr(10), 0, at) + 1}" if "\n" in text.strip() else ""
    return f"cannot read the flow at '{around}'{line}"


def quote(text: str) -> str:
    """The text as one word: as it is where that is safe, else in the quotes that need the fewest more."""
    if text and set(text) <= _SAFE and text != "::":
        return text
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        while self.at < len(self.text):
            self._next()
        return self.tokens

    def _next(self) -> None:
        letter = self.text[self.at]
        if skipped := self._continuation():
            self.at += skipped
        elif letter in BLANK:
            self.at += 1
        elif letter == "#":
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        elif letter in "\n;|":
            self.tokens.append(Token(LINK if letter == "|" else END, self.at, [(letter, _UNQUOTED)]))
            self.at += 1
        else:
            self._word()

    def _continuation(self) -> int:
        """How long a backslash with the end of its line is; the end of the text counts too."""
        for ending in ("\\\n", "\\\r\n"):
            if self.text.startswith(ending, self.at):
                return len(ending)
        return int(self.text[self.at] == "\\" and self.at + 1 == len(self.text))

    def _word(self) -> None:
        start, parts = self.at, [("", _UNQUOTED)]
        while self.at < len(self.text) and self.text[self.at] not in _BEHIND:
            parts += _PARTS.get(self.text[self.at], _Scanner._plain)(self)
        word = Token(WORD, start, parts)
        word.kind = LINK if is_separator(word.text) and not word.is_quoted else WORD
        self.tokens.append(word)

    def _plain(self) -> list[Part]:
        start = end = self.at
        while end < len(self.text) and self.text[end] not in _BEHIND and self.text[end] not in _PARTS:
            end += 1
        self.at = end
        if self.text[end - 1] == "$" and self.text.startswith(("'", '"'), end):
            raise fault(self.text, end - 1, "$ before a quote is a shell's own", "write the text in '…'")
        return [(self.text[start:end], _UNQUOTED)]

    def _escaped(self) -> list[Part]:
        skipped = self._continuation()
        parts = [] if skipped else [(self.text[self.at + 1], _QUOTED)]
        self.at += skipped or 2
        return parts

    def _single(self) -> list[Part]:
        start, end = self.at + 1, self._closing("'")
        self.at = end + 1
        return [(self.text[start:end], _QUOTED)]

    def _double(self) -> list[Part]:
        at, end = self.at + 1, self._closing('"')
        parts = [("", _DOUBLE)]
        while at < end:
            slash = self.text.find("\\", at, end)
            slash = slash if slash >= 0 else end
            parts.append((self.text[at:slash], _DOUBLE))
            if slash < end:
                parts.append((_unescaped(self.text[slash + 1]), _QUOTED))
            at = slash + 2
        self.at = end + 1
        return parts

    def _closing(self, quote: str) -> int:
        """Where the quote that begins here ends."""
        at = self.at + 1
        while (end := self.text.find(quote, at)) >= 0:
            slash = self.text.find("\\", at, end) if quote == '"' else -1
            if slash < 0:
                return end
            at = slash + 2
        raise fault(self.text, self.at, f"the {quote} here is never closed", "a quote inside a text: 'it'\\''s'")


def _unescaped(letter: str) -> str:
    """What a backslash and a letter mean in double quotes."""
    return "" if letter == "\n" else letter if letter in '$`"\\' else "\\" + letter


_PARTS = {"'": _Scanner._single, '"': _Scanner._double, "\\": _Scanner._escaped}
