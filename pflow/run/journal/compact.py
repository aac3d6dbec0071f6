"""What of a journal is written anew: the records that still say something, without values that were replaced later."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.run.journal.records import Records, is_withheld, last_visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pflow.run.journal.lines import Record


def compacted(every: list[Record]) -> list[Record]:
    """The records that a journal needs which holds these.

    Of visits of one step those keep a value that nothing replaced. The key of another stays, so that the store has its
    keys in the same order; `dropped` says where it stood. Visits one after another that then say the same are one
    record, up to the visit `to`. What is inside a visit that is done, is not needed any more.
    """
    known = Records(every, has_ranges=not any("again" in record for record in every))
    ends = [record for record in known.done.values() if not _is_inside(record["end"], known.done)]
    is_whole = any(map(is_withheld, every))  # then a step that runs again for its secret may need any value
    begun = [
        {**record, "once": True} if "end" in record else record
        for path, record in (known.interrupted | known.failed).items()
        if not _is_inside(path, known.done)
    ]
    return [known.begin, *_joined(ends if is_whole else _without_replaced(ends)), *begun]


def _is_inside(path: str, done: dict[str, Record]) -> bool:
    """Whether one of the visits and items around it is done."""
    return any(path[at] in "/[" and path[:at] in done for at in range(len(path)))


def _without_replaced(ends: list[Record]) -> Iterator[Record]:
    """Ends without the values that a later visit of the same step replaced."""
    last: dict[tuple[str, Any], Record] = {}
    inner: set[tuple[str, Any]] = set()
    for record in ends:
        scope = record["end"].rpartition("/")[0]
        for path, *_ in record.get("changes", ()):
            last[_step_of(record), tuple(path)] = record
            inner |= {(scope, tuple(path[:length])) for length in range(1, len(path))}
    for record in ends:
        scope = record["end"].rpartition("/")[0]
        replaced = [
            path
            for path, *value in record.get("changes", ())
            if value and last[_step_of(record), tuple(path)] is not record and (scope, tuple(path)) not in inner
        ]
        yield _without(record, replaced) if replaced else record


def _joined(ends: Iterable[Record]) -> Iterable[Record]:
    """Ends, each with those of the next visits that say the same."""
    found: list[Record] = []
    last: dict[str, Record] = {}
    for record in ends:
        stem, _, number = record["end"].rpartition("@")
        before = last.get(stem)
        if before is not None and number == str(last_visit(before) + 1) and _body(before) == _body(record):
            before["to"] = last_visit(record)
        else:
            last[stem] = copy = dict(record)
            found.append(copy)
    return found


def _body(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in ("end", "to", "joined")}


def _step_of(record: Record) -> str:
    """The step that a visit is of, in the flow around it; of an item, itself."""
    path: str = record["end"]
    scope, _, last = path.rpartition("/")
    return path if path.endswith("]") else f"{scope}/{last.partition('@')[0]}"


def _without(record: Record, replaced: list[Any]) -> Record:
    changes = [[path, None] if path in replaced else [path, *value] for path, *value in record["changes"]]
    dropped = record.get("dropped", []) + [path for path in replaced if path not in record.get("dropped", [])]
    return {**record, "changes": changes, "dropped": dropped}
