"""A flow as a node: its inputs are its reads, its outputs its writes, its steps' params its params."""

import json

import pytest

from pflow.catalog.find import forget_types
from pflow.catalog.registry import saved_flow
from pflow.errors import PflowError
from pflow.flow.flow import FlowSpec, Step
from pflow.flow.subflow import FlowCatalog, FlowType
from pflow.flow.wiring import wire
from pflow.interface.interface import UNDECLARED
from tests.flow.own_nodes import own_nodes

NODES = {
    "say": """
    - Reads: shared["prompt"]: str [pipe]  # what to ask
    - Reads: shared["tone"]: str = "dry" [flag t]  # how
    - Writes: shared["response"]: str [pipe]  # the answer
    - Writes: shared["usage"]: dict{input: int}  # what it took
    - Params: model: str = "small"  # which model
    - Params: schema: any = null [verbatim]  # the answer's
    - Params: key: str = null [secret] [env ASK_KEY]  # who asks
    - Effects: network""",
    "save": """
    - Reads: shared["content"]: any [pipe]  # what
    - Reads: shared["path"]: path [explicit]  # where
    - Effects: writes files""",
    "log": """
    - Params: more: bool = false  # add to it
    - Effects: writes files
    - Repeats: unless more""",
}


@pytest.fixture(autouse=True)
def flows(tmp_path, monkeypatch):
    """The directory that flows are written to; saved ones go below it."""
    (tmp_path / "nodes").mkdir()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "pflow" / "flows").mkdir(parents=True)
    with own_nodes(tmp_path / "nodes", NODES):
        yield tmp_path


def put(file, *nodes, **members):
    file.write_text(json.dumps({"nodes": list(nodes), **members}))
    return str(file)


DRAFT = {"id": "draft", "type": "say", "params": {"model": "big"}}
SAVE = {"id": "save", "type": "save", "inputs": {"path": "out.md"}}


def interface(flows, *nodes, **members):
    """The interface of a flow, in a file of its own."""
    number = len(list(flows.iterdir()))
    return FlowCatalog().find(put(flows / f"it-{number}.pflow.json", *nodes, **members)).interface


def test_a_flow_goes_by_its_file_or_by_the_name_that_it_is_saved_under(flows):
    file = put(flows / "pflow" / "flows" / "fix.pflow.json", DRAFT)
    saved = FlowCatalog().find("flow:fix")
    assert (type(saved), saved.origin, saved.file) == (FlowType, "flow", file)
    assert saved_flow("fix") == file
    assert FlowCatalog(str(flows)).find("pflow/flows/fix.pflow.json").file == file
    assert FlowCatalog().find(file).file == file


@pytest.mark.parametrize("name", ["nope", "", "../flows/fix", "/etc/passwd"])
def test_what_is_no_saved_flow_is_none(flows, name):
    put(flows / "pflow" / "flows" / "fix.pflow.json", DRAFT)
    assert saved_flow(name) is None
    assert FlowCatalog().find(f"flow:{name}") is None


def test_without_declared_inputs_what_no_step_writes_is_read(flows):
    reads = interface(flows, DRAFT).reads
    assert list(reads) == ["prompt", "tone"]
    assert reads["prompt"].default is UNDECLARED
    assert (reads["prompt"].marks, str(reads["prompt"].type), reads["prompt"].doc) == ({"pipe"}, "str", "what to ask")
    assert not reads["tone"].required
    assert reads["tone"].flags == ["t"]


def test_declared_inputs_are_what_it_reads(flows):
    inputs = {"topic": {"type": "str", "description": "on what"}, "count": {"type": "int", "default": 3}}
    found = interface(
        flows, DRAFT, inputs=inputs, mappings={"draft": {"input_mappings": {"prompt": "template:$count on $topic"}}}
    )
    assert [(item.name, str(item.type), item.default) for item in found.reads.values()] == [
        ("topic", "str", UNDECLARED),
        ("count", "int", 3),
    ]
    assert found.reads["topic"].doc == "on what"
    assert not found.open


def test_an_explicit_read_of_one_step_is_an_explicit_read_of_the_flow(flows):
    path = interface(flows, DRAFT, {"id": "save", "type": "save"}).reads["path"]
    assert (path.marks, path.required, str(path.type)) == ({"explicit"}, True, "path")


def test_declared_outputs_are_what_it_writes(flows):
    found = interface(flows, DRAFT, outputs={"answer": "draft.response", "tokens": "draft.usage.input"})
    assert {item.name: str(item.type) for item in found.writes.values()} == {"answer": "str", "tokens": "int"}
    assert found.pipe_write.name == "answer"
    assert interface(flows, DRAFT, outputs={"tokens": "draft.usage.input", "n": "draft.usage"}).pipe_write is None
    assert interface(flows, DRAFT, outputs={"answer": "draft.response"}).pipe_write.name == "answer"


def test_without_declared_outputs_every_root_of_its_store_is_written(flows):
    found = interface(flows, DRAFT, SAVE)
    assert {item.name: str(item.type) for item in found.writes.values()} == {
        "response": "str",
        "usage": "dict{input: int}",
    }
    assert found.pipe_write.name == "response"


def test_the_params_of_its_steps_are_its_params_by_step(flows):
    params = interface(flows, DRAFT, SAVE).params
    assert list(params) == ["draft.model", "draft.schema", "draft.key"]
    assert (params["draft.model"].default, params["draft.model"].doc) == (None, "which model")


def test_the_effects_of_its_steps_are_its_effects(flows):
    assert set(interface(flows, DRAFT, SAVE).effects) == {"network", "writes files"}


@pytest.mark.parametrize(
    ("steps", "repeats"),
    [
        ([DRAFT], "no"),
        ([{**DRAFT, "repeats": True}], "yes"),
        ([{**DRAFT, "repeats": True}, SAVE], "no"),
        ([{"id": "log", "type": "log"}], "yes"),
        ([{"id": "log", "type": "log", "params": {"more": True}}], "no"),
        ([{"id": "log", "type": "log", "params": {"more": "${x}"}}], "no"),
        ([{"id": "x", "type": "nope"}], "no"),
    ],
)
def test_a_flow_repeats_where_all_its_steps_do(flows, steps, repeats):
    assert interface(flows, *steps).repeats == repeats
    put(flows / "inner.pflow.json", *steps)
    assert interface(flows, {"id": "i", "type": "./inner.pflow.json"}).repeats == repeats


def test_a_flow_with_an_open_step_is_open_unless_it_declares_inputs_and_outputs(flows):
    assert interface(flows, {"id": "x", "type": "nope"}).open
    closed = {"inputs": {"a": {"type": "str"}}, "outputs": {"b": "x.b"}}
    assert not interface(flows, {"id": "x", "type": "nope"}, **closed).open


def test_a_step_that_is_a_flow_is_wired_like_any_other(flows):
    file = put(flows / "inner.pflow.json", DRAFT, outputs={"answer": "draft.response"})
    outer = FlowSpec(
        [Step("one", file, params={"draft.model": "big"}), Step("two", "say", input_mappings={"prompt": "one.answer"})],
        [],
    )
    outer.catalog = FlowCatalog()
    plan = wire(outer)
    assert plan.steps["one"].targets == {"answer": ("one", "answer")}
    assert plan.inputs["prompt"].required
    assert [reference.trouble for reference in plan.references] == ["'one' does not run before 'two'"]


def test_a_path_begins_where_its_flow_is(flows):
    (flows / "sub" / "deep").mkdir(parents=True)
    put(flows / "sub" / "deep" / "inner.pflow.json", DRAFT)
    put(flows / "sub" / "middle.pflow.json", {"id": "in", "type": "deep/inner.pflow.json"})
    kind = FlowCatalog(str(flows)).find("sub/middle.pflow.json")
    assert kind.flow.steps["in"].node_type.file == str(flows / "sub" / "deep" / "inner.pflow.json")
    assert "prompt" in kind.interface.reads


@pytest.mark.parametrize("ring", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_flow_that_holds_itself_says_by_which_way(flows, ring):
    for name, after in zip(ring, [*ring[1:], ring[0]], strict=True):
        put(flows / f"{name}.pflow.json", {"id": "x", "type": f"./{after}.pflow.json"})
    with pytest.raises(PflowError) as caught:
        _ = FlowCatalog(str(flows)).find("./a.pflow.json").interface
    way = " → ".join(f"{name}.pflow.json" for name in [*ring, ring[0]])
    assert caught.value.message.endswith(f"it contains itself: {way}")
    assert caught.value.exit == 65


def test_flows_may_be_nested_a_hundred_deep(flows):
    put(flows / "f0.pflow.json", DRAFT)
    for depth in range(1, 101):
        put(flows / f"f{depth}.pflow.json", {"id": "x", "type": f"./f{depth - 1}.pflow.json"})
    found = FlowCatalog(str(flows)).find("./f100.pflow.json").interface
    assert "prompt" in found.reads
    assert found.pipe_write is not None


def test_a_flow_that_has_changed_is_loaded_anew_once_kinds_are_forgotten(flows):
    file = put(flows / "it.pflow.json", DRAFT)
    assert "prompt" in FlowCatalog().find(file).interface.reads
    put(flows / "it.pflow.json", SAVE)
    forget_types()
    assert list(FlowCatalog().find(file).interface.reads) == ["content"]


def test_a_default_is_as_the_type_of_its_input_has_it(flows):
    inputs = {"part": {"type": "float", "default": 2}, "odd": {"type": "int", "default": "x"}}
    reads = interface(flows, DRAFT, inputs=inputs).reads
    assert [repr(reads[name].default) for name in inputs] == ["2.0", "'x'"]  # PF13 tells of the other
