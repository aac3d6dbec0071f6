"""The form of a request: the member of it that a server refuses, and the form without, in which it is asked again."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

from pflow.models.ending import Ending
from pflow.models.errors import meaning_of
from pflow.process.signals import time_left
from pflow.values.jsontext import compact
from pflow.words import budget

FORMAT = "response_format"

_KINDS = ("value", "model", "other", "")
"""The kinds of error (pflow.kit.web.reasons) that may refuse a member."""

_CHANGES = {
    "stream": "",
    "stream_options": "",
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""The members without which a request asks the same, each with the member that takes its value, if any does."""

_WORDS = {
    "stream": r"stream(s|ed|ing)?",
    FORMAT: r"(response|output)[_ ]?formats?|(\w+[_ ])?schemas?|json[_ ]mode|structured[_ ]outputs?|guided\w*"
    r"|gramm[ae]rs?|text\.format",
}

_DENIES = re.compile(
    r"\b(no|not|non|only|must|cannot|instead|extra|forbidden|disabled?|invalid|illegal|unavailable|failed|unable)\b"
    r"|n't\b|\bun(support|known|recogni[sz]ed|expected|implemented)|deprecated",
    re.IGNORECASE,
)
_OF_RANGE = re.compile(
    r"too (large|small|high|low|long|many)|at (least|most)|exceed|maximum|minimum|less than|greater|between|positive",
    re.IGNORECASE,
)

_MOMENT = 1.0
"""The most seconds that a request waits for the first one, and a quarter of its own time at most."""

_refused: dict[tuple[str, str], set[str]] = {}
_known: set[tuple[str, str]] = set()
_asking: dict[tuple[str, str], Lock] = {}
_firsts: dict[tuple[str, ...], Event] = {}
"""Set once the first question with a schema is answered."""


def refused_member(error: Any, members: Iterable[str]) -> str:
    """Return which of the `members` of a request a provider's error refuses by name; "" if it names none.

    A limit that is too large is no refusal of its member.
    """
    if meaning_of(error)[1] not in _KINDS:
        return ""
    response = getattr(error, "response", None)
    said = f"{error} {getattr(error, 'body', None)}" if response is None else str(response.text)[:10_000]
    if not _DENIES.search(said):
        return ""
    is_range = bool(_OF_RANGE.search(said))
    places = {name: match.start() for name in members if (match := _pattern(name).search(said))}
    places = {name: place for name, place in places.items() if not (is_range and name.endswith("_tokens"))}
    named = str(getattr(error, "param", None) or "").partition(".")[0]
    return named if named in places else min(places, key=places.__getitem__, default="")


def _pattern(name: str) -> re.Pattern[str]:
    words = _WORDS.get(name) or name.replace("_", "[_ ]?")
    return re.compile(rf"(?<![a-z0-9_])({words})(?![a-z0-9_])", re.IGNORECASE)


def refused_by(model: Any) -> set[str]:
    """Return the members that a model has refused in this process, by its address; more may be added."""
    return _refused.setdefault(_place(model), set())


def _place(model: Any) -> tuple[str, str]:
    return str(getattr(model, "api_base", None)), getattr(model, "model_name", None) or model.model_id


def takes_schema(model: Any, schema: Any) -> bool:
    """Return True if a model gets a schema beside the prompt, not in it.

    An older Claude would answer it with a tool call, which is no text (llm-anthropic).
    """
    is_able = model.supports_schema and getattr(model, "use_structured_outputs", True)
    return bool(schema and is_able) and compact(schema) not in refused_by(model)


@contextmanager
def first_alone(model: Any, schema: Any) -> Iterator[None]:
    """Let a map's questions with a schema wait until the first is answered, for a moment at most: it may be refused."""
    mine = first = Event()
    if budget.in_map and takes_schema(model, schema):
        first = _firsts.setdefault((*_place(model), compact(schema)), mine)
    if first is not mine:
        first.wait(_MOMENT)
    try:
        yield
    finally:
        mine.set()


def change_form(model: Any, member: str, schema: Any = None) -> bool:
    """Remember that `model` refuses a member; return True if the same can be asked in another form.

    The `schema` that was sent is one that it refuses; it then goes into the prompt.
    """
    refused = refused_by(model)
    if member == FORMAT and schema:
        refused.add(compact(schema))
        return True
    if member not in _CHANGES or _CHANGES[member] in refused:
        return False
    refused.add(member)
    return True


def fit_form(model: Any, members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a request in the form that `model` takes.

    Where a stream is expected, a chat is asked whole, and its answer made one (pflow.models.wire).
    """
    fitted = dict(members)
    for name in refused_by(model) & fitted.keys() & _CHANGES.keys():
        if name == "stream" and fitted[name]:
            fitted |= {"extra_body": {name: False}} if "messages" in fitted else {}
            fitted.pop("stream_options", None)
            continue
        value = fitted.pop(name)
        fitted |= {_CHANGES[name]: value} if _CHANGES[name] else {}
    return fitted


@contextmanager
def known_form(model: Any, ending: Ending) -> Iterator[None]:
    """Let the requests of a map to `model` wait until one of them was not refused, for a moment at most.

    Otherwise all that are in flight at the beginning would be refused.
    """
    place = _place(model)
    waits, left = budget.in_map and place not in _known, time_left()
    patience = _MOMENT if left is None else min(_MOMENT, left / 4)
    first = waits and _asking.setdefault(place, Lock()).acquire(timeout=patience)
    try:
        yield
    finally:
        if not change_form(model, ending.refused):
            _known.add(place)
        if first:
            _asking[place].release()
