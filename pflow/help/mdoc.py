"""mdoc, the markup of man pages: any text as markup that shows exactly that text, and a page as plain text again."""

import re

# Characters that roff would interpret, or replace by typographic ones.
_ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}

_DELIMITERS = frozenset("([.,:;)]?!|")
_OF_CODE = frozenset("/_=$<>{}[(\\@#|")
_STANDARD = ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO")

_WIDTH = 78
"""The width at which source lines break; it does not show."""


def escaped(text: str) -> str:
    """Escape a text inside a line."""
    return "".join([_ESCAPES.get(char) or (char if char.isascii() else f"\\[u{ord(char):04X}]") for char in text])


_READ = {**{made: char for char, made in _ESCAPES.items()}, "\\&": "", "\\%": "", "\\fB": "", "\\fP": "", "\\ ": " "}


def as_text(page: str) -> str:
    """Turn one of our pages into plain text, for systems without man."""
    rows = []
    for line in page.split("\n"):
        macro, _, rest = line.partition(" ") if line.startswith(".") else ("", "", line)
        shown = re.sub(r"\\\[u([0-9A-F]+)\]|\\fB|\\fP|\\\(..|\\.", _shown, rest)
        if macro in (".Sh", ".Ss", ".Pp", ".Bd", ".Bl"):
            rows.append("")
        if shown and macro in ("", ".Sh", ".Ss", ".Nm", ".Nd", ".It", ".Pa"):
            rows.append({".It": shown.removeprefix("Sy ").removeprefix("Pa "), ".Sh": shown}.get(macro, f"  {shown}"))
    return "\n".join(rows).lstrip("\n") + "\n"


def _shown(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _READ[escape[0]]


def word(text: str) -> str:
    """Escape a text as one word of a macro's line, where it is neither a macro nor a delimiter."""
    made = escaped(text).replace(" ", "\\ ")
    return "\\&" + made + "\\&" * (made[-1:] in _DELIMITERS)


def heading(title: str) -> str:
    """Return a section's heading. Ours end in \\&, since mandoc takes ACTIONS for a misspelt AUTHORS."""
    return f".Sh {escaped(title)}" + "\\&" * (title not in _STANDARD)


def lines(text: str) -> list[str]:
    """Split a text to be filled into lines: a line ends with each sentence, and where it gets long."""
    made: list[str] = []
    line = ""
    for each in map(_unbroken, text.split()):
        is_sentence = line.endswith((".", "!", "?")) and not line.endswith("..") and not each[:1].islower()
        if line and (is_sentence or len(line) + len(each) >= _WIDTH):
            made.append(line)
            line = ""
        line = f"{line} {each}" if line else at_line_start(each)
    return [*made, line] if line else made


def _unbroken(word: str) -> str:
    """Escape a word of a text; a path or the like is not hyphenated."""
    return "\\%" * (not _OF_CODE.isdisjoint(word)) + escaped(word)


def at_line_start(text: str) -> str:
    """Keep a text that begins a line from being read as a macro."""
    return "\\&" + text if text.startswith((".", "'")) else text


def literal(text: list[str], *, offset: bool = False) -> list[str]:
    """Return lines to be shown verbatim; empty without lines."""
    if not text:
        return []
    shown = [at_line_start(escaped(line.rstrip())) for line in text]
    return [".Bd -literal" + " -offset indent" * offset, *shown, ".Ed"]


def listing(rows: list[tuple[str, str]], width: str = "Ds", *, compact: bool = False) -> list[str]:
    """Return a list of tags, each already in mdoc, with a text for each; empty without tags."""
    if not rows:
        return []
    made = [f".Bl -tag -width {width}" + " -compact" * compact]
    for tag, text in rows:
        made += [f".It {tag}", *lines(text)]
    return [*made, ".El"]


_LONGEST = 16
"""The most characters of a tag that has its text beside it."""


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, separated by vertical space."""
    made: list[str] = []
    for each in filter(None, (part.strip("\n") for part in text.split("\n\n"))):
        rows = each.split("\n")
        start = next((n for n in range(len(rows)) if all(row.startswith("  ") for row in rows[n:])), len(rows))
        if start:
            made += [".Pp"] * bool(made) + lines(" ".join(rows[:start]))
        if rows[start:]:
            made += _block(rows[start:], [".Pp"] * bool(made))
    return made


def _block(rows: list[str], space: list[str]) -> list[str]:
    pairs = [tuple(map(str.strip, row.strip().partition("  ")))[::2] for row in rows]
    if not all(tag and text for tag, text in pairs):
        return literal([row[2:] for row in rows], offset=True)
    width = max(len(tag) for tag, _ in pairs)
    shape = f"{width + 2}n" if width <= _LONGEST else "Ds"
    return [*space, *listing([(f"Sy {word(tag)}", text) for tag, text in pairs], shape, compact=True)]


_WIDEST = 72
"""The width of an example on a page of 80 columns."""

_SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'?|"(?:\\.|[^"\\])*"?|[^ '"\\])+""", re.DOTALL)


def folded(command: str) -> list[str]:
    """Split a long command into lines that a shell reads as the same command, breaking after each | of a pipe."""
    if len(command) <= _WIDEST:
        return [command]
    first, *words = _SHELL_WORD.findall(command)
    rows = [first]
    for each in words:
        is_piped = rows[-1].endswith(" |")
        if not is_piped and len(rows[-1]) + 1 + len(each) <= _WIDEST - 2:
            rows[-1] += f" {each}"
        else:
            rows[-1] += "" if is_piped else " \\"
            rows.append(f"    {each}")
    return rows
