"""What a model's flow may not hold though the rules would let it pass."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.catalog.find import forget_types
from pflow.errors import USAGE, PflowError
from pflow.flow.ir import flow_to_ir
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.models.ask import ModelAnswer
from pflow.plan.conversation import read_plan
from pflow.plan.limits import LIMITS, MOST_STEPS, refuse_secrets
from pflow.plan.planner import judge
from pflow.values.paths import write_path

EVIL = "\x1b[31m\n\u202eevil"


@pytest.fixture(autouse=True)
def only_bundled_nodes(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("PFLOW_NODES", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def errors(document, sentence="do it"):
    flow, findings = judge(document, sentence)
    found = [each for each in findings if not each.is_warning]
    assert (flow is None) == bool(found)
    return [(each.rule, write_path(each.location)) for each in found]


def ask(id="ask", **more):
    return {"id": id, "type": "llm", "inputs": {"prompt": "Name a tree"}, **more}


def inside(*nodes, **more):
    return {"id": "in", "type": "flow", "nodes": list(nodes), **more}


READ_AND_WRITTEN = [
    {"id": "r", "type": "read-file", "inputs": {"path": "a.txt"}},
    ask(),
    {"id": "w", "type": "write-file", "inputs": {"path": "b.txt"}},
]


@pytest.mark.parametrize(
    ("document", "rule", "place"),
    [
        ({"nodes": [{"id": "a", "type": "x.pflow.json"}]}, "PL01", "nodes[0].type"),
        ({"nodes": [{"id": "a", "type": "/etc/passwd"}]}, "PL01", "nodes[0].type"),
        ({"nodes": [ask(inputs={"prompt": "hi $name"})]}, "PL02", "nodes[0].inputs.prompt"),
        ({"nodes": [ask(params={"system": "${env.HOME}"})]}, "PL02", "nodes[0].params.system"),
        ({"nodes": [ask()], "outputs": {"x": "template:$HOME"}}, "PF14", "outputs.x"),
        ({"nodes": [ask()], "mappings": {"ask": {"input_mappings": {"text": "HOME"}}}}, "PL02",
         "mappings.ask.input_mappings.text"),
        ({"nodes": [{"id": "read", "type": "read-file"}]}, "PL02", "nodes[0]"),
        ({"nodes": [{"id": "page", "type": "fetch-page"}]}, "PL02", "nodes[0]"),
        ({"nodes": [ask(), {"id": "w", "type": "write-file", "inputs": {"content": "x"}}]}, "PL02", "nodes[1]"),
        ({"nodes": [ask()], "inputs": {"aB": {}}}, "PL03", "inputs.aB"),
        ({"nodes": [ask()], "inputs": {"stdin": {}}}, "PF05", "inputs.stdin"),
        ({"nodes": [ask()], "inputs": {"github_token": {}}}, "PL03", "inputs.github_token"),
        ({"nodes": [ask()], "outputs": {"a\nb": "ask.response"}}, "PL03", "outputs.a b"),
        ({"nodes": [{"id": "c", "type": "choose", "inputs": {"text": "", "words": ["\x1b", "b"]}}],
          "edges": [{"from": "c", "to": "c", "action": "\x1b"}]}, "PL03", "edges[0].action"),
        ({"nodes": [ask()], "inputs": {"x": {"default": ["sk-abcdefghijklmnop0123"]}}}, "PL04", "inputs.x.default"),
        ({"nodes": [ask(params={"system": "ghp_" + "a" * 30})]}, "PL04", "nodes[0].params.system"),
        ({"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "curl -H \"$GITHUB_TOKEN\" x"}}]}, "PL04",
         "nodes[0].inputs.command"),
        ({"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "printenv AWS_SECRET_ACCESS_KEY"}}]}, "PL04",
         "nodes[0].inputs.command"),
        ({"nodes": [ask(f"a{n}") for n in range(MOST_STEPS + 1)]}, "PL05", "nodes"),
        ({"nodes": [ask(retries=11)]}, "PL05", "nodes[0].retries"),
        ({"nodes": [ask()], "max_visits": 1_001}, "PL05", "max_visits"),
        ({"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "true" + " " * 4000 + "; touch unseen"}}]},
         "PL05", "nodes[0].inputs.command"),
        ({"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "true " + "\x1b" * 1000 + "; touch unseen"}}]},
         "PL05", "nodes[0].inputs.command"),
        ({"nodes": [ask(), {"id": "s", "type": "shell"}],
          "mappings": {"s": {"input_mappings": {"command": "ask.response"}}}}, "PL08",
         "mappings.s.input_mappings.command"),
        ({"nodes": [{"id": "s", "type": "shell"}], "inputs": {"run": {"type": "str", "default": "true"}},
          "mappings": {"s": {"input_mappings": {"command": "run"}}}}, "PL08", "mappings.s.input_mappings.command"),
        ({"nodes": [inside({"id": "a", "type": "/etc/passwd"})]}, "PL01", "nodes[0].nodes[0].type"),
        ({"nodes": [inside(ask(params={"system": "ghp_" + "a" * 30}))]}, "PL04", "nodes[0].nodes[0].params.system"),
        ({"nodes": [inside(ask(inputs={"prompt": "hi $name"}))]}, "PL02", "nodes[0]"),
        ({"nodes": [ask(), inside({"id": "s", "type": "shell"})],
          "mappings": {"in": {"input_mappings": {"command": "ask.response"}}}}, "PL08",
         "mappings.in.input_mappings.command"),
        *(({"nodes": [ask(), {"id": "s", "type": "shell", "inputs": {"command": f"test {name} = yes"}}]}, "PF14",
           "nodes[1].inputs.command") for name in ("$response", "$ask.response", '"${response}"')),
        # an older write is taken, so what else is dropped is told too
        ({"nodes": READ_AND_WRITTEN}, "PF18", "nodes[0]"),
        ({"nodes": READ_AND_WRITTEN}, "PF18", "nodes[1]"),
    ],
)  # fmt: skip
def test_each_limit_has_its_finding(document, rule, place):
    assert (rule, place) in errors(document)
    assert rule in LIMITS or rule.startswith("PF")


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": [ask()]},
        {"nodes": [ask(inputs={"prompt": "It costs $$5"})]},
        {"nodes": [ask(inputs={"prompt": "Read $stdin"})]},
        {"nodes": [ask(params={"schema": {"type": "object"}})]},
        {"nodes": [ask(params={"schema": ' {"type": "object"}'})]},
        {"nodes": [{"id": "a", "type": "shell", "inputs": {"command": 'for x in 1 2; do echo "$x$HOME"; done'}}]},
        {"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "echo " + "long " * 300}}]},
        {"nodes": [ask()], "inputs": {"topic": {"type": "str"}}},
        {"nodes": [{"id": "a", "type": "shell", "inputs": {"command": "for token in 1 2; do echo $token; done"}}]},
        {"nodes": [ask("token"), ask(inputs={"prompt": "Say ${token.response}"})]},
        {"nodes": [{"id": "w", "type": "write-file", "inputs": {"path": "b.txt"}}]},
        {"nodes": [ask(f"a{n}") for n in range(MOST_STEPS)]},
        {"nodes": [ask(), inside(ask("b", inputs={"prompt": "hi $response"}))]},
        {"nodes": READ_AND_WRITTEN, "mappings": {"w": {"input_mappings": {"content": "r.content"}}}},
    ],
)
def test_what_is_within_the_limits_passes(document):
    assert errors(document) == []


def test_a_path_as_a_type_is_not_opened(only_bundled_nodes):
    (only_bundled_nodes / "x.pflow.json").write_text("not JSON at all")
    assert errors({"nodes": [{"id": "a", "type": "x.pflow.json"}]}) == [("PL01", "nodes[0].type")]


@pytest.mark.parametrize(
    ("sentence", "left"),
    [("name a tree", {}), ("name a tree with gpt-x", {"model": "gpt-x"}), ("with gpt-x, top_p=0.5", None)],
)
def test_whom_to_ask_stays_only_where_the_sentence_says_it(sentence, left):
    params = {"model": "gpt-x", "option": ["top_p=0.5"]}
    flow, _ = judge({"nodes": [ask(params=params)]}, sentence)
    assert flow is not None
    assert flow.steps[0].params == (params if left is None else left)


def test_no_model_says_what_may_be_done_twice():
    flow, _ = judge({"nodes": [ask(repeats=True)]}, "name a tree")
    assert flow is not None
    assert flow.steps[0].repeats is None


SECRET_NODE = '''from pflow import Node


class Post(Node):
    """Post a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what to post
    - Reads: shared["pin"]: str = "" [secret]  # whose it is
    - Params: key: str = "" [secret] [env POST_KEY]  # who may
    """
'''


@pytest.mark.parametrize(
    ("step", "source", "default", "place"),
    [
        ({"inputs": {"text": "x", "pin": "hunter2"}}, {}, None, "nodes[0].inputs.pin"),
        ({"params": {"key": "hunter2"}}, {"text": "who"}, None, "nodes[0].params.key"),
        ({}, {"text": "who", "pin": "template:hunter2"}, None, "mappings.post.input_mappings.pin"),
        ({}, {"text": "who", "pin": "by"}, "hunter2", "inputs.by.default"),
        ({}, {"text": "who", "pin": "template:my ${by}"}, "hunter2", "inputs.by.default"),
        ({"params": {"key": "$by"}}, {"text": "who"}, "hunter2", "inputs.by.default"),
    ],
)
def test_what_a_node_calls_a_secret_does_not_stand_in_a_plan(only_bundled_nodes, step, source, default, place):
    folder = only_bundled_nodes / "pflow" / "nodes"
    folder.mkdir(parents=True)
    (folder / "post.py").write_text(SECRET_NODE)
    forget_types()
    document = {
        "inputs": {"who": {"default": "me"}, **({"by": {"default": default}} if default else {})},
        "nodes": [{"id": "post", "type": "post", **step}],
        "mappings": {"post": {"input_mappings": source}},
    }
    assert place in [each for _, each in errors(document)]


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": [{"id": EVIL, "type": "llm"}]},
        {"nodes": [{"id": "a", "type": EVIL}]},
        {"nodes": [{"id": "a", "type": f"flow:{EVIL}"}]},
        {"nodes": [ask(inputs={EVIL: 1})]},
        {"nodes": [ask(params={EVIL: 1})]},
        {"nodes": [ask()], "inputs": {EVIL: {}}},
        {"nodes": [ask()], "outputs": {EVIL: "ask.response"}},
        {"nodes": [ask()], "mappings": {EVIL: {}}},
        {"nodes": [ask()], "edges": [{"from": "ask", "to": EVIL}]},
        {"nodes": [ask()], EVIL: 1},
    ],
)
def test_nothing_in_a_finding_moves_a_terminal(document):
    flow, findings = judge(document, "do it")
    assert flow is None
    assert all(str(each).isprintable() for each in findings)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(
        ["llm", "read", "read-file", "shell", "read.content", "$x", "${read.content}", "template:${read.content}",
         "path", "a.txt", "flow:x", "./x.pflow.json", "text", "str", "default", "list[str]", "item"]
    ),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(
        st.sampled_from(
            ["id", "type", "inputs", "params", "nodes", "edges", "mappings", "from", "to", "action", "batch", "over",
             "as", "input_mappings", "output_mappings", "read", "llm", "path", "prompt", "text", "content", "command",
             "name", "default", "outputs", "max_visits", "retries", "version", "config", "input_bindings",
             "$bytes", "schema"]
        ) | st.text(max_size=3), each, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip
NODE = st.fixed_dictionaries(
    {"id": st.sampled_from(["read", "ask", "w"]), "type": st.sampled_from(["read-file", "llm", "write-file", "shell"])},
    optional={
        "inputs": st.dictionaries(st.sampled_from(["path", "prompt", "text", "content", "command"]), JSON, max_size=2),
        "params": st.dictionaries(st.sampled_from(["model", "schema", "append", "check"]), JSON, max_size=2),
        "batch": JSON, "retries": JSON, "version": JSON, "output_bindings": JSON,
    },
)  # fmt: skip
FLOW = st.fixed_dictionaries(
    {"nodes": st.lists(NODE | JSON, min_size=1, max_size=3)},
    optional={"mappings": JSON, "inputs": JSON, "outputs": JSON, "edges": JSON, "name": JSON, "description": JSON},
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(document=FLOW | JSON, sentence=st.sampled_from(["do it", "copy a.txt to b.txt", "ask 'path' 3 times"]))
def test_any_json_is_a_flow_that_passes_or_findings(document, sentence):
    ir, findings = read_plan(ModelAnswer(json.dumps(document)), FlowCatalog())
    flow = None
    if ir is not None:
        flow, findings = judge(ir, sentence)
    if flow is None:
        assert [each for each in findings if not each.is_warning]
        return
    assert not [each for each in check(wire(flow)) if not each.is_warning]
    assert not [each for each in findings if not each.is_warning]
    again, _ = judge(json.loads(json.dumps(flow_to_ir(flow), default=str)), sentence)
    assert again is not None


@pytest.fixture
def saved(only_bundled_nodes):
    """A saved flow, `sum`, with a model in it."""
    folder = only_bundled_nodes / "pflow" / "flows"
    folder.mkdir(parents=True)
    (folder / "sum.pflow.json").write_text(json.dumps({"nodes": [ask()], "outputs": {"summary": "ask.response"}}))


def test_whom_a_saved_flow_asks_is_not_the_models_to_say_either(saved):
    step = {"id": "s", "type": "flow:sum", "params": {"ask.model": "x", "ask.max_tokens": 9}}
    flow, _ = judge({"nodes": [step]}, "summarize a.x or x.txt")
    assert flow is not None
    assert flow.steps[0].params == {"ask.max_tokens": 9}


def test_a_text_with_a_secret_is_refused_before_a_model_sees_it():
    with pytest.raises(PflowError, match="the sentence holds something like a secret") as refused:
        refuse_secrets("plan", "say ghp_" + "a" * 30, "the sentence")
    assert refused.value.exit == USAGE
    refuse_secrets("plan", "say a word", "the sentence")
