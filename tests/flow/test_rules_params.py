"""PF13: params, inputs and mappings by name, and the values of the first two."""

import pytest

from tests.flow.checked import flow, found, only, told


def ask(**members):
    return flow("fetch", {"id": "ask", "type": "ask", **members})


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"params": {"model": "m", "temperature": 1, "prompt": "a read"}}, []),
        ({"params": {"modle": "m"}}, ["PF13 nodes[1].params.modle"]),
        ({"inputs": {"prompt": "p", "text": [1]}}, []),
        ({"inputs": {"promt": "p"}}, ["PF13 nodes[1].inputs.promt"]),
        ({"inputs": {"model": "m"}}, ["PF13 nodes[1].inputs.model"]),
        ({"params": {"input_key": "x", "output_key": "y"}}, []),
        ({"config": {"whatever": 1}, "input_bindings": {}, "output_bindings": {}}, []),
        ({"type": "anything", "params": {"x": 1}, "inputs": {"y": 1}}, ["PF11? nodes[1].type"]),
    ],
)
def test_params_and_inputs_have_names_that_the_node_knows(members, expected):
    assert [each for each in found(ask(**members)) if "PF10" not in each] == expected


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"input_mappings": {"prompt": "fetch.issue_data.body"}, "output_mappings": {"answer": "x.y"}}, []),
        ({"input_mappings": {"promt": "fetch.issue_data.body"}}, ["PF13 mappings.ask.input_mappings.promt"]),
        ({"input_mappings": {"model": "fetch.issue_data.body"}}, ["PF13 mappings.ask.input_mappings.model"]),
        ({"output_mappings": {"anser": "x.y"}}, ["PF13 mappings.ask.output_mappings.anser"]),
    ],
)
def test_mappings_have_names_that_the_node_knows(mapping, expected):
    assert found(flow("fetch", "ask", mappings={"ask": mapping})) == expected


@pytest.mark.parametrize(
    ("members", "remedy"),
    [
        ({"params": {"modle": "m"}}, "ask has no param or read 'modle'; did you mean model?"),
        ({"params": {"zzz": "m"}}, "there is model, temperature, style, prompt, text"),
        ({"inputs": {"promt": "p"}}, "ask does not read 'promt'; did you mean prompt?"),
        ({"inputs": {"model": "m"}}, 'it is a param: "params": {"model": …}'),
        ({"params": {"style": "fancey"}}, "it is 'fancey', not plain|fancy; did you mean fancy?"),
        ({"params": {"temperature": "0.5"}}, "it is a str, not float; write 0.5, without quotes"),
        ({"params": {"temperature": "hot"}}, "'temperature' does not fit: it is a str, not float; write a float"),
    ],
)
def test_the_nearest_name_or_value_is_given(members, remedy):
    assert remedy in only(ask(**members))


def test_a_misspelt_name_is_one_finding_though_the_read_is_needed():
    inputs = {"issue_number": {"type": "int"}}
    for members in ({"inputs": {"promt": "p"}}, {"params": {"promt": "p"}}):
        assert len(found({**ask(**members), "inputs": inputs})) == 1
    mappings = {"ask": {"input_mappings": {"promt": "fetch.issue_data.body"}}}
    assert len(found(flow("fetch", "ask", inputs=inputs, mappings=mappings))) == 1


@pytest.mark.parametrize(
    ("params", "fits"),
    [
        ({"temperature": 1}, True),
        ({"temperature": True}, False),
        ({"temperature": None}, False),
        ({"model": None}, True),
        ({"model": 4}, True),
        ({"model": ["a"]}, True),
        ({"style": "plain"}, True),
        ({"style": "PLAIN"}, False),
        ({"text": None}, True),
        ({"temperature": "$fetch.issue_data.votes"}, True),
        ({"temperature": "${fetch.issue_data.votes}"}, True),
        ({"temperature": "${fetch.issue_data.title}"}, True),
        ({"temperature": "${fetch.issue_data.labels}"}, False),
        ({"temperature": ["${fetch.issue_data.votes}"]}, False),
        ({"temperature": "${fetch.issue_data}"}, False),
        ({"temperature": "${unknown}"}, True),
        ({"model": "a ${fetch.issue_data}"}, True),
    ],
)
def test_a_value_or_a_template_is_of_the_type_of_its_param(params, fits):
    (name,) = params
    assert [each for each in found(ask(params=params)) if "PF13" in each] == (
        [] if fits else [f"PF13 nodes[1].params.{name}"]
    )


@pytest.mark.parametrize(
    ("value", "fits"),
    [(["a", "b"], True), ([], True), ("a", False), ([1], True), ([None], False), (["${x}", "y"], True), ({}, False)],
)
def test_a_value_is_of_the_type_of_its_read(value, fits):
    node = {"id": "count", "type": "count", "params": {"least": 2}, "inputs": {"items": value}}
    assert found(flow(node)) == ([] if fits else ["PF13 nodes[0].inputs.items"])


def test_a_secret_does_not_stand_in_a_flow():
    document = flow({"id": "fetch", "type": "fetch", "params": {"token": "hush"}})
    (finding,) = told(document)
    assert finding.startswith("nodes[0].params.token: PF13: 'token' is secret")
    assert "FETCH_TOKEN" in finding
    assert "hush" not in finding
    assert found(flow({"id": "fetch", "type": "fetch", "params": {"token": "$token"}})) == []
    assert found(flow({"id": "fetch", "type": "fetch", "params": {"token": None}})) == []


def test_a_param_without_a_default_that_nothing_gives_is_a_warning():
    count = {"id": "count", "type": "count", "inputs": {"items": []}}
    assert found(flow(count)) == ["PF13? nodes[0].params"]
    assert found(flow({**count, "params": {"laest": 1}})) == ["PF13 nodes[0].params.laest"]
    assert found(flow({**count, "params": {"least": 1}})) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "int", "default": 3}, []),
        ({"type": "int", "default": None}, []),
        ({"type": "int", "default": "3"}, ["PF13 inputs.issue_number.default"]),
        ({"type": "int", "default": 3.5}, ["PF13 inputs.issue_number.default"]),
        ({"default": "anything"}, []),
    ],
)
def test_the_default_of_an_input_is_of_its_type(given, expected):
    assert found(flow("fetch", inputs={"issue_number": given})) == expected
