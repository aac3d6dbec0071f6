"""The values that visits wrote: what the journal has of each, and what is left out."""

import pytest

from pflow.record.journal import Journal
from pflow.record.kept_values import kept_values, visit_paths
from pflow.record.runs import Run
from pflow.values.secrets import Secrets

ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def kept(directory, *records):
    secrets = Secrets()
    secrets.add(["secret-1234"])
    journal = Journal(str(directory), secrets, b"k" * 32)
    for record in ({"begin": ID}, *records):
        journal.write(record)
    journal.finish(is_kept=True)
    return kept_values(Run(str(directory)))


@pytest.fixture
def directory(tmp_path):
    (tmp_path / ID).mkdir()
    return tmp_path / ID


def test_each_visit_and_item_has_what_it_wrote_last_by_place(directory):
    assert kept_values(Run(str(directory))) is None
    assert kept(
        directory,
        {"end": "a@1", "changes": [[["a", "text"], "first"], [["none"], None], [["gone"]]]},
        {"end": "o@1/b@2", "changes": [[["x.y"], b"\xff"]]},
        {"end": "c@1[d.0]", "changes": [[["r"], 1]]},
        {"end": "d@1"},
        {"end": "a@1", "changes": [[["a", "text"], "again"]]},
    ) == {"a@1": {"a.text": "again"}, "o@1/b@2": {'["x.y"]': b"\xff"}, "c@1[d.0]": {"r": 1}}  # fmt: skip


def test_a_value_with_a_secret_and_one_that_was_replaced_are_left_out(directory):
    changes = [[["safe"], "yes"], [["token"], "tell secret-1234"], [["old"], None]]
    values = kept(directory, {"end": "a@1", "changes": changes, "dropped": True})
    assert values == {"a@1": {"safe": "yes"}}


def test_a_visit_of_a_trace_has_its_path():
    visits = [
        {"number": 1, "step": "o", "visit": 2},
        {"number": 2, "step": "o/in", "visit": 1, "outer": 1},
        {"number": 3, "step": "o/in/most", "visit": 3, "outer": 2},
    ]
    assert visit_paths(visits) == {1: "o@2", 2: "o@2/in@1", 3: "o@2/in@1/most@3"}
