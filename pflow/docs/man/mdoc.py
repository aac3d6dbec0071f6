"""mdoc, the language of man pages: any text as lines that show it as it is, and the few forms that our pages have."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# What roff would take for something else, or print as a typographer would.
_SIGNS = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}

_DELIMITERS = frozenset("([.,:;)]?!|")
_OF_CODE = frozenset("/_=$<>{}[(\\@#|")
_STANDARD = ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")

_WIDTH = 78
"""Where our own lines break; it does not show."""


def escaped(text: str) -> str:
    """A text that stands inside a line."""
    return "".join([_SIGNS.get(sign) or (sign if sign.isascii() else f"\\[u{ord(sign):04X}]") for sign in text])


def word(text: str) -> str:
    """A text as one word of a macro's line, which is neither a macro there nor begins or ends with a delimiter."""
    made = escaped(text).replace(" ", "\\ ")
    return "\\&" + made + "\\&" * (made[-1:] in _DELIMITERS)


def heading(title: str) -> str:
    """A section's heading. What ends ours is for mandoc, which takes ACTIONS for AUTHORS, mistyped."""
    return f".Sh {escaped(title)}" + "\\&" * (title not in _STANDARD)


def lines(text: str) -> list[str]:
    """A text to be filled: a line ends with each sentence, and where it gets long."""
    made: list[str] = []
    line = ""
    for each in map(_unbroken, text.split()):
        if line and (len(line) + len(each) >= _WIDTH or _ends_sentence(line, each)):
            made.append(line)
            line = ""
        line = f"{line} {each}" if line else _first(each)
    return [*made, line] if line else made


def _unbroken(word: str) -> str:
    """A word of a text; a path or the like is not hyphenated."""
    return "\\%" * (not _OF_CODE.isdisjoint(word)) + escaped(word)


def _ends_sentence(line: str, following: str) -> bool:
    return line.endswith((".", "!", "?")) and not line.endswith("..") and not following[:1].islower()


def _first(text: str) -> str:
    return "\\&" + text if text.startswith((".", "'")) else text


def literal(text: Iterable[str], *, offset: bool = False) -> list[str]:
    """Lines as they are."""
    shown = [_first(escaped(line.rstrip())) for line in text]
    return [".Bd -literal" + " -offset indent" * offset, *shown, ".Ed"]


def listing(rows: Iterable[tuple[str, str]], width: str = "Ds", *, compact: bool = False) -> list[str]:
    """A list of tags, each already in mdoc, and a text for each."""
    made = [f".Bl -tag -width {width}" + " -compact" * compact]
    for tag, text in rows:
        made += [f".It {tag}", *lines(text)]
    return [*made, ".El"]
