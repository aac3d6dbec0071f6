"""Why a step ran: from keys that may be damaged."""

import pytest

from pflow.record.run import Run
from pflow.record.why import Visits
from pflow.stage.trace import event_line

ABOUT = {"step": "a", "node": "llm", "visit": "a@1", "cache": {"verdict": "miss"}}
PART = {"kind": "read", "name": "text", "digest": "ab"}


@pytest.mark.parametrize("more", [{"type": "", "size": 3}, {"type": "str", "size": "3"}, {"size": 3}, {"name": []}])
def test_keys_with_a_damaged_part_are_left_out(tmp_path, more):
    (tmp_path / "trace.jsonl").write_bytes(event_line("run", {}))
    lines = [
        event_line("key", {**ABOUT, "visit": f"a@{n}", "parts": [part]}) for n, part in enumerate([PART, PART | more])
    ]
    (tmp_path / "keys.jsonl").write_bytes(b"".join(lines))
    assert [*Visits(Run(str(tmp_path)), "a").events] == ["a@0"]
