"""Values in the place of paths: a template whose references are replaced by what stands for them."""

from __future__ import annotations

from pflow.binding.given import settle
from pflow.errors import PflowError
from pflow.flow.rewrite import escaped, reference
from pflow.jsontext import text_of
from pflow.templates import expand, parse_template
from pflow.types import fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Item
    from pflow.paths import Path

    Stands = dict[Path, Any]
    """For the paths of one mapping, template or output: the Literal or the path that stands for it."""


class Literal:
    """A value that stands for a path."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def fitted(item: Item | None, value: Any, written: Any = None) -> Any:
    """A value without references, as a template, for a read or param: as its type takes it, so that a flag can say it.

    `written` is the template that it was made of, if it was. What is `[verbatim]` is no template; its dollars stand
    once.
    """
    if item is None:
        return value
    try:
        plain = expand(value, lambda path: path)
        plain = fit(item.type, plain) if written is None else settle(item.name, item.type, written, plain)
    except (PflowError, ValueError):  # which the rules found, or the run will
        return value
    return plain if "verbatim" in item.marks else escaped(plain)


def replaced(written: Any, stands: Stands) -> Any:
    """A template with each path that something stands for replaced: a template again."""
    if isinstance(written, list):
        return [replaced(item, stands) for item in written]
    if isinstance(written, dict):
        return {key: replaced(item, stands) for key, item in written.items()}
    if not isinstance(written, str):
        return written
    parts = parse_template(written)
    if not any(part in stands for part in parts if not isinstance(part, str)):
        return written
    whole = stands.get(parts[0]) if len(parts) == 1 and not isinstance(parts[0], str) else None
    if isinstance(whole, Literal):
        return escaped(whole.value)
    return "".join([_written(part, stands) for part in parts])


def _written(part: str | Path, stands: Stands) -> str:
    if isinstance(part, str):
        return str(escaped(part))
    stand = stands.get(part, part)
    if not isinstance(stand, Literal):
        return reference(stand)
    value = stand.value
    return str(escaped(str(value, "utf-8", "surrogateescape") if isinstance(value, bytes) else text_of(value)))
