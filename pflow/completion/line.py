"""The typed line: its words as a shell splits them, and the word at the cursor as it was typed."""

from __future__ import annotations

from pflow import Sequence

_BLANKS = " \t\n"
_FLOW_BLANKS = " \t"
_SEPARATORS = ";|\n"
_REDIRECTIONS = "<>"
_IN_OPERATORS = "<>&|"
_ESCAPED_IN_QUOTES = '$`"\\'
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=-,")


class TypedLine:
    """A command line up to the cursor, or the pipe syntax in its last word.

    `words` are the complete words, unquoted. `word` is the word at the cursor without its quotes, `raw` that word as it
    was typed, `quote` the quote that is open in it, and `places[n]` the index in `raw` of the character `word[n]`.
    `cut` is the index in `raw` from which readline replaces the word. `is_redirected` is True if the word at the cursor
    is the file of a redirection, which is not one of the words, or is inside an open $( or <(.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.raw = ""
        self.is_redirected = False
        self.begin(0)

    def begin(self, at: int) -> None:
        self.start = at
        self.word = self.quote = ""
        self.places: list[int] = []
        self.cut = 0
        self.is_begun = False

    def add(self, text: str, at: int) -> None:
        self.word += text
        self.places += [at - self.start] * len(text)
        self.is_begun = True

    def end(self, at: int) -> None:
        """End the word before a blank or a separator of steps."""
        if self.is_begun and not self.is_redirected:
            self.words.append(self.word)
        self.is_redirected = self.is_redirected and not self.is_begun
        self.begin(at)

    def redirect(self, text: str, at: int) -> int:
        """Begin a redirection; return where its operator ends."""
        if self.word.isdecimal() or self.word == "&":  # the 2 of 2> and the & of &> belong to the operator
            self.begin(at)
        self.end(at)
        self.is_redirected = True
        return len(text) - len(text[at:].lstrip(_IN_OPERATORS))

    def place(self, count: int) -> int:
        """Return the index in `raw` after the first `count` characters of the word."""
        return self.places[count] if count < len(self.places) else len(self.raw)


def split(text: str, *, breaks: str = "", escapable: Sequence[str] = (), is_flow: bool = False) -> TypedLine:
    """Split a command line, or pipe syntax, whose separators become words.

    `breaks` are the characters at which readline breaks words; `escapable` those that a backslash escapes in single
    quotes, which only fish has.
    """
    typed = TypedLine()
    ends = _FLOW_BLANKS + _SEPARATORS if is_flow else _BLANKS
    at = cut_outside = depth = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and (typed.quote != "'" or text[at : at + 1] in escapable):
            escaped = text[at : at + 1]
            is_kept = typed.quote == '"' and escaped not in _ESCAPED_IN_QUOTES
            typed.add(char + escaped if is_kept else escaped, at - 1)
            at += 1
        elif char == typed.quote:
            typed.quote, typed.cut = "", cut_outside
        elif typed.quote:
            typed.add(char, at - 1)
        elif char in "'\"":
            cut_outside, typed.cut = typed.cut, at - typed.start
            typed.quote, typed.is_begun = char, True
        elif char in ends and not depth:
            typed.end(at)
            if is_flow and char in _SEPARATORS:
                typed.words.append(";" if char == "\n" else char)
        elif char in _REDIRECTIONS and not (is_flow or depth or text[at : at + 1] == "("):
            at = typed.redirect(text, at - 1)
        else:
            typed.add("" if depth else char, at - 1)
            if not is_flow:
                depth = max(0, depth + (char == "(") - (char == ")"))
            if char in breaks:  # for readline, a word includes the @ or $ before it
                typed.cut = at - typed.start - (char in "@$")
    typed.is_redirected = typed.is_redirected or depth > 0
    typed.raw = text[typed.start :]
    return typed


def quoted(text: str, quote: str) -> str:
    """Quote a text so that it can be typed after this open quote, or without one."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return "".join([f"\\{char}" if char in _ESCAPED_IN_QUOTES else char for char in text])
    return "".join([char if char in _PLAIN or not char.isascii() else f"\\{char}" for char in text])
