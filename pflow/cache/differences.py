"""What differs between the keys of two visits, in words."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import shorten
from pflow.values.digest import digest_of
from pflow.values.jsontext import compact
from pflow.values.paths import describe

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.cache.entries import Entry
    from pflow.cache.key import Key, Part

    Facts = dict[str, Any]
    """What is kept of a part: kind, name and digest; a value's type and size; of the node's own parts the value; of a
    path, whose digest is that of its file too, its own digest (`path`).
    """
    Value = Callable[[Facts], Any]
    """The value of a part where that is kept somewhere, else `...`."""

SHORT = 16
"""Letters of a digest that tell values apart."""

_UNITS = {"str": "character", "bytes": "byte", "list": "item", "dict": "member"}


def facts_of(key: Key) -> list[Facts]:
    """What is kept of the parts of a key."""
    return [_facts_of_part(part) for part in key.parts]


def _facts_of_part(part: Part) -> Facts:
    """Made once: some parts are the same on each visit."""
    if part.facts is None:
        told: Facts = {} if part.value is ... else describe(part.value)
        told = {"value": part.value} if part.kind == "node" else told
        told |= {"path": digest_of(part.value)[:SHORT]} if part.has_files else {}
        part.facts = {"kind": part.kind, "name": part.name, "digest": part.digest[:SHORT], **told}
    return part.facts


def facts_of_entry(entry: Entry) -> list[Facts]:
    """The same of what is kept in the cache itself, which knows digests alone."""
    return [{"kind": kind, "name": name, "digest": digest} for (kind, name), digest in entry.parts.items()]


def unknown(part: Facts) -> Any:
    """The value of a part, as far as the part itself says it."""
    return part.get("value", ...)


def differences(
    now: list[Facts], before: list[Facts], value: Value = unknown, value_before: Value = unknown
) -> list[str]:
    """A line for each part that changed, in the order of the key: `prompt: 'Summarize' was 'Sum up'`."""
    known, there = _by_name(before), _by_name(now)
    lines = []
    for name, part in there.items():
        old = known.get(name)
        if old is None:
            lines.append(f"{_title(part)} is new")
        elif old["digest"][:SHORT] != part["digest"][:SHORT]:
            lines.append(f"{_title(part)} {_change(part, old, value(part), value_before(old))}")
    return lines + [f"{_title(old)} is gone" for name, old in known.items() if name not in there]


def _by_name(parts: list[Facts]) -> dict[tuple[str, str], Facts]:
    return {(part["kind"], part["name"]): part for part in parts}


def _title(part: Facts) -> str:
    return f"code: {part['name']}" if part["kind"] == "code" else f"{part['name']}:"


def _change(part: Facts, old: Facts, value: Any, before: Any) -> str:
    if part["kind"] == "code":
        is_version = "." in part["digest"]  # of a distribution
        return f"{part['digest']} was {old['digest']}" if is_version else "changed"
    if "path" in part and part["path"] == old.get("path"):
        return f"what is in {'it' if value is ... else _shown(value)} changed"
    now, then = (_size(each) if known is ... else _shown(known) for each, known in ((part, value), (old, before)))
    if not now or not then:
        return "changed"
    if now == then:
        return "changed" if part["kind"] == "more" else f"another {now}"
    return f"{now} was {then}" if ... not in (value, before) else f"{now}, was {_shortly(then, now)}"


def _shortly(then: str, now: str) -> str:
    """A size without its unit, where the other has the same."""
    (count, _, unit), (_, _, other) = then.partition(" "), now.partition(" ")
    return count if unit and unit.removesuffix("s") == other.removesuffix("s") else then


def _shown(value: Any) -> str:
    return f"'{shorten(value)}'" if isinstance(value, str) else shorten(compact(value))


def _size(part: Facts) -> str:
    """`2,310 characters`, or the type of what has no size; nothing where that is not kept, as of secrets."""
    type = str(part.get("type", ""))
    if "size" not in part or type not in _UNITS:
        return type
    size = part["size"]
    return f"{size:,} {_UNITS[type]}{'' if size == 1 else 's'}"
