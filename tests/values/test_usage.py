"""What asking models took: told by nodes, events and headers, added up, and in words."""

import pytest

from pflow.values.usage import Usage, answer_members, usage_words


def added(*members: dict, answers: tuple = ()) -> Usage:
    usage = Usage(*map(answer_members, answers))
    for each in members:
        usage.add_event(each)
    return usage


@pytest.mark.parametrize(
    ("answer", "noted"),
    [
        (None, {}),
        ("text", {}),
        ({}, {}),
        ({"input": 3, "output": 0}, {"tokens": {"in": 3, "out": 0}}),
        ({"input": None, "output": 4, "cost": None}, {"tokens": {"out": 4}}),
        ({"model": "m", "cost": 0.0}, {"model": "m", "cost": 0.0}),
        ({"model": ["m"], "input": "3", "output": True, "cost": "free"}, {}),
        ({"model": "m", "input": -1, "output": float("nan"), "cost": 10**400}, {"model": "m"}),
    ],
)
def test_the_usage_of_an_answer_is_noted_as_far_as_it_is_known(answer, noted):
    assert added(answers=(answer,)).members() == noted


def test_answers_add_up_each_call_once():
    one, other = (
        {"model": "m", "tokens": {"in": 3, "out": 4}, "cost": 0.1},
        {"model": "m", "tokens": {"in": 1}, "cost": 0.2},
    )
    sum = {"model": "m", "tokens": {"in": 4, "out": 4}, "cost": 0.3, "calls": 2, "unpriced": 0}
    assert added(one, other).total() == added(one, other).members() == sum
    assert added(one, other, {**sum, "items": {"done": 2, "failed": 0}}).total() == sum
    assert added(sum, {**one, "model": "n"}, one).total() == {
        "tokens": {"in": 10, "out": 12}, "cost": 0.5, "calls": 4, "unpriced": 0,
    }  # fmt: skip
    assert added({"reads": {}}).total() == added().total() == {}


@pytest.mark.parametrize(
    ("costs", "price"),
    [
        ([], ""),
        ([None], "cost unknown"),
        ([0], "$0"),
        ([0.04, None], "$0.04 + unknown"),
        ([0, None], "$0 + unknown"),
        ([1234.5], "$1,234.50"),
        ([0.3, 0.1], "$0.40"),
        ([0.0123456], "$0.012"),
        ([0.00000999], "$0.00001"),
    ],
)
def test_a_price_that_is_not_known_is_unknown_and_never_nothing(costs, price):
    usage = added(*({"model": "m"} | ({} if cost is None else {"cost": cost}) for cost in costs))
    assert usage.price() == price
    assert added(usage.members()).price() == price


def test_what_was_used_is_told_in_words():
    assert usage_words({"model": "m", "tokens": {"in": 1234, "out": 5}, "calls": 200, "unpriced": 3, "cost": 0.04}) == [
        "200 calls", "tokens in 1,234 out 5", "model m", "$0.04 + unknown",
    ]  # fmt: skip
    assert usage_words({}) == []
