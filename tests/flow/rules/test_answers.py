"""PF18: a step's answer that nothing uses, while what comes after it takes something older, or nothing."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pflow.flow.graph import Graph
from tests.flow.checked import edges, errors, findings, flow, told

LOAD = {"id": "load", "type": "load", "inputs": {"path": "p"}}
ASK = {"id": "query", "type": "query", "inputs": {"prompt": "Sum up"}}
SAVE = {"id": "save", "type": "save", "inputs": {"path": "q"}}
RUN = {"id": "run", "type": "shell", "inputs": {"command": "date"}}
RUNS = {
    "tidy.py": "import pocketflow\n\nclass Tidy(pocketflow.Node):\n    '''It.\n\n    Interface:\n"
    '    - Writes: shared["tidied"]: str [pipe]  # what it did\n    - Effects: writes files\n'
    "    '''\n"
}


def into(reader, key, source):
    return {reader: {"input_mappings": {key: source}}}


def dropped(document, files=None):
    """The mappings that PF18 proposes."""
    remedies = [each.remedy for each in findings(document, files) if each.rule == "PF18"]
    return [json.loads(f"{{{each}}}")["mappings"] for each in remedies]


def mended_by(document, mappings):
    """The flow with these mappings too."""
    merged = dict(document.get("mappings", {}))
    for each in mappings:
        for id, mapping in each.items():
            merged[id] = {**merged.get(id, {}), **mapping}
    return {**document, "mappings": merged}


READ_AND_ASKED = flow(LOAD, {**ASK, "inputs": {"prompt": "p", "text": "$content"}}, SAVE)
WAYS = edges("load judge", "judge a", "judge failed b", "a save", "b save")

LOST = [
    (flow(LOAD, ASK, SAVE), [into("query", "text", "load.content"), into("save", "content", "query.answer")]),
    (READ_AND_ASKED, [into("save", "content", "query.answer")]),
    (flow(LOAD, ASK), [into("query", "text", "load.content")]),
    (flow(LOAD, {**RUN, "inputs": {"command": "sort", "input": "$content"}}, SAVE),
     [into("save", "content", "run.stdout")]),
    (flow(LOAD, {**ASK, "id": "one"}, {**ASK, "id": "two"}, SAVE),
     [into("one", "text", "load.content"), into("two", "text", "one.answer"), into("save", "content", "two.answer")]),
    (flow(LOAD, "judge", {**ASK, "id": "a"}, {**ASK, "id": "b"}, SAVE, edges=WAYS),
     [into("a", "text", "load.content"), into("b", "text", "load.content"),
      into("save", "content", ["a.answer", "b.answer"])]),
    # a step between them that reads nothing from the pipe, and one whose read has a flag
    (flow(LOAD, {**ASK, "inputs": {"prompt": "p", "text": "$content"}}, "fetch", SAVE, outputs={"issue": "issue_data"}),
     [into("save", "content", "query.answer")]),
    (flow(LOAD, {**ASK, "inputs": {"prompt": "p", "text": "$content"}},
          {**ASK, "id": "b", "inputs": {"prompt": "p", "text": "t"}}, SAVE, outputs={"b": "b.answer"}),
     [into("save", "content", "query.answer")]),
    (flow(LOAD, {**ASK, "inputs": {"prompt": "p", "text": "$content"}}, "judge", SAVE),
     [into("save", "content", "judge.verdict")]),
]  # fmt: skip

EACH = {"batch": {"over": "load.content", "as": "text"}}
BATCHED = [  # what the second batch takes; True where nothing uses the answers of the first
    ({"over": "load.content", "as": "f"}, {"content": "f"}, True),
    ({"over": "load.content", "as": "content"}, {}, True),
    ({"over": "load.content", "as": "f"}, {"content": "template:$f"}, False),
    ({"over": "query.answer", "as": "f"}, {"content": "f"}, False),
    ({"over": "names", "as": "f"}, {"content": "f"}, False),
]


@pytest.mark.parametrize(("batch", "mapping", "is_lost"), BATCHED)
def test_a_batch_whose_item_takes_the_place_of_an_answer_drops_it(batch, mapping, is_lost):
    ask, save = {**ASK, **EACH}, {**SAVE, "batch": batch}
    document = flow(LOAD, ask, save, mappings={"save": {"input_mappings": mapping}})
    lost = [each.message for each in findings(document) if each.rule == "PF18"]
    assert lost == ["nothing uses what 'query' writes, while 'save' takes the items of 'load.content'"] * is_lost


KEPT = [
    flow(LOAD, ASK, SAVE, mappings={**into("query", "text", "content"), **into("save", "content", "query.answer")}),
    flow(LOAD, ASK, SAVE, outputs={"answer": "query.answer"}, mappings=into("query", "text", "content")),
    flow(LOAD, ASK, SAVE, outputs={"used": "query.used"}, mappings=into("query", "text", "content")),
    flow(LOAD, ASK, {**SAVE, "inputs": {"path": "q", "content": "c"}}, mappings=into("query", "text", "content")),
    flow(LOAD, ASK, SAVE, mappings={**into("query", "text", "content"), **into("save", "content", "content")}),
    flow(LOAD, {**ASK, "inputs": {"prompt": "Sum up $content"}}),
    flow(LOAD, ASK, mappings=into("query", "text", "content")),
    flow("fetch", {**ASK, "params": {"text": "stands in"}}),
    flow("fetch", ASK, inputs={"issue_number": {}, "text": {}}),
    flow("fetch", {**ASK, "batch": {"over": "stdin", "as": "text"}}),
    # run for their effects
    flow(RUN, ASK),
    flow("tidy", ASK),
    # run for its action
    flow("judge", {**ASK, "id": "a"}, {**ASK, "id": "b"}, edges=edges("judge a", "judge failed b")),
    # a required read that nothing gives is an input, or PF03
    flow("query", "save"),
    flow("fetch", SAVE, inputs={"issue_number": {}}),
    # nobody knows what an open node reads, or writes
    flow(LOAD, ASK, SAVE, "anything", mappings=into("query", "text", "content")),
    flow("anything", ASK),
    # what takes it is newer
    flow({**ASK, "inputs": {"prompt": "p", "text": "t"}}, LOAD, SAVE),
    # nothing later takes anything
    flow(LOAD, SAVE, ASK, mappings=into("query", "text", "content")),
    # the last of a loop goes round
    flow(LOAD, ASK, "judge", edges=edges("load query", "query judge", "judge failed query"),
         mappings=into("query", "text", "content")),
]  # fmt: skip


@pytest.mark.parametrize(("document", "mappings"), LOST)
def test_an_answer_that_nothing_uses_is_told_with_the_mapping_that_mends_it(document, mappings):
    assert sorted(dropped(document), key=str) == sorted(mappings, key=str)
    assert dropped(mended_by(document, mappings)) == []
    assert errors(mended_by(document, mappings)) == []


@pytest.mark.parametrize("document", KEPT)
def test_what_is_used_or_run_for_something_else_is_not(document):
    assert dropped(document, RUNS) == []


def test_it_says_which_answer_and_what_is_taken_in_its_stead():
    (finding,) = [each for each in told(READ_AND_ASKED) if "PF18" in each]
    assert finding == (
        "nodes[1]: PF18: warning: nothing uses what 'query' writes, while 'save' takes 'content' from 'load'; "
        '"mappings": {"save": {"input_mappings": {"content": "query.answer"}}}'
    )


def test_branches_of_a_fork_have_no_one_mapping():
    fork = edges("load a", "load b", "a save", "b save")
    apart = {id: {"output_mappings": {"answer": f"{id}_answer", "used": f"{id}_used"}} for id in "ab"}
    document = flow(LOAD, {**ASK, "id": "a"}, {**ASK, "id": "b"}, SAVE, edges=fork, mappings=apart)
    assert [each for each in told(document) if "'save'" in each] == [
        "nodes[2]: PF18: warning: nothing uses what 'a' and 'b' write, while 'save' takes 'content' from 'load'; "
        '"mappings": {"save": {"input_mappings": {"content": …}}}'
    ]


@settings(max_examples=60)
@example([LOAD, ASK, "fetch", SAVE, SAVE])  # the answer is for the second save
@given(st.lists(st.sampled_from([LOAD, ASK, RUN, SAVE, "fetch", "judge"]), min_size=2, max_size=6))
def test_in_any_chain_the_mappings_mend_every_dropped_answer_and_break_no_rule(nodes):
    nodes = [{**({"type": each} if isinstance(each, str) else each), "id": f"s{n}"} for n, each in enumerate(nodes)]
    document = flow(*nodes)
    mended = mended_by(document, dropped(document))
    assert dropped(mended) == []
    assert errors(mended) == errors(document)


HERE = Path(__file__).parent
FLOWS = [
    *(HERE.parent / "seeds" / f"{name}.pflow.json" for name in (
        "000-keys", "001-mappings", "002-flow", "002-fragment", "003-simple", "004-collisions", "004-issue",
    )),
    *sorted((HERE.parents[2] / "examples").glob("*.pflow.json")),
]  # fmt: skip


@pytest.mark.parametrize("file", FLOWS, ids=lambda file: file.name)
def test_the_flows_of_the_seeds_and_the_examples_drop_nothing(file):
    nodes = sorted((HERE.parents[1] / "seeds" / "nodes").glob("[!_]*/[!_]*.py"))
    assert dropped(json.loads(file.read_text()), {each.name: each.read_text() for each in nodes}) == []


def test_no_way_is_walked_to_reads_that_are_not_there(monkeypatch):
    calls = []
    after = Graph.after
    monkeypatch.setattr(Graph, "after", lambda *args, **options: calls.append(args) or after(*args, **options))

    def calls_of(count):
        calls.clear()
        ids = [f"l{number}" for number in range(count)]
        written = [f"{one} {other}" for one, other in pairwise(ids)] + [f"{id} error end" for id in ids]
        steps = [{**LOAD, "id": id} for id in [*ids, "end"]]
        assert not dropped({"nodes": steps, "edges": edges(*written)})
        return len(calls)

    assert calls_of(40) < 5 * calls_of(10)
