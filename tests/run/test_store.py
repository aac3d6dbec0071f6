"""The store as one step's node sees it."""

import pytest

from pflow.binding.store import FOUND, OWN, STAND_IN, StepStore
from pflow.binding.values import Values
from tests.run.flows import plan_of


def store_of(type, shared, found=None, **step):
    plan = plan_of({"nodes": [{"id": "s", "type": type, **step}]})
    store = StepStore(shared, Values(plan.steps["s"]))
    store.found.update(found or {})
    return store


def test_a_value_is_the_nodes_own_else_what_was_found_else_the_stores_else_a_default():
    store = store_of("count", {"n": 1})
    assert store["n"] == 1
    store.found["n"] = 2
    assert store["n"] == 2
    store["n"] = 3
    assert store["n"] == 3
    assert store_of("count", {})["n"] == 0


def test_writes_are_held_until_the_step_has_ended():
    shared = {"n": 1}
    store = store_of("count", shared)
    store["n"] = 2
    store["new"] = 3
    assert (shared, store.written) == ({"n": 1}, {"n": 2, "new": 3})


def test_reads_are_noted_and_where_they_came_from():
    store = store_of("count", {"n": 1, "other": 2}, {"found": 3})
    assert (store["n"], store["found"], store["other"]) == (1, 3, 2)
    store["mine"] = 4
    assert store["mine"] == 4
    assert store.reads == {"n": OWN, "found": FOUND, "other": OWN}
    store = store_of("count", {})
    assert (dict(store.items()), store.reads) == ({"n": 0}, {"n": STAND_IN})


def test_what_is_not_there_is_a_key_error_and_no_read():
    store = store_of("text", {})
    with pytest.raises(KeyError):
        store["text"]
    assert store.get("text", "else") == "else"
    assert "text" not in store
    assert store.reads == {}


def test_the_stores_key_of_an_explicit_read_is_not_seen():
    store = store_of("wait_for", {"file": "theirs", "other": 1})
    assert "file" not in store
    assert list(store) == ["other"]
    with pytest.raises(KeyError):
        store["file"]
    store.found["file"] = "mine"
    assert (store["file"], sorted(store), len(store)) == ("mine", ["file", "other"], 2)


def test_a_node_takes_back_what_it_wrote_and_what_others_wrote_is_only_out_of_its_sight():
    shared = {"n": 1}
    store = store_of("count", shared)
    store["n"] = 2
    del store["n"]
    assert (store["n"], store.written) == (1, {})
    del store["n"]
    assert ("n" in store, list(store), shared) == (False, [], {"n": 1})
    with pytest.raises(KeyError):
        store["n"]
    with pytest.raises(KeyError):
        del store["n"]


def test_a_node_changes_nothing_of_the_store_but_by_writing():
    shared = {"value": {"a": [1]}}
    store = store_of("echo", shared, {"found": [1]})
    store["value"]["a"].append(2)
    store["found"].append(2)
    store.note_changes()
    assert (shared, store.found, store.written) == ({"value": {"a": [1]}}, {"found": [1]}, {})
    assert store["value"] == {"a": [1, 2]}


LISTS = '''from pflow import Node


class Lists(Node):
    """Change a list in place.

    Interface:
    - Reads: shared["items"]: list  # a list
    - Reads: shared["other"]: list = []  # a list that it does not write
    - Writes: shared["items"]: list  # it
    """
'''


def test_what_a_node_changes_in_place_counts_as_written(nodes):
    (nodes / "lists.py").write_text(LISTS)
    store = store_of("lists", {"items": [1], "other": []})
    store["items"].append(2)
    store["other"].append(1)
    store.note_changes()
    assert store.written == {"items": [1, 2]}


def test_what_it_only_looks_at_does_not(nodes):
    (nodes / "lists.py").write_text(LISTS)
    store = store_of("lists", {"items": [1]})
    assert store["items"] == [1]
    store.note_changes()
    assert store.written == {}


EXPLICIT = '''from pflow import Node


class Explicit(Node):
    """Take a list that the store never gives.

    Interface:
    - Reads: shared["items"]: list = [] [explicit]  # a list
    - Writes: shared["items"]: list  # it
    """
'''


def test_a_default_that_a_node_only_looks_at_is_no_write_over_the_stores_own(nodes):
    (nodes / "explicit.py").write_text(EXPLICIT)
    store = store_of("explicit", {"items": [1]})
    assert store["items"] == []
    store.note_changes()
    assert store.written == {}
    store["items"].append(2)
    store.note_changes()
    assert store.written == {"items": [2]}


def test_what_a_node_changes_in_place_and_then_deletes_is_not_written(nodes):
    (nodes / "lists.py").write_text(LISTS)
    store = store_of("lists", {"items": [1]})
    store["items"].append(2)
    del store["items"]
    store.note_changes()
    assert store.written == {}


def test_it_is_copied_and_merged_as_a_dict_is():
    shared = {"n": 1}
    store = store_of("count", shared, {"found": 2})
    assert store.copy() == {"n": 1, "found": 2}
    assert store | {"n": 3} == {"n": 3, "found": 2}
    assert {"n": 3, "o": 4} | store == {"n": 1, "o": 4, "found": 2}
    assert store.written == {}
    same = store
    store |= {"n": 5}
    assert (store is same, store.written, shared) == (True, {"n": 5}, {"n": 1})
