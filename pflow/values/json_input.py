"""JSON from people, models and servers, read strictly: the number of values is limited, errors name line and column."""

from __future__ import annotations

from pflow import Any, Iterator
from pflow.errors import BAD_DATA, PflowError
from pflow.values.jsontext import BLANK, TRAILING, WHITESPACE, ScanError, decode, scan_without_duplicates

_FOREIGN = {
    **dict.fromkeys(("'", "\u2018", "\u201c"), "JSON has only double quotes"),
    **dict.fromkeys(("//", "/*", "#"), "JSON has no comments"),
    "True": "JSON spells it true",
    "False": "JSON spells it false",
    "None": "JSON spells it null",
}
"""The signs of other languages, each with the words for it: people and models write them in JSON."""

MOST_VALUES = 5_000_000
"""The most values in JSON from elsewhere, which take up to 1 GB when they are parsed."""

_OTHERS = bytes({*range(256)} - {*b',[{"\r\n'})
_PIECE = 1 << 20


def parse_text(text: str) -> Any:
    """Parse JSON; if the text is not JSON, parse its first Markdown fence, preferring one marked as json.

    An object that looks like escaped bytes stays an object. Raises PflowError (65).
    """
    try:
        return _value(text, 0, len(text))
    except PflowError:
        found = list(fences(text))
        if not found:
            raise
    _, start, end = next((fence for fence in found if fence[0].startswith("json")), found[0])
    return _value(text, start, end)


def parse_lines(text: str) -> list[Any]:
    """Parse each line that is not blank. Raises PflowError (65)."""
    return [_value(text, start, end) for start, end in _lines(text) if text[start:end].strip(BLANK)]


def _value(text: str, start: int, end: int) -> Any:
    at = end - len(text[start:end].lstrip(BLANK))
    try:
        value, after = scan_without_duplicates(text, at)
        if after > end:
            raise ScanError("it ends in the middle of a value", end)
        if text[after:end].strip(BLANK):
            raise ScanError("something follows the value", end - len(text[after:end].lstrip(BLANK)))
        return value
    except ValueError as error:
        place = place_of(text, error if text.strip(BLANK) else ScanError("it is empty", at), at)
    raise PflowError(f"cannot read the JSON at {place}", exit=BAD_DATA)


def place_of(text: str, error: ValueError, start: int = 0, first_line: int = 1) -> str:
    """Return the place and the reason of an error in JSON: `line 2, column 5: no JSON value`."""
    at: int | None = getattr(error, "pos", None)
    if at is not None and str(error).startswith(TRAILING):  # since Python 3.13 the place is that of the comma
        at = len(text) - len(text[at + 1 :].lstrip(WHITESPACE))
    said = ""
    if at is None:
        at = _refused(text, start)
    elif text.startswith(("}", "]"), at) and text[:at].rstrip(WHITESPACE).endswith(","):
        said = TRAILING
    else:
        said = next((words for sign, words in _FOREIGN.items() if text.startswith(sign, at)), "")
    line, column = first_line + text.count("\n", 0, at), at - text.rfind("\n", 0, at)
    return f"line {line}, column {column}: {said or error}"


def _refused(text: str, start: int) -> int:
    """Return the place of a number or word that the scanner refused: its error has no place."""
    import re

    for token in re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s\[\]{},:"]+', re.DOTALL).finditer(text, start):
        try:
            decode(token[0].encode())
        except ScanError:
            continue
        except ValueError:
            return token.start()
    return start


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        yield start, end
        start = end + 1


def fences(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each Markdown fence's language, and where its content begins and ends; an open one ends with the text.

    A fence may stand on one line, and JSON in a fence may contain the sign of one.
    """
    import re

    mark, language, more_on_its_line = r"^[ \t]*(```+|~~~+)[ \t]*", r"([A-Za-z][^\s{\[\"`]*)?", r"(?:[^\n{\[\"`~]*\n)?"
    opening, at = re.compile(rf"{mark}{language}{more_on_its_line}\s*", re.MULTILINE), 0
    while found := opening.search(text, at):
        try:
            _, end = scan_without_duplicates(text, found.end())
        except ValueError:
            end = found.end()
        close = text.find(found[1], end)
        at = close + len(found[1]) if close >= 0 else len(text)
        yield (found[2] or "").lower(), found.end(), close if close >= 0 else len(text)


def has_too_many_values(data: bytes | bytearray) -> bool:
    """Return True if JSON, or lines of it, have more than MOST_VALUES values: `[],…` parsed takes 25 times its size."""
    most = MOST_VALUES
    if sum(map(data.count, (b",", b"[", b"{"))) <= most:
        return False
    import re

    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS).replace(b'""', b"")
    string = re.compile(rb'"[^"\r\n]*(?:["\r\n]|\Z)|[\r\n]+')
    opened = b""
    for at in range(0, len(bare), _PIECE):  # in parts: splitting all of it at once would fill the memory
        part = opened + bare[at : at + _PIECE]
        most -= sum(map(len, string.split(part)))
        last = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
        opened = b'"' if part.count(b'"', last) % 2 else b""  # the cut was inside a string
    return most < 0
