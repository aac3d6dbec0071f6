"""Valid inputs with a few changes: spans of a text, members of a JSON value."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.flow.test_schema import places_in

_PIECES = [
    "",
    " ",
    "\n",
    "\r",
    "\0",
    "\x1b[31m",
    "\u202e\x9b",
    "é",
    "\ud800",
    "\\",
    '"',
    "'",
    "$",
    "${",
    "{",
    "[",
    "99",
]
_JUNK = [None, True, -1, 0, 1.5, 1e308, 1 << 63, "", "a", "a.b[0]", "$a", "${a}", "\x1b[31m\n", "\ud800", [], {}, [{}]]
_JUNK += [json.loads("[" * 150 + "]" * 150), {"a": "b"}, ["a"], "x" * 5000]
_LARGE = 100_000
_SHORT = st.text(st.characters(max_codepoint=0x2FF), max_size=3)


def texts(samples: Sequence[str], tokens: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Draw a sample in which spans are replaced, removed, doubled, or repeated until the text is large."""
    pieces = st.sampled_from([*tokens, *_PIECES]) | _SHORT
    kinds = st.sampled_from(["piece"] * 6 + ["double", "double", "other", "other", "large"])
    edits = st.lists(st.tuples(kinds, st.integers(0, 9999), st.integers(0, 9) | st.integers(0, 99), pieces), max_size=5)
    return st.tuples(st.sampled_from(samples), st.sampled_from(samples), edits).map(lambda drawn: _edited(*drawn))


def _edited(text: str, other: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, place, size, piece in edits:
        at, start = place % (len(text) + 1), place % (len(other) + 1)
        span = text[at : at + size]
        if kind == "other":
            piece = other[start : start + size]
        elif kind == "double":
            piece = span * 2
        elif kind == "large":
            piece = (span or piece or "(") * (max(0, _LARGE - len(text)) // len(span or piece or "("))
        text = text[:at] + piece + text[at + size :]
    return text


def data(samples: Sequence[str], tokens: Sequence[str] = ()) -> st.SearchStrategy[bytes]:
    """Draw such a text as bytes, which are no UTF-8 where it has a lone surrogate."""
    return texts(samples, tokens).map(lambda text: text.encode("utf-8", "surrogatepass"))


@st.composite
def values(draw: st.DrawFn, samples: Sequence[Any], junk: Sequence[Any] = ()) -> Any:
    """Draw a sample of JSON in which members are replaced, by others of it too, removed or renamed."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(0, 4))):
        *outer, key = draw(st.sampled_from([*places_in(value)][1:] or [(None,)]))
        holder = value
        for step in outer:
            holder = holder[step]
        kind = draw(st.integers(0, 5))
        if key is None:
            return copy.deepcopy(draw(st.sampled_from([*junk, *_JUNK])))
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            name = draw(st.sampled_from([str(each[-1]) for each in places_in(value) if each]) | _SHORT)
            holder[name] = holder.pop(key)
        elif kind == 2:
            holder[key] = copy.deepcopy(draw(st.sampled_from([_at(value, place) for place in places_in(value)])))
        elif kind == 3 and isinstance(holder, list):
            holder.insert(draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from([*junk, *_JUNK]) | _SHORT))
    return value


def _at(value: Any, place: Sequence[Any]) -> Any:
    for step in place:
        value = value[step]
    return value
