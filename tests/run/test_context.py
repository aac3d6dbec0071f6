"""What the steps of a run have in common: every change to the store goes through it."""

import pytest

from pflow.errors import PflowError
from pflow.run.engine.context import Context, Recorder


def test_a_place_is_set_and_objects_are_made_on_the_way():
    context, store = Context(), {"a": {"kept": 1}, "s": "text"}
    context.assign(store, ("n",), 1)
    context.assign(store, ("a", "b"), 2)
    context.assign(store, ("x", "y", "z"), 3)
    assert store == {"a": {"kept": 1, "b": 2}, "s": "text", "n": 1, "x": {"y": {"z": 3}}}


def test_what_stands_in_the_way_is_65_and_stays():
    store = {"s": "text"}
    with pytest.raises(PflowError, match=r"cannot write 's.a': 's' is a str") as caught:
        Context().assign(store, ("s", "a"), 1)
    assert (caught.value.exit, store) == (65, {"s": "text"})


def test_the_journal_repeats_the_last_change_of_every_place():
    context, store, other = Context(), {}, {}
    context.journal = {}
    for path, value in [(("a",), 1), (("b", "c"), 2), (("a",), 3)]:
        context.assign(store, path, value)
    for path, value in context.journal.items():
        Context().assign(other, path, value)
    assert store == other == {"a": 3, "b": {"c": 2}}


def test_when_a_place_was_written_is_known_once_it_is_asked_for():
    context, store = Context(), {}
    context.assign(store, ("a",), 1)
    context.keep_order()
    assert context.written_at(("a",)) == -1
    context.assign(store, ("b", "c"), 1)
    context.assign(store, ("a",), 2)
    assert context.written_at(("a",)) > context.written_at(("b",)) == context.written_at(("b", "c", "d")) > 0
    assert context.written_at(("b", "x")) == -1


def test_a_subflow_has_its_own_visits_and_the_same_limits():
    lines = []
    context = Context(recorder=Recorder(lines.append), jobs=3, isolate=True)
    context.visits["a"] = 5
    context.emitter = "a"
    inner = context.inside("sub")
    assert (inner.jobs, inner.isolate, inner.visits, inner.emitter) == (3, True, {}, "")
    assert '"step":"sub/x"' in inner.recorder.about("x", "node", "1.0.0")
    assert Context().inside("sub").recorder is None
