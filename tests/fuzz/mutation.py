"""Valid inputs with a few changes: spans of a text, members of a JSON value."""

import copy
import json
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.flow.test_schema import places_in

SAMPLES, TOKENS, PIECES, JUNK = json.loads(Path(__file__).with_name("samples.json").read_text()).values()
JUNK += [json.loads("[" * 150 + "]" * 150), "x" * 5000]
LARGE = 100_000
SHORT = st.text(st.characters(max_codepoint=0x2FF), max_size=3)


def texts(samples: Sequence[str], tokens: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Draw a sample in which spans are replaced, removed, doubled, or repeated until the text is large."""
    pieces = st.sampled_from([*tokens, *PIECES]) | SHORT
    kinds = st.sampled_from(["piece"] * 6 + ["double", "double", "other", "other", "large"])
    edits = st.lists(st.tuples(kinds, st.integers(0, 9999), st.integers(0, 9) | st.integers(0, 99), pieces), max_size=5)
    return st.tuples(st.sampled_from(samples), st.sampled_from(samples), edits).map(lambda drawn: _edited(*drawn))


def _edited(text: str, other: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, place, size, piece in edits:
        at, start = place % (len(text) + 1), place % (len(other) + 1)
        span = text[at : at + size]
        many = (span or piece or "(") * (max(0, LARGE - len(text)) // len(span or piece or "("))
        new = {"piece": piece, "double": span * 2, "other": other[start : start + size], "large": many}[kind]
        text = text[:at] + new + text[at + size :]
    return text


def data(samples: Sequence[str], tokens: Sequence[str] = ()) -> st.SearchStrategy[bytes]:
    """Draw such a text as bytes, which are no UTF-8 where it has a lone surrogate."""
    return texts(samples, tokens).map(lambda text: text.encode("utf-8", "surrogatepass"))


@st.composite
def values(draw: st.DrawFn, samples: Sequence[Any], junk: Sequence[Any] = ()) -> Any:
    """Draw a sample of JSON in which members are replaced, by others of it too, removed or renamed."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(0, 4))):
        places = [*places_in(value)]
        *outer, key = draw(st.sampled_from(places[1:] or [(None,)]))
        new = draw(st.sampled_from([*junk, *JUNK, *(reduce(getitem, place, value) for place in places)]) | SHORT)
        if key is None:
            return copy.deepcopy(new)
        holder = reduce(getitem, outer, value)
        kind = draw(st.integers(0, 3))
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[draw(st.sampled_from([str(place[-1]) for place in places[1:]]) | SHORT)] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(new)
    return value
