"""The words and separators of pipe syntax, quoted as for a POSIX shell, each with its place."""

from __future__ import annotations

from pflow import Sequence
from pflow.errors import USAGE, PflowError

Part = tuple[str, int]
"""A piece of a word, and its kind of quoting."""

WORD, LINK, END, OPEN, CLOSE = "word", "link", "end", "open", "close"
SEPARATORS = ("=>", ">>", "|", "::")
ARROWS = ("->", "-->", "==>", "→", "⇒")
"""Words that look like separators and are none."""
_BEHIND = " \t\r\n;|"
"""The characters that end a word."""
_SPECIAL = _BEHIND + "'\"\\"
"""The characters that end the unquoted part of a word."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%")
_MASK = "\0"
UNQUOTED, _DOUBLE, _QUOTED = range(3)
_MOST_STEPS = 100
"""The most names that are looked up for an error; a text that is not a flow may hold any number."""


class Token:
    """A word, a separator (LINK), the end of a chain (END), `(` (OPEN) or `)` (CLOSE), at its place in the text.

    `bare` is the text with \\0 for each quoted letter; `loose` keeps double-quoted text, where a shell expands a `$`.
    Of a word made of parentheses, `inside` are the tokens between them.
    """

    def __init__(self, kind: str, at: int, parts: list[Part]) -> None:
        self.kind = kind
        self.at = at
        self.inside: list[Token] | None = None
        self.text = "".join([text for text, _ in parts])
        self.bare = "".join([text if how == UNQUOTED else _MASK * len(text) for text, how in parts])
        self.loose = "".join([text if how != _QUOTED else _MASK * len(text) for text, how in parts])

    @property
    def is_quoted(self) -> bool:
        """True if all of it is in quotes."""
        return not self.bare.strip(_MASK)


def is_separator(text: str) -> bool:
    """Return True if an unquoted word is a separator: `=>`, `>>`, `|`, `::`, or `=failed=>` for an action."""
    return text in SEPARATORS or (text.startswith("=") and text.endswith("=>") and len(text) > 3)


def separates(word: str) -> bool:
    """Return True if a step begins after a word split by a shell: a separator, the `;` between chains, or `(`."""
    return word in (";", "(") or is_separator(word)


def is_cut_separator(word: str) -> bool:
    """Return True if a word is what a shell leaves of a `=>` or `=failed=>` that it took for a redirection."""
    return word == "=" or (len(word) > 2 and word.startswith("=") and word.endswith("="))


def scan(text: str) -> list[Token]:
    """Return the tokens of a text. Raises PflowError (2) for a quote that is never closed."""
    tokens: list[Token] = []
    parts: list[Part] = []
    start = at = 0
    while at < len(text):
        letter = text[at]
        if letter not in _BEHIND and (letter != "#" or parts):
            start = start if parts else at
            found, at = _part(text, at)
            parts += found
            continue
        tokens += _word(start, parts)
        parts = []
        if letter in "\n;|":
            tokens.append(Token(LINK if letter == "|" else END, at, [(letter, UNQUOTED)]))
        comment = text.find("\n", at) if letter == "#" else at + 1
        at = comment if comment >= 0 else len(text)
    return tokens + _word(start, parts)


def _word(start: int, parts: list[Part]) -> list[Token]:
    word = Token(WORD, start, parts)
    word.kind = _kind_of(word.bare)
    return [word] if parts else []


def _kind_of(bare: str) -> str:
    """Return the kind of an unquoted word; `):id` names the step that it closes."""
    if is_separator(bare):
        return LINK
    return OPEN if bare == "(" else CLOSE if closes(bare) else WORD


def closes(word: str) -> bool:
    """Return True for the end of a step in parentheses, `)` or `):id`."""
    return word == ")" or word.startswith("):")


def scan_words(words: Sequence[str]) -> tuple[str, list[Token]]:
    """Return the tokens of words that a shell has split, and the text that their places are in."""
    tokens: list[Token] = []
    shown = ""
    for word in words:
        kind = END if word == ";" else _kind_of(word)
        tokens.append(Token(kind, len(shown), [(word, _QUOTED if kind == WORD else UNQUOTED)]))
        shown += (_shown(word) if kind == WORD else word) + " "
    return shown.rstrip(), tokens


def _shown(word: str) -> str:
    """Quote a word for a shell; of a flag, only its value."""
    flag, equals, value = word.partition("=")
    if not flag.startswith("--"):
        return quote(word)
    return flag + equals + quote(value) if value else word


def fault(text: str, at: int, why: str, hint: str = "") -> PflowError:
    """Return the error for a place in pipe syntax: the text around it, the reason and the remedy."""
    return PflowError(f"{cannot_read(text, at)}: {why}", hint=hint, exit=USAGE)


def cannot_read(text: str, at: int) -> str:
    """Return the beginning of an error, with the text around a place; values of secret flags are masked."""
    from pflow.values.secrets import MASK, find_secrets

    line = f", line {text.count(chr(10), 0, at) + 1}" if "\n" in text else ""
    for begin, behind in reversed(find_secrets(text, secret_flags(text))):
        text = text[:begin] + MASK + text[behind:]
        at = at if at <= begin else max(begin, at + begin + len(MASK) - behind)
    start, end = max(0, at - 24), at + 36
    around = " ".join(text[start:end].split())
    around = ("…" if start else "") + around + ("…" if end < len(text) else "")
    return f"cannot read the flow at '{around}'{line}"


def secret_flags(text: str) -> set[str]:
    """Return the names of the secrets of all nodes that a text names as steps."""
    import re

    from pflow.catalog.kinds import find_kind

    names: set[str] = set()
    steps = re.findall(r"(?:^|=>|>>|[|;\n(]|::)\s*(?:pflow[ -])?([\w-]+)", text)
    for name in list(dict.fromkeys(steps))[:_MOST_STEPS]:
        try:
            kind = find_kind(name)
            names |= kind.interface.secret_flags if kind else set()
        except PflowError:
            continue
    return names


def quote(text: str) -> str:
    """Return the text as one word: unquoted if that is safe, else in the quotes that need the fewest escapes."""
    if text and set(text) <= _SAFE and text != "::":
        return text
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


def _part(text: str, at: int) -> tuple[list[Part], int]:
    """Return the piece of a word that begins here, and its end; no piece for a backslash at the end of a line."""
    letter = text[at]
    if letter == "\\":
        ending = next((each for each in ("\\\n", "\\\r\n") if text.startswith(each, at)), "")
        if ending or at + 1 == len(text):
            return [], at + (len(ending) or 1)
        return [(text[at + 1], _QUOTED)], at + 2
    if letter == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise _unclosed(text, at)
        return [(text[at + 1 : end], _QUOTED)], end + 1
    if letter == '"':
        return _double_quoted(text, at)
    end = at
    while end < len(text) and text[end] not in _SPECIAL:
        end += 1
    if text[end - 1] == "$" and text.startswith(("'", '"'), end):
        raise fault(text, end - 1, "$ before a quote works only in a shell", "write the text in '…'")
    return [(text[at:end], UNQUOTED)], end


def _double_quoted(text: str, start: int) -> tuple[list[Part], int]:
    parts = [("", _DOUBLE)]
    at = start + 1
    while (end := text.find('"', at)) >= 0:
        slash = text.find("\\", at, end)
        if slash < 0:
            return [*parts, (text[at:end], _DOUBLE)], end + 1
        letter = text[slash + 1]
        kept = "" if letter == "\n" else letter if letter in '$`"\\' else "\\" + letter
        parts += [(text[at:slash], _DOUBLE), (kept, _QUOTED)]
        at = slash + 2
    raise _unclosed(text, start)


def _unclosed(text: str, at: int) -> PflowError:
    return fault(text, at, f"the {text[at]} here is never closed", "a quote inside a text: 'it'\\''s'")
