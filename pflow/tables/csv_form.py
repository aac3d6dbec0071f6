"""How a CSV file is written, by its first lines: its delimiter, its quotes, the names of its columns."""

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.tables.packed import suffix_of
from pflow.terminal.messages import say

DELIMITERS = ",;\t|"
"""The delimiters that are recognized; of two that fit equally well, the first counts."""
LINE_END = re.compile(r"\r\n?|\n")
SAMPLE = 1 << 17
"""Characters in which to look for the form."""

_SEP = re.compile(r'("?)sep=(\\t|[^\r\n"])\2*\1\2*(?=[\r\n]|\Z)', re.IGNORECASE)
_QUOTED = re.compile(r'(\A *|[,;\t|\r\n] *)"(?:[^"]+|"")*+"(?= *(?:[,;\t|\r\n]|\Z))')
_PROSE = re.compile(r"[,;\t|] |(?<=[0-9]),(?=[0-9])")
_OTHER = re.compile(
    r"\s*(?:(?P<HTML><(?:!doctype\s+html|html|head|body|table)\b)|(?P<XML><\?xml\s)"
    r'|(?P<JSON>[\[{]\s*?$|\[\s*(?:\{\s*"|\]\s*\Z)|\{\s*".*\}\s*?$))',
    re.IGNORECASE | re.MULTILINE,
)
"""How texts begin that are certainly no CSV."""
MOST_LINES = 1_000
"""The lines in which to look for the form, and the most of a header and a row: more are a quote that is not closed."""
_MOST_NOTES = 5


def split_sep(text: str) -> tuple[str, str]:
    """Return the delimiter in a first line `sep=;`, which Excel reads, and the text with that line blank."""
    found = _SEP.match(text)
    return (found[2].replace("\\t", "\t"), text[found.end() :]) if found else ("", text)


def find_form(
    lines: Iterator[bytes], name: str, delimiter: str, *, quotes: bool = True, available: int
) -> tuple[list[bytes], str, dict[str, Any]]:
    """Take the first lines; return them, a sample of their text, and how csv.reader reads what begins with them.

    They are the number of lines that are `available` without waiting, and at least a header and a row. The delimiter is
    the given one, the tab of a file's name, or the one that the lines agree on. Raises PflowError (65) for other forms.
    """
    taken = [*islice(lines, available)]

    def texts() -> Iterator[str]:
        for at in range(MOST_LINES):
            if at == len(taken):
                taken.extend(islice(lines, 1))
            if at == len(taken):  # the file ends
                return
            yield taken[at][:SAMPLE].decode(errors="replace")

    for each in delimiter or DELIMITERS:
        deque(islice(filter(None, csv.reader(texts(), delimiter=each)), 2), 0)
    sample = b"".join(taken)[:SAMPLE].decode(errors="replace")
    if other := _OTHER.match(sample):
        hint = "load-json or load-jsonl reads it, in a map --from=json or jsonl" * (other.lastgroup == "JSON")
        raise PflowError(f"cannot read '{name}': it is {other.lastgroup}, not CSV", hint=hint, exit=BAD_DATA)
    bare = _QUOTED.sub(r'\1""', sample) if quotes else sample
    delimiter = delimiter or ("\t" if suffix_of(name) in (".tsv", ".tab") else _delimiter_in(bare))
    # or quotes behind them would be part of the value
    has_spaces = quotes and delimiter != " " and re.search(f'{re.escape(delimiter)} +""', bare)
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    form = {"delimiter": delimiter, "quoting": quoting, "skipinitialspace": bool(has_spaces), "strict": True}
    return taken, sample, form


def _delimiter_in(bare: str) -> str:
    """Return the delimiter of a text whose values in quotes are gone: of those in the header, what most lines agree on.

    If two fit, one that stands elsewhere than in prose and decimals is better, then the more frequent one.
    """
    lines = [*filter(None, LINE_END.split(bare))] or [""]
    rows = _PROSE.sub("", "\n".join(lines[1:] or lines))

    def fit(delimiter: str) -> tuple[int, bool, int]:
        width, agree = Counter(line.count(delimiter) for line in lines if delimiter in line).most_common(1)[0]
        return agree, delimiter in rows, width

    return max((each for each in DELIMITERS if each in lines[0]), key=fit, default=",")


def complete_header(header: list[str], sample: str, form: dict[str, Any]) -> list[str]:
    """Return a header as wide as all rows are: without its trailing delimiters, or with empty names for theirs.

    A first column without a name has the names of rows, as R and pandas write them. Where a comma in a text or a number
    may be the reason, it has to have the numbers of pandas, from 0, or those of R, from 1 and in quotes.
    """
    rows = [*filter(None, csv.reader(io.StringIO(sample, newline=""), **{**form, "strict": False}))][1:]
    whole = rows[:-1] or rows  # the last one may be cut off
    more = len(whole[0]) - len(header) if len({*map(len, whole)}) == 1 else 0
    if more < 0 and not any(header[more:]):
        return header[:more]
    if more > 0 and not any(any(row[-more:]) for row in whole):
        return header + [""] * more
    first, numbers = [row[0] for row in rows], [*map(str, range(len(rows) + 1))]
    is_numbered = first == numbers[:-1] or (first == numbers[1:] and '\n"1",' in sample)
    is_index = len(rows) > 1 and (form["delimiter"] != "," or is_numbered)
    return ["", *header] if more == 1 < len(header) and is_index else header


def name_columns(header: list[str], teller: str) -> list[str]:
    """Return different names for all columns: a second `a` is `a_2`, a third column without one `column_3`.

    `teller` tells of them on stderr.
    """
    taken = {*header}
    places: dict[str, int] = {}
    numbers: dict[str, Iterator[int]] = {}  # where to go on, or a thousand equal names would take their square
    names, notes = [], []
    for number, name in enumerate(header, 1):
        own = name or f"column_{number}"
        if name in places or (not name and own in taken):
            own = next(each for n in numbers.setdefault(own, count(2)) if (each := f"{own}_{n}") not in taken)
        if not name:
            notes.append(f"column {number} has no name and is called '{own}'")
        elif places.setdefault(name, number) != number:
            notes.append(f"column {number} is called '{own}', because column {places[name]} is '{name}'")
        taken.add(own)
        names.append(own)
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"{len(notes) - _MOST_NOTES:,} more columns have no name of their own"]
    for note in notes if teller else ():
        say(teller, note)
    return names
