"""Wiring: where each read comes from, where each write goes, what the flow needs."""

from itertools import pairwise

import pytest

from pflow.binding.sources import Constant, TemplateSource
from pflow.catalog.find import forget_types
from pflow.flow.flow import Batch, Edge, FlowSpec, Input, Step
from pflow.flow.pipe.carry import carried_behind
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes, put_node

NODES = {
    "fetch": """
    - Reads: shared["issue_number"]: int [flag issue]  # the issue
    - Writes: shared["issue_data"]: dict{title: str, labels: list[str]}  # what it says
    - Writes: shared["raw"]: bytes [pipe]  # as it came
    - Params: token: str = null [secret] [env FETCH_TOKEN]  # who asks""",
    "say": """
    - Reads: shared["prompt"]: str [pipe]  # what to ask
    - Reads: shared["tone"]: str = "dry"  # how
    - Writes: shared["response"]: str [pipe]  # the answer
    - Params: temperature: float = 0.5  # how freely""",
    "split": """
    - Reads: shared["text"]: str [pipe]  # what to split
    - Writes: shared["parts"]: list[str] [pipe]  # the parts""",
    "save": """
    - Reads: shared["content"]: any [pipe]  # what
    - Reads: shared["path"]: path [explicit]  # where
    - Reads: shared["note"]: str = null [own] [verbatim]  # a remark""",
    "join": """
    - Reads: shared["parts"]: list[str] [pipe]  # what to join
    - Writes: shared["joined"]: str [pipe]  # all of it""",
    "early": '\n    - Writes: shared["late"]: str',
    "open_one": None,
}


@pytest.fixture(autouse=True)
def nodes(tmp_path):
    with own_nodes(tmp_path, NODES):
        yield


def plan(*steps, edges=None, **members):
    """The plan of a flow of these steps: a chain, or with these edges (`a-b`, `a-b:action`)."""
    for at, step in enumerate(steps):
        step.location = f"nodes[{at}]"
    pairs = [(one.id, other.id, "default") for one, other in pairwise(steps)]
    if edges is not None:
        parted = [edge.partition(":") for edge in edges]
        pairs = [(*ends.split("-"), action or "default") for ends, _, action in parted]
    flow = FlowSpec(list(steps), [Edge(*pair) for pair in pairs])
    for name, value in members.items():
        setattr(flow, name, value)
    return wire(flow)


def places(plan, step, key):
    """The places that a read looks at; None where it takes the store's key of its name."""
    source = plan.steps[step].sources.get(key)
    return None if source is None else list(source.paths)


def troubles(plan):
    return [(each.trouble, each.remedy) for each in plan.references if each.trouble]


def test_a_bare_required_read_of_the_first_step_is_an_input():
    needed = plan(Step("fetch", "fetch")).inputs["issue_number"]
    assert (needed.required, needed.flag, str(needed.type), needed.doc) == (True, "--issue", "int", "the issue")
    assert (needed.declared, needed.readers, needed.step) == (False, [("fetch", "issue_number")], None)


def test_a_param_of_its_name_stands_in_for_a_read():
    assert not plan(Step("say", "say", params={"prompt": "hi"})).inputs["prompt"].required


def test_an_explicit_read_is_an_input_of_its_step_alone():
    found = plan(Step("one", "save"), Step("two", "save"))
    assert [(name, given.step, given.path) for name, given in found.inputs.items() if given.step] == [
        ("path", "one", ("path",)),
        ("two.path", "two", ("path",)),
    ]


def test_the_value_of_an_input_goes_to_the_store_or_to_the_one_step_that_it_is_for():
    inputs = plan(Step("one", "save"), Step("two", "save")).inputs
    store, data = {}, {}
    for name, value in {"content": "x", "path": "a.txt", "two.path": "b.txt"}.items():
        inputs[name].give(value, store, data)
    assert (store, data) == ({"content": "x"}, {"one": {"path": "a.txt"}, "two": {"path": "b.txt"}})


@pytest.mark.parametrize(
    "step", [Step("save", "save", inputs={"path": "x"}), Step("save", "save", input_mappings={"path": "where"})]
)
def test_an_explicit_read_that_something_gives_is_no_input_of_its_own(step):
    assert "path" not in plan(step).inputs


def test_a_path_with_a_steps_id_moves_that_write_under_it():
    found = plan(Step("a", "say"), Step("b", "say", input_mappings={"prompt": "a.response"}))
    assert found.steps["a"].targets == {"response": ("a", "response")}
    assert places(found, "b", "prompt") == [("a", "response")]
    assert found.steps["b"].targets == {}


def test_a_moved_write_is_found_by_its_name_where_it_went():
    found = plan(
        Step("a", "split"),
        Step("b", "say", input_mappings={"prompt": "a.parts[0]"}),
        Step("c", "join"),
        Step("d", "save", inputs={"path": "$parts"}),
    )
    assert places(found, "c", "parts") == places(found, "d", "path") == [("a", "parts")]
    assert found.steps["c"].sources["parts"].is_optional
    assert "parts" not in found.inputs


def test_a_steps_own_mapping_stays_and_its_id_then_means_that_target():
    found = plan(
        Step("a", "say", output_mappings={"response": "analysis"}),
        Step("b", "say", input_mappings={"prompt": "a.response"}),
        Step("c", "say", input_mappings={"prompt": "analysis"}),
    )
    assert found.steps["a"].targets == {"response": ("analysis",)}
    assert places(found, "b", "prompt") == places(found, "c", "prompt") == [("analysis",)]
    assert troubles(found) == []


def test_inputs_are_constants_or_templates_and_verbatim_ones_never_templates():
    found = plan(
        Step("a", "say", inputs={"prompt": "costs $$5", "tone": "$mood"}),
        Step("s", "save", inputs={"path": "f", "note": "costs $5, $path"}),
    )
    sources = {**found.steps["a"].sources, **found.steps["s"].sources}
    assert isinstance(sources["prompt"], Constant)
    assert sources["prompt"].value == "costs $5"
    assert isinstance(sources["tone"], TemplateSource)
    assert (type(sources["note"]), sources["note"].value) == (Constant, "costs $5, $path")


def test_an_input_of_a_step_comes_before_its_mapping():
    found = plan(Step("a", "say", inputs={"prompt": "given"}, input_mappings={"prompt": "mapped"}))
    assert found.steps["a"].sources["prompt"].find({"mapped": "no"}) == "given"


def test_a_mapping_to_what_nothing_writes_is_an_input_under_the_reads_flags():
    needed = plan(Step("f", "fetch", input_mappings={"issue_number": "number"})).inputs["number"]
    assert (str(needed.type), needed.required) == ("int", True)
    assert needed.flags == ["issue_number", "issue"]
    assert needed.flag == "--number"


def test_declared_inputs_are_all_there_are():
    inputs = {"topic": Input("topic", type="str", description="of what", default="x", has_default=True)}
    found = plan(
        Step("a", "say", input_mappings={"prompt": "topic"}),
        Step("b", "split", input_mappings={"text": "nope"}),
        inputs=inputs,
    )
    given = found.inputs["topic"]
    assert (given.declared, given.required, given.default, given.doc) == (True, False, "x", "of what")
    assert list(found.inputs) == ["topic"]
    assert troubles(found)[0][0] == "nothing writes 'nope'"


def test_the_first_steps_unfilled_pipe_read_takes_the_pipe():
    found = plan(Step("a", "say"), Step("b", "split"))
    assert found.first_read == ("a", "prompt")
    assert found.is_given_by_pipe(found.inputs["prompt"])
    assert plan(Step("a", "say", inputs={"prompt": "hi"})).first_read is None
    assert plan(Step("f", "fetch")).first_read is None


def test_stdin_is_always_there_to_be_mapped():
    found = plan(Step("f", "fetch"), Step("a", "say", input_mappings={"prompt": "stdin"}))
    assert [reference.input for reference in found.references] == ["stdin"]
    assert "stdin" not in found.inputs


def test_a_data_flag_is_stored_under_its_key_or_with_a_step_that_moved_whole():
    plain = plan(Step("a", "say", inputs={"prompt": "hi"})).steps["a"]
    moved = plan(Step("a", "say", inputs={"prompt": "hi"}), Step("b", "split", input_mappings={"text": "a.response"}))
    assert (plain.is_moved, plain.data_place("prompt")) == (False, ("prompt",))
    assert (moved.steps["a"].is_moved, moved.steps["a"].data_place("prompt")) == (True, ("a", "prompt"))


def test_a_batch_has_the_type_of_what_it_runs_over():
    found = plan(Step("s", "split"), Step("each", "say", batch=Batch("s.parts", "prompt")))
    wired = found.steps["each"]
    assert (str(wired.over_type), str(wired.item_type)) == ("list[str]", "str")
    assert wired.over.paths == (("s", "parts"),)
    assert places(found, "each", "prompt") == [("prompt",)]
    assert "prompt" not in found.inputs


def test_a_batchs_item_is_there_for_mappings_and_templates():
    found = plan(
        Step("s", "split"),
        Step(
            "each", "say", batch=Batch("s.parts", "part"), input_mappings={"prompt": "template:About $part: ${part.x}"}
        ),
    )
    items = [reference for reference in found.references if reference.is_item]
    assert [reference.path for reference in items] == [("part",), ("part", "x")]
    assert str(found.type_of(items[0])) == "str"
    assert "part" not in found.inputs


@pytest.mark.parametrize("path", ["each.errors", "each.error.message"])
def test_what_the_engine_writes_under_a_step_can_be_read(path):
    found = plan(
        Step("s", "split"),
        Step("each", "say", batch=Batch("s.parts", "prompt", on_error="keep")),
        Step("save", "save", inputs={"path": "f"}, input_mappings={"content": path}),
    )
    assert troubles(found) == []


def test_outputs_are_read_at_the_end():
    found = plan(Step("a", "say"), outputs={"answer": "a.response", "said": "template:<${a.response}>"})
    assert found.steps["a"].targets == {"response": ("a", "response")}
    assert found.outputs["answer"].find({"a": {"response": "x"}}) == "x"
    assert found.outputs["said"].find({"a": {"response": "x"}}) == "<x>"
    assert str(found.output_type("answer")) == "str"


def test_the_pipe_carries_the_only_output_else_the_last_steps_pipe_write():
    save = Step("save", "save", inputs={"path": "f"})
    assert carried_behind(plan(Step("a", "say"), save)) == "response"
    assert carried_behind(plan(Step("a", "say"), save, outputs={"it": "a.response"})) == "it"
    assert carried_behind(plan(Step("a", "say"), save, outputs={"it": "a.response", "as_well": "a.usage"})) == "it"
    assert carried_behind(plan(save)) is None


def test_nothing_is_carried_out_of_a_fork():
    steps = [Step(id, "say", output_mappings={"response": f"{id}.said"}) for id in "abc"]
    assert carried_behind(plan(*steps, edges=["a-b", "a-c"])) == "a.said"
    assert carried_behind(plan(*steps, Step("d", "say"), edges=["a-b", "a-c", "b-d", "c-d"])) == "response"


def flags_of(plan):
    return {name: given.flag for name, given in plan.inputs.items()}


def test_an_input_that_nobody_named_is_shown_under_its_shortest_flag():
    assert flags_of(plan(Step("f", "fetch"))) == {"issue_number": "--issue"}


def test_the_name_that_a_person_gave_is_the_flag_however_the_flow_grows():
    steps = [
        Step("a", "say", inputs={"prompt": "$the_question"}),
        Step("b", "say", inputs={"prompt": "$its"}),
        Step("c", "say", inputs={"prompt": "$the_question, and $temperature"}),
        Step("d", "fetch", inputs={"issue_number": "$issue_number"}),
    ]
    for count in range(1, 5):
        named = {name: flag for name, flag in flags_of(plan(*steps[:count])).items() if name != "tone"}
        assert named == {name: f"--{name.replace('_', '-')}" for name in named}
        assert len(named) == count
    for inputs in ({"the_question": Input("str")}, {}):
        mapped = plan(Step("a", "say", input_mappings={"prompt": "the_question"}), inputs=inputs)
        assert flags_of(mapped)["the_question"] == "--the-question"


def test_a_flag_that_fits_several_is_not_the_one_that_is_shown():
    steps = [Step(id, "say", input_mappings={"prompt": f"{id}_prompt"}) for id in ("one", "two")]
    flags = flags_of(plan(*steps))
    assert (flags["one_prompt"], flags["two_prompt"]) == ("--one-prompt", "--two-prompt")
    clash = Step("a", "say", input_mappings={"prompt": "temperature"})
    assert flags_of(plan(clash, inputs={"temperature": Input("str")})) == {"temperature": "--temperature"}


def test_an_open_node_may_write_whatever_is_read_after_it():
    found = plan(Step("o", "open-one"), Step("a", "say"), Step("b", "split", input_mappings={"text": "o.anything"}))
    assert not found.inputs["prompt"].required
    assert troubles(found) == []
    assert places(found, "b", "text") == [("anything",)]


def test_a_node_that_is_not_there_is_open_and_has_no_kind(tmp_path):
    (tmp_path / "broken.py").write_text("class (")
    forget_types()
    found = plan(Step("x", "no-such-node"), Step("y", "broken"))
    assert (found.steps["x"].node_type, found.steps["x"].fault, found.steps["x"].interface.open) == (None, "", True)
    assert found.steps["y"].node_type is None
    assert "broken.py" in found.steps["y"].fault


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (Step("login", "login"), "key"),
        (Step("login", "login", input_mappings={"key": "pass"}), "pass"),
        (Step("login", "login", input_mappings={"key": "pass.word"}), "pass"),
        (Step("login", "login", input_mappings={"key": "template:${pass}!"}), "pass"),
        (Step("login", "login", inputs={"key": "x"}, params={"token": "$pass"}), "pass"),
        (Step("login", "login", inputs={"key": "x"}, params={"token": "Bearer $pass"}), "pass"),
    ],
)
def test_an_input_that_gives_a_secret_is_a_secret(tmp_path, step, name):
    items = """
    - Reads: shared["key"]: str [secret]  # the key
    - Reads: shared["user"]: str = "me"  # who
    - Params: token: str = null [secret] [env LOGIN_TOKEN]  # who asks"""
    put_node(tmp_path, "login", items)
    inputs = plan(step).inputs
    assert [each for each, input in inputs.items() if input.secret] == [name]
    declared = plan(step, inputs={name: Input(name), "user": Input("user")}).inputs
    assert [each for each, input in declared.items() if input.secret] == [name]


def test_the_places_of_secrets_are_those_that_secret_reads_params_and_items_come_from(tmp_path):
    items = """
    - Reads: shared["key"]: str [secret]  # the key
    - Params: token: str = null [secret] [env LOGIN_TOKEN]  # who asks"""
    put_node(tmp_path, "login", items)
    mapped = Step("a", "login", input_mappings={"key": "vault.a"}, params={"token": "${vault.b}"})
    each = Step("b", "login", batch=Batch("keys", "key"))
    plain = Step("c", "login", batch=Batch("users", "user"))
    wired = plan(mapped, each, plain)
    found = wired.steps
    assert [name for name, input in wired.inputs.items() if input.secret] == ["vault", "keys", "key"]
    assert [*found["a"].secret_paths()] == [("vault", "a"), ("vault", "b")]
    assert ("keys",) in found["b"].secret_paths()
    assert [*found["c"].secret_paths()] == [("key",)]


def test_an_input_of_an_explicit_secret_is_a_secret(tmp_path):
    put_node(tmp_path, "login", '\n    - Reads: shared["key"]: str [secret] [explicit]  # the key')
    assert plan(Step("login", "login")).inputs["key"].secret


def test_a_data_flag_never_stands_before_a_declared_input_of_its_name():
    steps = [Step("s", "save", inputs={"path": "out.md"}), Step("a", "say", input_mappings={"prompt": "path"})]
    given = plan(*steps, inputs={"path": Input("path", default="b.txt", has_default=True)})
    assert given.inputs["path"].readers == [("a", "prompt")]
    assert [reference.input for reference in given.references] == ["path"]
    may_be_missing = plan(*steps, inputs={"path": Input("path", required=False)})
    assert [write.step for reference in may_be_missing.references for write in reference.writes] == ["s"]
