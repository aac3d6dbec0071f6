"""The steps of a run that goes on: what they are called, what runs again with them, what later steps need of them."""

import pytest

from pflow.driver.resume.places import is_again, name_of, refuse_missing, steps_by_name
from pflow.errors import PflowError
from tests.engine.flows import plan_of, write_flow

LOOP = {
    "nodes": [{"id": id, "type": "shell", "inputs": {"command": "true"}} for id in ("a", "b", "c", "d")],
    "edges": [
        {"from": "a", "to": "b"},
        {"from": "b", "to": "c"},
        {"from": "c", "to": "b", "action": "again"},
        {"from": "c", "to": "d"},
    ],
}


@pytest.fixture
def outer(tmp_path):
    inner = {"nodes": [{"id": id, "type": "shell", "inputs": {"command": "true"}} for id in ("x", "y", "z")]}
    type = write_flow(tmp_path, "inner", inner)
    nodes = [LOOP["nodes"][0], {"id": "in", "type": type}, LOOP["nodes"][3]]
    return plan_of({"nodes": nodes}, str(tmp_path))


def test_steps_of_flows_in_a_flow_are_called_as_its_trace_calls_them(outer):
    assert list(steps_by_name(outer)) == ["a", "in", "in/x", "in/y", "in/z", "d"]
    assert name_of("in@1/y@2[ab.1]") == "in/y"
    assert name_of("in@1[ab.0]/y@1") == "in/y"


@pytest.mark.parametrize(
    ("name", "path", "again", "with_later"),
    [
        ("a", "a@1", True, True),
        ("in/y", "a@1", False, False),
        ("in/y", "in@1/x@1", False, False),
        ("in/y", "in@1/y@1", True, True),
        ("in/y", "in@1/y@1[ab.0]", True, True),
        ("in/y", "in@1/z@1", False, True),
        ("in/y", "in@1", True, True),
        ("in/y", "in@1[ab.0]", True, True),
        ("in/y", "d@1", False, True),
        ("in", "in@1/x@1", True, True),
        ("d", "in@1/x@1", False, False),
    ],
)
def test_what_runs_again_with_a_step(outer, name, path, again, with_later):
    assert is_again(outer, name, path, with_later=False) is again
    assert is_again(outer, name, path, with_later=True) is with_later


def test_in_a_loop_every_step_of_it_is_after_each():
    loop = plan_of(LOOP)
    assert [is_again(loop, "c", f"{id}@1", with_later=True) for id in "abcd"] == [False, True, True, True]


def test_the_failure_that_left_a_fork_goes_with_any_step_of_its_branches():
    nodes = [{"id": id, "type": "shell", "inputs": {"command": "true"}} for id in ("a", "b", "c", "d")]
    edges = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]
    fork = plan_of({"nodes": nodes, "edges": edges})
    assert [is_again(fork, id, "a@1:fork", with_later=False) for id in "abcd"] == [False, True, True, False]
    assert [is_again(fork, id, "a@1:fork", with_later=True) for id in "abcd"] == [True, True, True, False]


def skip(nodes: list[dict], id: str, *there: str, **more: object) -> str:
    flow = plan_of({"nodes": nodes, **more})
    try:
        refuse_missing(flow, flow.steps[id], lambda path: path[0] in there)
    except PflowError as error:
        return f"{error.message} ({error.exit})"
    return ""


SAYS = {"id": "says", "type": "shell", "inputs": {"command": "true"}}
TAKES = {"id": "takes", "type": "write-file", "inputs": {"path": "o", "content": "${says.stdout}"}}
BY_NAME = {"id": "takes", "type": "write-file", "inputs": {"path": "o"}}
NEEDED = "cannot skip 'says': 'takes' needs '{}', which it would have written (66)"


@pytest.mark.parametrize(
    ("nodes", "there", "fault"),
    [
        ([SAYS, TAKES], "", NEEDED.format("stdout")),
        ([SAYS, TAKES], "says", ""),
        ([SAYS, {**SAYS, "id": "other"}], "", ""),
        ([{"id": "says", "type": "read-file", "inputs": {"path": "i"}}, BY_NAME], "", NEEDED.format("content")),
        ([{"id": "says", "type": "read-file", "inputs": {"path": "i"}}, BY_NAME], "content", ""),
        ([TAKES, SAYS], "", ""),
    ],
)
def test_no_step_is_skipped_whose_writes_a_later_one_needs(nodes, there, fault):
    assert skip(nodes, "says", there) == fault


def test_a_step_with_another_to_take_its_place_may_be_skipped():
    nodes = [{"id": "first", "type": "shell", "inputs": {"command": "true"}}, SAYS, BY_NAME]
    mappings = {"takes": {"input_mappings": {"content": ["first.stdout", "says.stdout"]}}}
    assert skip(nodes, "says", mappings=mappings) == ""


def test_what_an_output_alone_needs_may_be_skipped():
    assert skip([SAYS], "says", outputs={"said": "says.stdout"}) == ""
