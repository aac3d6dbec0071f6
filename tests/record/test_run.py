"""One run, read: the status of a map, and what its journal kept of the values that visits wrote."""

import pytest

from pflow.record.journal import Journal
from pflow.record.log import STATUS, write_status
from pflow.record.run import Run, read_status
from pflow.record.trace import visit_paths
from pflow.values.secrets import Secrets

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def kept(directory, *records):
    secrets = Secrets()
    secrets.add(["secret-1234"])
    journal = Journal(str(directory), secrets, b"k" * 32)
    for record in ({"begin": ID}, *records):
        journal.write(record)
    journal.finish(is_kept=True)
    return Run(str(directory)).written()


@pytest.fixture
def directory(tmp_path):
    (tmp_path / ID).mkdir()
    return tmp_path / ID


def test_each_visit_and_item_has_what_it_wrote_last_by_place(directory):
    assert Run(str(directory)).written() is None
    assert kept(
        directory,
        {"end": "a@1", "changes": [[["a", "text"], "first"], [["none"], None], [["gone"]]]},
        {"end": "o@1/b@2", "changes": [[["x.y"], b"\xff"]]},
        {"end": "c@1[d.0]", "changes": [[["r"], 1]]},
        {"end": "d@1"},
        {"end": "a@1", "changes": [[["a", "text"], "again"]]},
    ) == {"a@1": {"a.text": "again"}, "o@1/b@2": {'["x.y"]': b"\xff"}, "c@1[d.0]": {"r": 1}}  # fmt: skip


def test_a_value_with_a_secret_is_masked_and_one_that_was_replaced_is_left_out(directory):
    changes = [[["safe"], "yes"], [["token"], "tell secret-1234"], [["old"], None]]
    values = kept(directory, {"end": "a@1", "changes": changes, "dropped": True})
    assert values == {"a@1": {"safe": "yes", "token": "***"}}


def test_a_visit_of_a_trace_has_its_path():
    visits = [
        {"number": 1, "step": "o", "visit": 2},
        {"number": 2, "step": "o/in", "visit": 1, "outer": 1},
        {"number": 3, "step": "o/in/most", "visit": 3, "outer": 2},
    ]
    assert visit_paths(visits) == {1: "o@2", 2: "o@2/in@1", 3: "o@2/in@1/most@3"}


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
