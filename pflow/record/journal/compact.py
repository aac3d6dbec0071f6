"""What of a journal is written anew: the records that still say something, without values that were replaced later."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.record.journal.records import Records, is_withheld, outer_paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.record.journal.lines import Record


def compacted(every: list[Record]) -> Iterator[Record]:
    """The records that a journal needs which holds these.

    What is inside a visit that is done, is not needed any more.
    """
    known = Records(every)
    yield known.begin
    ends = [record for path, record in known.done.items() if known.done.keys().isdisjoint(outer_paths(path))]
    is_whole = any(map(is_withheld, every))  # then a step that runs again for its secret may need any value
    yield from ends if is_whole else _without_replaced(ends)
    for path, record in (known.interrupted | known.failed).items():
        if known.done.keys().isdisjoint(outer_paths(path)):
            yield from [{"start": path}, record] if "end" in record else [record]


def _without_replaced(ends: list[Record]) -> Iterator[Record]:
    """Ends without the values that a later visit of the same step replaced: those are null, in the order of the keys.

    Such an end has `dropped` some. A value stays where another was put inside it.
    """
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
        if replaced:
            changes = [[path, None] if path in replaced else [path, *value] for path, *value in record["changes"]]
            record = {**record, "changes": changes, "dropped": True}
        yield record


def _step_of(record: Record) -> str:
    """The step that a visit is of, in the flow around it; of an item, itself."""
    path: str = record["end"]
    scope, _, last = path.rpartition("/")
    return path if path.endswith("]") else f"{scope}/{last.partition('@')[0]}"
