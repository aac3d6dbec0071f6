"""NodeAwareSharedStore: a node's own names for the places of a store, and nothing else."""

import pocketflow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.binding.shared_store import NodeAwareSharedStore
from pflow.binding.store import NodeStore
from pflow.errors import PflowError

ISSUE = {"fetch": {"issue_data": {"title": "Crash", "labels": [{"name": "bug"}, {"name": "ui"}], "odd key": 7}}}
TEXTS = {"raw_texts": {"doc1.txt": "one", "a.b": {"c": "two"}}, "list": [[1, 2], [3]]}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("fetch.issue_data.labels[0].name", "bug"),
        ("raw_texts/a.b/c", "two"),
        ("template:$list and ${fetch.issue_data.title}", "[[1,2],[3]] and Crash"),
    ],
)
def test_a_read_goes_to_its_path(source, value):
    assert NodeAwareSharedStore(ISSUE | TEXTS, {"mine": source})["mine"] == value


@pytest.mark.parametrize("source", ["gone", "a.gone", "a.b.gone", "list[9]", ["gone", "a.gone"], "template:$gone"])
def test_what_is_not_there_is_a_key_error(source):
    proxy = NodeAwareSharedStore({"a": {"b": 1}, "list": [1]}, {"mine": source})
    with pytest.raises(KeyError):
        proxy["mine"]
    assert "mine" not in proxy
    assert proxy.get("mine", "default") == "default"


def test_a_mapped_read_never_falls_through_to_the_key_of_its_name():
    with pytest.raises(KeyError):
        NodeAwareSharedStore({"text": "wrong"}, {"text": "gone"})["text"]


@pytest.mark.parametrize(
    ("target", "store"),
    [
        ("summary", {"summary": 1}),
        ("analyzer.response", {"analyzer": {"response": 1}}),
        ("summaries/doc1.txt", {"summaries": {"doc1.txt": 1}}),
        ('a["odd key"].b', {"a": {"odd key": {"b": 1}}}),
    ],
)
def test_a_write_goes_to_its_target_and_makes_the_objects_on_the_way(target, store):
    shared = {}
    NodeAwareSharedStore(shared, {}, {"mine": target})["mine"] = 1
    assert shared == store


def test_a_write_that_something_else_is_in_the_way_of_is_refused():
    proxy = NodeAwareSharedStore({"a": "text"}, {}, {"mine": "a.b"})
    with pytest.raises(PflowError) as caught:
        proxy["mine"] = 1
    assert (caught.value.exit, str(caught.value)) == (65, "cannot write 'a.b': 'a' is a str, not an object")


def test_a_key_without_a_mapping_is_the_stores_own():
    shared = {"text": "here"}
    proxy = NodeAwareSharedStore(shared, {"other": "text"}, {"another": "x.y"})
    proxy["plain"] = 1
    assert proxy["text"] == "here"
    assert shared == {"text": "here", "plain": 1}
    del proxy["text"]
    assert shared == {"plain": 1}
    with pytest.raises(KeyError):
        proxy["gone"]
    with pytest.raises(KeyError):
        del proxy["gone"]


def test_a_key_is_read_where_it_is_mapped_until_the_node_writes_it():
    shared = {"input": "in"}
    proxy = NodeAwareSharedStore(shared, {"text": "input"}, {"text": "step.text"})
    assert proxy["text"] == "in"
    proxy["text"] = "out"
    assert proxy["text"] == "out"
    assert shared == {"input": "in", "step": {"text": "out"}}


@pytest.mark.parametrize("path", ["a..b", "", "a[x]", "a/", "[0"])
def test_a_mapping_that_is_no_path_is_refused_at_once(path):
    with pytest.raises(ValueError):
        NodeAwareSharedStore({}, {"mine": path})
    with pytest.raises(ValueError):
        NodeAwareSharedStore({}, {}, {"mine": path})


class LLMNode(pocketflow.Node):
    """As the seeds print it."""

    def prep(self, shared):
        prompt = shared.get("prompt") or self.params.get("prompt")
        if not prompt:
            raise ValueError("prompt must be in shared store or params")
        return prompt

    def exec(self, prep_res):
        return f"answer to {prep_res}"

    def post(self, shared, prep_res, exec_res):
        shared["response"] = exec_res


def test_a_nodes_run_takes_the_proxy_as_the_seeds_have_it():
    shared = {"formatted_prompt": "Summarize this"}
    proxy = NodeAwareSharedStore(
        shared, input_mappings={"prompt": "formatted_prompt"}, output_mappings={"response": "output/video_summary"}
    )
    LLMNode()._run(proxy)
    assert shared == {
        "formatted_prompt": "Summarize this",
        "output": {"video_summary": "answer to Summarize this"},
    }


PLACES = {"a": "r1.a", "b": "r1.x.b", "c": "r2/c.d", "d": "r3"}
"""Names that are mapped, each to a place of its own; e and f are the store's."""

names = st.sampled_from("abcdef")
actions = st.lists(
    st.one_of(
        st.tuples(st.just("set"), names, st.integers()),
        st.tuples(st.just("delete"), names, st.none()),
        st.tuples(st.just("setdefault"), names, st.integers()),
    )
)


@given(actions)
def test_with_its_names_mapped_both_ways_it_is_to_a_node_what_a_dict_is(todo):
    shared = {}
    proxy, model = NodeAwareSharedStore(shared, PLACES, PLACES), {}
    for action, name, value in todo:
        assert _done(proxy, action, name, value) == _done(model, action, name, value)
        assert {key: proxy[key] for key in proxy if key in "abcdef"} == model
        assert [key in proxy for key in "abcdef"] == [key in model for key in "abcdef"]
    afresh = NodeAwareSharedStore(shared, PLACES, PLACES)
    assert {key: afresh[key] for key in "abcdef" if key in afresh} == model


def _done(store, action, name, value):
    """What an action gives, or that the key is not there."""
    try:
        if action == "set":
            store[name] = value
            return None
        return store.pop(name) if action == "delete" else store.setdefault(name, value)
    except KeyError:
        return "not there"


def test_it_counts_the_keys_that_a_node_sees():
    proxy = NodeAwareSharedStore({"a": 1, "b": 2, "c": 3}, {"mine": "a"})
    assert len(proxy) == len(list(proxy))


def test_what_a_node_changes_in_place_is_a_change_where_it_is_watched():
    store = NodeStore({"items": [1], "same": [1], "aside": [1]})
    store["items"].append(2)
    store["aside"].append(2)
    store["set"] = store["same"]
    assert store.changes(lambda key: key != "aside") == {"set": [1], "items": [1, 2]}


def test_the_keys_that_a_node_looked_at_beside_its_writes_are_known():
    view = NodeStore({"text": "x", "more": 1})
    assert (view["text"], "more" in view, "gone" in view) == ("x", True, False)
    assert view.asked_beside(["more", "never asked"]) == ["gone", "text"]
