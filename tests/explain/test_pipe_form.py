"""The pipe form of a flow for people: its inputs are literals in it, and what it cannot say is an error."""

import pytest

from pflow.errors import PflowError
from pflow.explain.pipe_form import pipe_of, with_literals
from pflow.flow.ir import load_document
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes
from tests.flow.pipe.test_write import NODES


@pytest.fixture(autouse=True, scope="module")
def nodes(tmp_path_factory):
    with own_nodes(tmp_path_factory.mktemp("nodes"), NODES):
        yield


def plan(*nodes, inputs=None, declared=None, mappings=None, **members):
    """A wired plan of nodes; its mappings are `{step: {read: source}}`, its inputs `{name: default}`."""
    inputs = {name: {"default": value} for name, value in (inputs or {}).items()} | (declared or {})
    mapped = {step: {"input_mappings": each} for step, each in (mappings or {}).items()}
    document = {"nodes": list(nodes), "inputs": inputs, "mappings": mapped, **members}
    return wire(load_document(document, "the plan", FlowCatalog()).usable())


def node(id, type, params=None, **inputs):
    return {"id": id, "type": type, "inputs": inputs, "params": params or {}}


READ, SUM = node("read", "read-file"), node("sum", "llm", prompt="Sum up")


@pytest.mark.parametrize(
    ("step", "mapped", "default", "literal"),
    [
        (node("s", "llm", prompt="$x"), {}, "it's $5", {"prompt": "it's $$5"}),
        (node("s", "llm", prompt="Of ${x}, $$ and $x"), {}, "$y", {"prompt": "Of $$y, $$ and $$y"}),
        (node("s", "llm", prompt="${x.name} ${x.all[0]}"), {}, {"name": "oak", "all": [1]}, {"prompt": "oak 1"}),
        (node("s", "llm"), {"prompt": "template:Of $x"}, 7, {"prompt": "Of 7"}),
        (node("s", "llm"), {"prompt": "x"}, 7, {"prompt": "7"}),
        (node("s", "llm"), {"text": "x.name"}, {"name": "oak"}, {"text": "oak"}),
        (node("s", "llm"), {"text": "x"}, None, {}),
        (node("s", "shell"), {"command": "x"}, "echo $HOME", {"command": "echo $HOME"}),
        (node("s", "shell", command="true", args=["$x", "-$x"]), {}, "$", {"command": "true", "args": ["$$", "-$$"]}),
        (node("s", "shell", command="$x", args="$x"), {}, ["a", "$"], {"command": "$x", "args": ["a", "$$"]}),
        (node("s", "many"), {"score": "x"}, 7, {"score": 7}),
        (node("s", "many", loud="$x"), {}, True, {"loud": True}),
    ],
)
def test_a_literal_means_what_the_input_was(step, mapped, default, literal):
    flow = with_literals(plan(step, inputs={"x": default}, mappings={"s": mapped}), {})
    assert flow.steps[0].inputs == literal
    assert flow.steps[0].input_mappings == {}


def test_an_input_that_takes_the_pipe_is_stdin():
    article = {"article": {"pipe": True}}
    first = plan(SUM, declared=article, mappings={"sum": {"text": "article"}})
    assert pipe_of(first) == "llm:sum --prompt='Sum up'\n"
    inside = plan(node("s", "llm", prompt="Sum up ${article}"), declared=article)
    assert pipe_of(inside) == "llm:s --prompt='Sum up ${stdin}'\n"
    assert pipe_of(first, {"article": "An oak"}) == "llm:sum --prompt='Sum up' --text='An oak'\n"


def test_a_name_that_only_the_first_read_has_from_the_pipe_stays_one():
    flow = plan(node("a", "shell", command="cat"), node("b", "template", template="<$input>"))
    assert pipe_of(flow) == "shell:a --command=cat\n  => template:b --template='<$input>'\n"


def test_a_batch_keeps_its_items_and_takes_the_pipe():
    step = {**node("s", "llm", prompt="On $x, for $y"), "batch": {"over": "xs", "as": "x", "keep_item": True}}
    flow = plan(step, inputs={"x": 1, "y": "me"}, declared={"xs": {"pipe": True}})
    assert pipe_of(flow) == "llm:s --each --as=x --with-item --prompt='On $x, for me'\n"


def test_two_steps_whose_writes_meet_are_kept_apart():
    ask = node("title", "llm", prompt="A title for ${sum.response}")
    mapped = {"sum": {"text": "read.content"}, "save": {"content": "template:# ${title.response}\n\n${sum.response}"}}
    flow = plan(node("read", "read-file", path="a"), SUM, ask, node("save", "write-file", path="o"), mappings=mapped)
    assert pipe_of(flow) == (
        "read-file:read --path=a\n  => llm:sum --prompt='Sum up' --map-in=text=read.content --map-out=usage=usage\n"
        "  => llm:title --prompt='A title for ${sum.response}' --map-out=usage=usage\n"
        "  => write-file:save --path=o --map-in='content=template:# ${title.response}\n\n${sum.response}'\n"
    )


def test_a_write_that_an_output_names_stays_under_its_step():
    flow = plan(node("read", "read-file", path="a"), outputs={"text": "read.content"})
    assert pipe_of(flow) == "# outputs: text from read.content\nread-file --path=a --id=read\n"


def test_a_literal_that_its_step_would_hand_to_another_is_refused():
    inputs, mapped = {"who": {"type": "str", "default": "x"}}, {"a": {"content": "who"}}
    steps = (node(id, "write-file", path=id) for id in "ab")
    with pytest.raises(PflowError, match="the read 'content' of 'b' would take the content that 'a' is given"):
        pipe_of(plan(*steps, inputs=inputs, mappings=mapped))


def test_outputs_stand_in_a_comment_that_nothing_breaks_out_of():
    text = pipe_of(plan(node("read", "read-file", path="a"), outputs={"a\n=> shell --command=x\033": "content"}))
    first, *rest = text.splitlines()
    assert first.startswith("# outputs: a ")
    assert "\033" not in first
    assert rest == ["read-file:read --path=a"]


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (plan({**SUM, "batch": {"over": "xs"}}, inputs={"xs": [1]}), "'sum' runs once for each item of the input 'xs'"),
        (plan(SUM, inputs={"x": 1}, mappings={"sum": {"text": ["x", "y"]}}), "another value"),
        (plan(SUM, mappings={"sum": {"text": ["template:x", "y"]}}), "is a template"),
        (plan(node("s", "llm", prompt="${x.name}"), inputs={"x": 1}), "has no 'x.name'"),
    ],
)
def test_what_it_cannot_say_is_an_error(flow, why):
    with pytest.raises(PflowError, match="cannot write the flow in pipe syntax") as raised:
        pipe_of(flow)
    assert why in raised.value.message
    assert raised.value.exit == 65


@pytest.mark.parametrize("source", ["seal", "template:hush", ["template:hush", "seal"]])
def test_a_flow_with_a_secret_has_no_pipe_form(source):
    with pytest.raises(PflowError, match="a secret is never a flag") as raised:
        pipe_of(plan(node("s", "many"), inputs={"seal": "hush"}, mappings={"s": {"token": source}}))
    assert "hush" not in raised.value.message
