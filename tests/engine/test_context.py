"""A step's context: what may stand in a store, the names of visits and of a batch's items."""

import enum
from types import SimpleNamespace

import pytest

from pflow.binding.store import REMOVED, NodeStore
from pflow.engine.context import Context, in_words, name_items, storable
from pflow.errors import PflowError
from pflow.interface.grammar import parse_interface
from pflow.values.secrets import Secrets


class Word(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        *((each, each) for each in ("é", "\x00", 2**63 - 1, -(2**63), True, None, b"\xff", [1, [None]], {"a": {}})),
        ([(1,), {"a": (2,)}], [[1], {"a": [2]}]),
        ({"a": Word("w")}, {"a": "w"}),
        (Colour.RED, 1),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
    ],
)
def test_what_json_can_hold_stays_and_what_resembles_it_becomes_it(value, stored):
    assert storable("k", value) == stored
    assert type(storable("k", value)) is type(stored)


def test_what_the_node_does_to_its_value_later_is_nothing_to_the_store():
    value = [1, (2,), {"a": [3]}]
    stored = storable("k", value)
    value[2]["a"].append(4)
    assert stored == [1, [2], {"a": [3]}]


DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "nan"),
        ([1, float("-inf")], ""),
        (2**64, "64 bits"),
        ("\ud800", "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ({1: 2}, ""),
        ({1, 2}, "set"),
        ([lambda: 1], "function"),
        (DEEP, "nested too deeply"),
    ],
    ids=lambda value: "" if isinstance(value, list) else None,
)
def test_the_rest_is_65_and_names_the_key(value, why):
    with pytest.raises(PflowError) as caught:
        storable("k", value)
    assert caught.value.exit == 65
    assert caught.value.message.startswith("cannot store 'k'")
    assert why in str(caught.value)


def test_an_item_is_called_by_its_value_and_which_of_its_equals_it_is():
    names = name_items([1, 1.0, 1, "1", True, {"a": 1}, {"a": 1}])
    digests, numbers = zip(*(name.split(".") for name in names), strict=True)
    assert len(set(digests)) == 5
    assert (digests[0], numbers) == (digests[2], ("0", "0", "1", "0", "0", "0", "1"))
    assert names[:3] == name_items([1, 1.0, 1])


def test_a_visit_is_known_by_its_path():
    context = Context(run_id="R")
    context.visits["outer"], context.item = 2, "[D.0]"
    inner = context.inside("outer")
    inner.visits["step"] = 3
    assert (context.visit_path("outer"), inner.visit_path("step")) == ("outer@2[D.0]", "outer@2[D.0]/step@3")


def test_a_write_is_stored_watched_and_later_than_those_before_it():
    context, store, changes = Context(), {}, {}
    context.assign(store, ("first",), 0)
    context.keep_order()
    context.watchers.append(changes)
    for path, value in ((("a",), 1), (("b", "c"), 2), (("a",), 3), (("b", "d"), REMOVED), (("first",), REMOVED)):
        context.assign(store, path, value)
    assert store == {"a": 3, "b": {"c": 2}}
    assert list(changes.items()) == [(("b", "c"), 2), (("a",), 3), (("first",), REMOVED)]
    times = [context.written_at(path) for path in (("z",), ("b",), ("b", "c", 0), ("b", "x"), ("a",), ("first",))]
    assert times == [-1, 2, 2, -1, 3, 4]
    assert context.inside("s").written_at(("a",)) == -1


def test_a_write_inside_a_value_changes_the_key_around_it():
    view = NodeStore({"b": {"c": 1}, "other": 1})
    Context().assign(view, ("b", "c"), 2)
    assert view.changes(lambda key: False) == {"b": {"c": 2}}


def test_a_required_read_that_a_node_misses_is_named_by_the_key_it_asked_for():
    interface = parse_interface('Interface:\n- Reads: shared["text"]: str\n- Reads: shared["more"]: str')
    wired = SimpleNamespace(interface=interface)
    errors = [in_words("say", wired, each, Secrets()) for each in (KeyError("text"), KeyError("text", "more"))]
    assert ["'text'" in error.message and error.exit for error in errors] == [66, 66]
