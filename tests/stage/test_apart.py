"""What a stranger's node in a child process may ask of the run around it."""

import pytest

from pflow.stage.apart import has_no_negatives


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
