"""NodeAwareSharedStore: a node's own names for the places of a store, and nothing else."""

import pocketflow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.binding.store import NodeAwareSharedStore
from pflow.errors import PflowError

ISSUE = {"fetch": {"issue_data": {"title": "Crash", "labels": [{"name": "bug"}, {"name": "ui"}], "odd key": 7}}}
TEXTS = {"raw_texts": {"doc1.txt": "one", "a.b": {"c": "two"}}, "list": [[1, 2], [3]]}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("fetch.issue_data.title", "Crash"),
        ("fetch.issue_data.labels[0].name", "bug"),
        ("fetch.issue_data.labels[-1].name", "ui"),
        ('fetch.issue_data["odd key"]', 7),
        ("fetch/issue_data/title", "Crash"),
        ("fetch/issue_data/labels/1/name", "ui"),
        ("raw_texts/doc1.txt", "one"),
        ("raw_texts/a.b/c", "two"),
        ('raw_texts["a.b"].c', "two"),
        ("list[0][1]", 2),
        ("list[-1][0]", 3),
        ("list", [[1, 2], [3]]),
    ],
)
def test_a_read_goes_to_its_path(source, value):
    assert NodeAwareSharedStore(ISSUE | TEXTS, {"mine": source})["mine"] == value


def test_a_path_looks_inside_a_text_that_holds_json():
    store = {"answer": '{"items": [{"id": 5}]}'}
    assert NodeAwareSharedStore(store, {"id": "answer.items[0].id"})["id"] == 5
    assert store == {"answer": '{"items": [{"id": 5}]}'}


@pytest.mark.parametrize("value", [None, "", 0, False, [], {}])
def test_what_is_empty_is_there_all_the_same(value):
    proxy = NodeAwareSharedStore({"a": {"b": value}}, {"mine": "a.b"})
    assert "mine" in proxy
    assert proxy["mine"] == value


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("template:Fix this issue:\n${fetch.issue_data.title}", "Fix this issue:\nCrash"),
        ("template:${fetch.issue_data.labels}", [{"name": "bug"}, {"name": "ui"}]),
        ("template:$name is $$5", "x is $5"),
        ("template:no reference", "no reference"),
        ("template:", ""),
    ],
)
def test_a_template_is_a_source(template, value):
    assert NodeAwareSharedStore(ISSUE | {"name": "x"}, {"mine": template})["mine"] == value


def test_what_a_template_brings_in_is_not_expanded_again():
    store = {"a": "${b}", "b": "never"}
    assert NodeAwareSharedStore(store, {"mine": "template:<$a>"})["mine"] == "<${b}>"


def test_of_a_list_of_paths_the_first_that_is_there_counts():
    store = {"fix": {"response": "fixed"}}
    proxy = NodeAwareSharedStore(store, {"text": ["fix.response", "draft.response"]})
    assert proxy["text"] == "fixed"
    store["fix"] = {}
    store["draft"] = {"response": "drafted"}
    assert proxy["text"] == "drafted"


@pytest.mark.parametrize("source", ["gone", "a.gone", "a.b.gone", "list[9]", ["gone", "a.gone"], "template:$gone"])
def test_what_is_not_there_is_a_key_error(source):
    proxy = NodeAwareSharedStore({"a": {"b": 1}, "list": [1]}, {"mine": source})
    with pytest.raises(KeyError):
        proxy["mine"]
    assert "mine" not in proxy
    assert proxy.get("mine", "default") == "default"


def test_the_error_says_what_there_is_and_ends_a_run_with_66():
    proxy = NodeAwareSharedStore({"fetch": {"stdout": "x", "exit_code": 0}}, {"mine": "fetch.stdot"})
    with pytest.raises(PflowError) as caught:
        proxy["mine"]
    assert caught.value.exit == 66
    assert "no 'stdot' in fetch; it has stdout, exit_code (did you mean stdout?)" in str(caught.value)


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


def test_a_write_leaves_the_rest_of_an_object_alone():
    shared = {"a": {"kept": 1, "b": {"c": 2}}}
    NodeAwareSharedStore(shared, {}, {"mine": "a.b.d"})["mine"] = 3
    assert shared == {"a": {"kept": 1, "b": {"c": 2, "d": 3}}}


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


def test_a_key_with_a_dot_and_no_mapping_is_one_key():
    shared = {}
    NodeAwareSharedStore(shared)["a.b"] = 1
    assert shared == {"a.b": 1}


def test_a_key_is_read_where_it_is_mapped_until_the_node_writes_it():
    shared = {"input": "in"}
    proxy = NodeAwareSharedStore(shared, {"text": "input"}, {"text": "step.text"})
    assert proxy["text"] == "in"
    proxy["text"] = "out"
    assert proxy["text"] == "out"
    assert shared == {"input": "in", "step": {"text": "out"}}


def test_iteration_and_length_tell_what_the_node_can_read():
    proxy = NodeAwareSharedStore({"a": {"b": 1}}, {"mine": "a.b", "gone": "a.c"}, {"out": "x.y"})
    assert set(proxy) == {"a", "mine"}
    assert len(proxy) == 2
    proxy["out"] = 2
    assert set(proxy) == {"a", "mine", "x", "out"}
    assert dict(proxy)["out"] == 2


def test_a_deleted_key_is_gone_from_its_place():
    shared = {"x": {"kept": 1}}
    proxy = NodeAwareSharedStore(shared, {}, {"out": "x.y"})
    proxy["out"] = 2
    assert proxy.pop("out") == 2
    assert shared == {"x": {"kept": 1}}
    assert "out" not in proxy


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


def test_the_same_node_runs_on_the_plain_store():
    shared = {"prompt": "Summarize this"}
    LLMNode()._run(shared)
    assert shared["response"] == "answer to Summarize this"


def test_the_node_says_what_the_seed_says_where_nothing_is_mapped():
    with pytest.raises(ValueError, match="prompt must be in shared store or params"):
        LLMNode()._run(NodeAwareSharedStore({}, {"prompt": "gone"}))


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
