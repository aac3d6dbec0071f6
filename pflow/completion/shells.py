"""`pflow __complete`: answers the shim of each shell in the form that this shell wants."""

from __future__ import annotations

from itertools import groupby

from pflow import Callable
from pflow.completion import names as groups
from pflow.completion.candidates import Candidates, answer
from pflow.completion.line import Typed, quoted, split
from pflow.completion.names import Candidate
from pflow.errors import PflowError, result_of
from pflow.help.usage import TITLES
from pflow.text.printable import clean

_OF_WORDS = (groups.COMMANDS, groups.NODES, groups.TOOLS, groups.FLOWS)
_ENDED, _OPEN = "+o nospace", "-o nospace"
_LISTING = "63"
"""readline's COMP_TYPE, the character `?`, for a TAB that lists and inserts nothing."""


def main(words: list[str]) -> int:
    """Print the answer to `SHELL ARGUMENT…`; nothing if there are no candidates."""
    from pflow.process.streams import write_pieces

    shell, *arguments = words
    lines = result_of(_SHELLS[shell], *arguments, of=PflowError, otherwise=[])  # as where the packs are damaged
    write_pieces(1, ["".join([f"{line}\n" for line in lines]).encode("utf-8", "surrogateescape")])
    return 0


def _bash(type: str, columns: str, breaks: str, text: str) -> list[str]:
    """Return the words for compopt and the lines of COMPREPLY."""
    line = split(text, breaks=breaks)
    found = answer(line)
    if line.is_redirected or (not found.candidates and "$" in line.raw):  # what a variable holds, the shell knows
        return ["-o default"]
    if not found.candidates:
        return []
    if type == _LISTING:
        names = [each.value for each in found.candidates]
        labelled = len(names) <= groups.MOST and any(each.about for each in found.candidates)
        width = int(columns or 80)
        lines = _described(names, _labelled(found, "({}) "), width, "  ") if labelled else names
        return [_OPEN, f"{lines[0]:{width // 2 + 1}}" if labelled else names[0], *lines[1:]]  # wide lines: one column
    words = [line.raw[line.cut :] + quoted(_rest(found, each), line.quote) for each in found.candidates]
    first = found.candidates[0]
    if len(words) == 1 and (found.flow is not None or (line.quote and first.is_open)):
        words = _left_open(words[0] + quoted(_end_in_flow(first, found.flow), line.quote))
    return [_ENDED if len(words) == 1 and not first.is_open else _OPEN, *words]


def _left_open(word: str) -> list[str]:
    """Return two candidates, of which readline and fish insert the common part: the quote around them stays open."""
    return [word, word + " "]


def _rest(found: Candidates, candidate: Candidate) -> str:
    """Return what a candidate adds to the typed text, quoted for the pipe syntax around it."""
    rest = candidate.value[len(found.typed) :]
    return rest if found.flow is None else quoted(rest, found.flow.quote)


def _end_in_flow(candidate: Candidate, flow: Typed | None) -> str:
    return "" if flow is None or candidate.is_open else f"{flow.quote} "


def _zsh(columns: str, quotes: str, text: str) -> list[str]:
    """Return the number of characters that stay; then groups: tag, title, two options of compadd, values and lines."""
    line = split(text)
    found = answer(line)
    kept = found.kept if found.flow is None else found.flow.start + found.flow.place(found.kept)
    names = [each.value.removesuffix("=") for each in found.candidates]
    shown = _described(names, [each.about for each in found.candidates], int(columns), " -- ")
    rows = []
    for text, each in zip(shown, found.candidates, strict=True):
        value, suffix = (each.value[:-1], each.value[-1]) if each.value.endswith(("=", "/")) else (each.value, "")
        if found.flow is not None:
            suffix = suffix or quoted(_end_in_flow(each, found.flow), line.quote)
            value = quoted(value, found.flow.quote)
        rows.append(([each.group, f"-qS{suffix}" if suffix else "-S" * each.is_open], [value, text]))
    lines = [str(line.place(kept) - int(quotes))]
    for (group, suffix), run in groupby(rows, key=lambda row: row[0]):
        cells = [cell for _, pair in run for cell in pair]
        lines.append("\t".join([group, _title(group), suffix, "-l" * (names != shown), *cells]))
    return lines


def _fish(text: str) -> list[str]:
    """Return whole words without quotes, each with its description."""
    line = split(text, escapable=("\\", "'"))
    found = answer(line)
    words = [line.word + _rest(found, each) for each in found.candidates]
    abouts = _labelled(found, "[{}] ")
    if len(words) == 1 and (found.flow is not None or found.candidates[0].group == groups.KEYS):
        words, abouts = _left_open(words[0] + _end_in_flow(found.candidates[0], found.flow)), [*abouts, ""]
    return [f"{word}\t{about}" for word, about in zip(words, abouts, strict=True)]


def _title(group: str) -> str:
    return TITLES.get(group) or ("Saved flows" if group == groups.FLOWS else group.capitalize())


def _labelled(found: Candidates, label: str) -> list[str]:
    """Return descriptions for bash and fish, which have no headings: each begins with its group or kind."""
    kinds = {**{group: group for group in TITLES}, **{group: group.removesuffix("s") for group in _OF_WORDS}}
    labels = {group: label.format(kind) for group, kind in kinds.items()}
    return [labels.get(each.group, "") + clean(each.about) for each in found.candidates]


def _described(names: list[str], texts: list[str], columns: int, between: str) -> list[str]:
    """Return a line for each name, with its text in a second column, cut to the terminal."""
    width = max([len(name) for name in names if len(name) <= columns // 3], default=0)
    lines = [f"{name:{width}}{between}{clean(text)}" if text else name for name, text in zip(names, texts, strict=True)]
    return [line if len(line) < columns else line[: columns - 2] + "…" for line in lines]


_SHELLS: dict[str, Callable[..., list[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
