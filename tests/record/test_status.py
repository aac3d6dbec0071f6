"""The status of a map, as others read it."""

import pytest

from pflow.record.status import STATUS, read_status, write_status


def test_what_was_written_is_read_and_only_its_owner_reads_it(tmp_path):
    write_status(str(tmp_path), {"total": None, "done": 1})
    write_status(str(tmp_path), {"total": 3, "done": 2, "usage": {"cost": 0.5}})
    assert read_status(str(tmp_path)) == {"total": 3, "done": 2, "usage": {"cost": 0.5}}
    assert (tmp_path / STATUS).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [None, "", "[1]", '{"total": 3, "do'])
def test_a_run_without_a_status_or_with_a_damaged_one_has_no_counts(tmp_path, text):
    if text is not None:
        (tmp_path / STATUS).write_text(text)
    assert read_status(str(tmp_path)) == {}
