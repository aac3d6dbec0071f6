"""What a node in a child process reports, and what a stranger's may ask of the run around it."""

from types import SimpleNamespace

import pytest

from pflow.binding.store import REMOVED
from pflow.errors import PflowError
from pflow.stage.apart import _result, _take, has_no_negatives


@pytest.mark.parametrize(
    ("question", "fair"),
    [
        ({"model": "m", "owner": (1, 2), "most": {"calls": 1, "tokens": 10, "cost": 0.5}}, True),
        ({"model": "m", "most": {"calls": -5}}, False),
        ({"ticket": 1, "spent": {"m": [{"tokens": -1e9}]}}, False),
        ({"spent": {"cost": float("nan")}}, False),
        ("a/file", True),
    ],
)
def test_nobody_enlarges_a_budget_by_what_he_asks(question, fair):
    assert has_no_negatives(question) is fair


def test_what_a_child_reports_is_what_its_node_did():
    reported = {"text": "x", "gone": REMOVED, "odd": {1, 2}, "worse": {3}, "last": None}
    view = SimpleNamespace(changes=lambda _: reported, reads={"in": 2}, asked={"*"}, dropped=["in"])
    runner = SimpleNamespace(binding=SimpleNamespace(is_watched=True))
    visit = SimpleNamespace(more={"tried": ({"exit": 75},)}, spent=[{"model": "m"}])
    found = {"action": None, "changes": {}, "removed": [], "failure": None}
    told = _result(runner, SimpleNamespace(warning="be warned", not_kept=None), view, visit, found)
    assert (told["changes"], told["removed"]) == ({"text": "x", "last": None}, ["gone"])
    assert told["failure"]["message"].startswith("cannot store 'odd': ")
    assert (told["reads"], told["asked"], told["dropped"]) == ({"in": 2}, ["*"], ["in"])
    assert (told["more"], told["spent"]) == ({"tried": [{"exit": 75}]}, [{"model": "m"}])
    assert (told["warning"], told["not_kept"]) == ("be warned", "")


@pytest.mark.parametrize(("told", "exit"), [(1, 1), (75, 75), (255, 255), (256, 1), (0, 1), (-9, 1)])
def test_a_failure_in_a_child_stays_one_whatever_exit_code_it_claims(told, exit):
    failure = {"message": "no", "hint": "", "exit": told, "usage": None, "details": {}}
    failure |= dict.fromkeys(("retry_after", "is_permanent", "is_cut", "refusal", "status", "ends_run"))
    found = {"changes": {}, "more": {}, "spent": [], "removed": [], "reads": {}, "asked": [], "dropped": []}
    found |= {"warning": "", "not_kept": "", "failure": failure}
    with pytest.raises(PflowError) as caught:
        _take(found, SimpleNamespace(), SimpleNamespace(), SimpleNamespace())
    assert caught.value.exit == exit
