"""The bytes of a journal: what is torn or changed is never taken for whole, and no damage passes unseen."""

import pytest

from pflow.errors import BAD_DATA, PflowError
from pflow.record.journal import Journal
from pflow.record.lines import JOURNAL, line_of, read_lines
from pflow.values.masks import Secrets
from tests.engine.flows import read_journal

RECORDS = [
    {"begin": "R", "store": {}},
    {"start": "a@1"},
    {"end": "a@1", "changes": [[["x"], "ä\n\x00"], [["b"], b"\xff"], [["gone"]], [["o"], {"$bytes": "no"}]]},
    {"end": "b@1[0f.1]/c@2", "action": "left", "carried": ["x", 0]},
]
LINES = [line_of(record) for record in RECORDS]
DATA = b"".join(LINES)


def test_records_come_back_as_they_were():
    assert read_lines(DATA) == (RECORDS, len(DATA))


def test_a_journal_that_is_cut_anywhere_has_the_records_before_the_cut_and_no_other():
    ends = [sum(map(len, LINES[:number])) for number in range(len(LINES) + 1)]
    for cut in range(len(DATA) + 1):
        records, size = read_lines(DATA[:cut])
        whole = max(number for number, end in enumerate(ends) if end - (number > 0) <= cut)
        assert records == RECORDS[:whole]
        assert size in (ends[whole], cut)


@pytest.mark.parametrize("change", [lambda byte: byte ^ 1, lambda byte: byte ^ 0x20, lambda byte: 10, lambda byte: 0])
def test_a_byte_that_is_changed_is_found_or_tears_the_last_line(change):
    for at in range(len(DATA)):
        changed = DATA[:at] + bytes([change(DATA[at])]) + DATA[at + 1 :]
        if changed == DATA:
            continue
        if at == len(DATA) - 1:
            assert read_lines(changed) == (RECORDS[:-1], len(DATA) - len(LINES[-1]))
            continue
        with pytest.raises(PflowError, match=r"its line [1-5] is damaged") as caught:
            read_lines(changed)
        assert caught.value.exit == BAD_DATA


@pytest.mark.parametrize("rest", [b"", b"0", LINES[-1][:-1], LINES[-1][:-2], b"\0" * 100])
def test_what_was_torn_is_mended_and_the_next_record_stands_on_a_line_of_its_own(tmp_path, rest):
    (tmp_path / JOURNAL).write_bytes(b"".join(LINES[:-1]) + rest)
    journal = Journal(str(tmp_path), Secrets(), b"key")
    journal.write({"end": "z@1"})
    assert journal.records is not None
    assert sorted(read_journal(str(tmp_path)).done) == sorted([*journal.records.done, "z@1"])
    assert ("b@1[0f.1]/c@2" in journal.records.done) == (rest == LINES[-1][:-1])


@pytest.mark.parametrize("data", [b"", LINES[0][:-5], b"".join(LINES[1:]), b"\n" + DATA])
def test_a_journal_without_its_beginning_is_none(tmp_path, data):
    (tmp_path / JOURNAL).write_bytes(data)
    with pytest.raises(PflowError, match="cannot read the journal") as caught:
        read_journal(str(tmp_path))
    assert caught.value.exit == BAD_DATA
