"""A description whose values follow those of its flow."""

from __future__ import annotations

from pflow.jsontext import text_of
from pflow.library.named import values_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def renamed(text: str, before: Any, value: Any) -> str:
    """A text in which each mention of a value is one of another."""
    for named in reversed(values_in(text)):
        if text_of(before) in (named.text, named.expanded):
            text = text[: named.start] + text_of(value) + text[named.end :]
    return text
