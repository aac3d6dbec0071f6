"""The differences between the keys of two visits, in words."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable
from pflow.cache.entries import Entry
from pflow.cache.key import Key, KeyPart
from pflow.errors import shorten
from pflow.values.digest import digest_of
from pflow.values.jsontext import compact
from pflow.values.paths import describe, size_text

if TYPE_CHECKING:
    Facts = dict[str, Any]
    """The record of a part: kind, name and digest; a value's type and size; the value of the node's own parts; the
    digest of a path alone (`path`) and those of its `files`, where `digest` covers these too.
    """
    Value = Callable[[Facts], Any]
    """Returns the value of a part if it is kept somewhere, else `...`."""

SHORT = 16
"""The number of a digest's letters that tell values apart."""


def facts_of(key: Key) -> list[Facts]:
    """Return the facts of a key's parts."""
    return [_facts_of_part(part) for part in key.parts]


def _facts_of_part(part: KeyPart) -> Facts:
    """Make the facts once: some parts are the same on each visit."""
    if part.facts is None:
        told: Facts = {} if part.value is ... else describe(part.value)
        told = {"value": part.value} if part.kind == "node" else told
        if part.files:
            told |= {"path": digest_of(part.value)[:SHORT], "files": [digest[:SHORT] for digest in part.files]}
        part.facts = {"kind": part.kind, "name": part.name, "digest": part.digest[:SHORT], **told}
    return part.facts


def facts_of_entry(entry: Entry) -> list[Facts]:
    """Return the facts of a cache entry, which has only digests."""
    return [{"kind": kind, "name": name, "digest": digest} for (kind, name), digest in entry.parts.items()]


def unknown(part: Facts) -> Any:
    """Return the value of a part if the part itself has it."""
    return part.get("value", ...)


def differences(
    now: list[Facts], before: list[Facts], value: Value = unknown, value_before: Value = unknown
) -> list[str]:
    """Return a line for each part that changed, in the order of the key: `prompt: 'Summarize' was 'Sum up'`.

    If X changed, no further part X, and no part "X's …", is told: they follow from it.
    """
    known, there = _by_name(before), _by_name(now)
    lines, told = [], set()
    for name, part in (there | known).items():
        new, old = there.get(name), known.get(name)
        is_same = new is not None and old is not None and old["digest"][:SHORT] == new["digest"][:SHORT]
        if is_same or (part["kind"] == "more" and part["name"].partition("'s ")[0] in told):
            continue
        how = _change(new, old, value(new), value_before(old)) if new and old else "is new" if new else "is gone"
        lines.append(f"{_title(part)} {how}")
        told |= {part["name"]} if part["kind"] != "code" else set()
    return lines


def _by_name(parts: list[Facts]) -> dict[tuple[str, str], Facts]:
    return {(part["kind"], part["name"]): part for part in parts}


def _title(part: Facts) -> str:
    return f"code: {part['name']}" if part["kind"] == "code" else f"{part['name']}:"


def _change(part: Facts, old: Facts, value: Any, before: Any) -> str:
    if part["kind"] == "code":
        is_version = "." in part["digest"] or part["name"].startswith("pack ")  # of a distribution, of a pack
        return f"{part['digest']} was {old['digest']}" if is_version else "changed"
    if "path" in part and part["path"] == old.get("path"):
        return _change_of_files(part.get("files", []), old.get("files", []), value)
    now, then = (_size(each) if known is ... else _shown(known) for each, known in ((part, value), (old, before)))
    if not now or not then:
        return "changed"
    if now == then:
        return "changed" if part["kind"] == "more" else f"changed ({now})"
    return f"{now} was {then}" if ... not in (value, before) else f"{now}, was {_shortly(then, now)}"


def _change_of_files(now: list[str], then: list[str], value: Any) -> str:
    """Say which of the files changed that a value names."""
    if now and now == then:
        return "the same file, from another directory" if len(now) == 1 else "the same files, from another directory"
    paths = value if isinstance(value, list) else [value]
    if len(paths) == len(now) == len(then):
        paths = [path for path, digest, old in zip(paths, now, then, strict=True) if digest != old]
    names = [] if ... in paths else [f" {_shown(path)}" for path in paths]
    return f"the file{'s' * (len(paths) > 1)}{','.join(names)} changed"


def _shortly(then: str, now: str) -> str:
    """Return a size, without its unit if the other size has the same."""
    (count, _, unit), (_, _, other) = then.partition(" "), now.partition(" ")
    return count if unit and unit.removesuffix("s") == other.removesuffix("s") else then


def _shown(value: Any) -> str:
    return f"'{shorten(value)}'" if isinstance(value, str) else shorten(compact(value))


def _size(part: Facts) -> str:
    """Return `2,310 characters`, or the type if it has no size; empty if neither is kept, as for secrets."""
    type = str(part.get("type", ""))
    return size_text(type, part["size"]) if "size" in part else type
