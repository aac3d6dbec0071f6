"""What is decided before a run goes on, and the records that say so."""

import pytest

from pflow.driver.decisions import Decision, ResumeFlags, is_again, refuse_missing, steps_by_name
from pflow.errors import PflowError
from pflow.record.records import Records, compacted, step_name
from tests.engine.flows import plan_of, write_flow

COMMAND = {"type": "shell", "inputs": {"command": "true"}}
BEGIN = {"begin": "R", "v": 1}


def end(*paths: str) -> list[dict]:
    return [{"end": path} for path in paths]


@pytest.fixture
def decide(tmp_path):
    """The records that choices lead to, or what is said instead, for a flow a → in/x → in/y → b ⇄ c."""
    type = write_flow(tmp_path, "inner", {"nodes": [{"id": id, **COMMAND} for id in "xy"]})
    nodes = [{"id": "a", **COMMAND}, {"id": "in", "type": type}, {"id": "b", **COMMAND}, {"id": "c", **COMMAND}]
    edges = [{"from": "a", "to": "in"}, {"from": "in", "to": "b"}, {"from": "b", "to": "c"}]
    flow = plan_of({"nodes": nodes, "edges": [*edges, {"from": "c", "to": "b", "action": "again"}]}, str(tmp_path))

    def made(records: list[dict], **choices: object) -> object:
        known = Records([BEGIN, *records])
        try:
            found = [*Decision("R", flow, known, ResumeFlags(**choices)).decide(lambda path: False)]
        except PflowError as error:
            return error.exit, error.message
        for record in found:
            known.add(record)
        return {*known.done}, {*known.interrupted}

    return made


START = {"start": "b@1"}
DROPPED = {"end": "b@1", "changes": [[["x"], None]], "dropped": True}
LOST = "cannot run 'c' again: the result of 'b' in an earlier round is not kept"
COMPACT = "cannot run 'in/x' again: only the final result of 'in' is kept"
ROUND = ["in@1/x@1", "in@2/x@1"]
ROUNDS = end("a@1", "in@1/x@1", "in@1/y@1", "in@1", "b@1", "c@1", "b@2")


@pytest.mark.parametrize(
    ("records", "choices", "result"),
    [
        (end("a@1"), {}, ({"a@1"}, set())),
        ([*end("a@1"), START], {"redo": {"b"}}, ({"a@1"}, set())),
        ([*end("a@1"), START], {"skip": {"b"}}, ({"a@1", "b@1"}, set())),
        ([*end("b@1[k.0]"), {"start": "b@1[k.1]"}], {"skip": {"b"}}, ({"b@1[k.0]", "b@1[k.1]"}, set())),
        ([{"start": "in@1/x@1"}], {"redo": {"in/x"}}, (set(), set())),
        (ROUNDS, {"only": "b"}, ({"a@1", "in@1/x@1", "in@1/y@1", "in@1", "c@1"}, set())),
        (ROUNDS, {"start": "b"}, ({"a@1", "in@1/x@1", "in@1/y@1", "in@1"}, set())),
        (ROUNDS, {"start": "c"}, ({"a@1", "in@1/x@1", "in@1/y@1", "in@1", "b@1"}, set())),
        (ROUNDS, {"start": "in/y"}, ({"a@1", "in@1/x@1"}, set())),
        (ROUNDS, {"only": "in/x"}, ({"a@1", "in@1/y@1", "b@1", "c@1", "b@2"}, set())),
        (ROUNDS, {"start": "in"}, ({"a@1"}, set())),
        ([*end("a@1"), START], {"start": "b"}, ({"a@1"}, set())),
        ([*end("a@1"), START], {"start": "a"}, (set(), set())),
        ([*end("a@1"), DROPPED, *end("c@1", "b@2", "c@2")], {"only": "c"}, (66, LOST)),
        ([*end("a@1"), DROPPED, *end("c@1", "b@2", "c@2")], {"start": "c"}, (66, LOST)),
        ([*end("a@1"), DROPPED, *end("c@1", "b@2", "c@2")], {"start": "b"}, ({"a@1"}, set())),
        ([DROPPED, *end("b@2", "a@1")], {"only": "a"}, ({"b@1", "b@2"}, set())),
        (end("a@1"), {"only": "c"}, (1, "cannot run 'c' again: it has not run yet")),
        (end("a@1", "in@1"), {"only": "in/x"}, (66, COMPACT)),
        (end("in@1[k.0]", "in@1[k.1]/x@1", "in@1[k.1]"), {"only": "in/x"}, (66, COMPACT)),
        (end("in@1/x@1", "in@1", "in@2/x@1", "in@2/y@1", "in@2"), {"only": "in/y"}, ({*ROUND, "in@1"}, set())),
        (end("a@1"), {"redo": {"a"}}, (2, "cannot take --redo=a: it was not interrupted")),
        ([START], {"redo": {"b"}, "skip": {"b"}}, (2, "cannot take --redo and --skip for 'b'")),
        (end("a@1"), {"start": "nope"}, (2, "cannot take --from=nope: no such step")),
    ],
)
def test_choices_become_records(decide, records, choices, result):
    assert decide(records, **choices) == result


def test_a_large_batch_is_forgotten_as_one():
    flow = plan_of({"nodes": [{"id": "b", **COMMAND}]})
    known = Records([BEGIN, *end(*(f"b@1[{number}.0]" for number in range(1000)))])
    decided = Decision("R", flow, known, ResumeFlags(only="b")).decide(lambda path: False)
    assert list(decided) == [{"again": "b@1"}]


def test_what_is_not_decided_is_named_with_all_its_items(decide):
    records = [START, {"start": "c@1[k.0]"}, {"start": "c@1[k.1]"}, {"start": "in@1/x@1[k.0]"}]
    assert decide(records) == (
        65,
        "cannot resume the run R: 'b' (shell) was interrupted, and may not repeat; 'c' (shell) was interrupted at 2 of "
        "its items, and may not repeat; 'in/x' (shell) was interrupted at one of its items, and may not repeat",
    )


def test_a_step_of_a_loop_whose_rounds_were_replaced_does_not_run_again_alone(decide):
    rounds = [{"end": f"{id}@{number}", "changes": [[[id], number]]} for number in range(1, 5) for id in "bc"]
    kept = [*compacted([BEGIN, *end("a@1", "in@1"), *rounds])][1:]
    assert kept[2] == {"end": "b@1", "changes": [[["b"], None]], "dropped": True}
    changed = [*compacted([BEGIN, *kept, {"end": "b@5", "action": "x"}, {"end": "c@5", "action": "x"}])][1:]
    assert changed[2:8] == kept[2:8]
    assert decide(changed, start="c")[0] == 66
    assert decide(changed, start="b")[0] == {"a@1", "in@1"}


def test_what_failed_items_need_to_run_again_outlasts_compaction():
    failed = {"end": "in@1/x@1[k.1]", "error": {"exit": 1, "message": "no"}}
    ends = [*end("a@1", "in@1/x@1[k.0]"), failed, *end("in@1/x@1", "in@1", "c@1[k.0]", "c@1")]
    assert [*compacted([BEGIN, *ends])][1:] == [*ends[:5], ends[6]]


def test_of_later_batches_only_one_that_takes_more_than_its_items_runs_again_as_a_whole():
    batch = {"over": "xs", "as": "x"}
    nodes = [
        {"id": "b", **COMMAND, "batch": {**batch, "on_error": "keep"}},
        {"id": "c", "type": "shell", "inputs": {"command": "true", "args": ["${b.errors}"]}, "batch": batch},
        {"id": "d", "type": "shell", "inputs": {"command": "true", "args": ["${x}"]}, "batch": batch},
    ]
    failed = {"end": "b@1[k.1]", "error": {"exit": 1, "message": "no"}}
    known = Records([BEGIN, *end("b@1[k.0]"), failed, *end("b@1", "c@1[k.0]", "c@1", "d@1[k.0]", "d@1")])
    flow = plan_of({"inputs": {"xs": {"type": "list"}}, "nodes": nodes})
    decided = Decision("R", flow, known, ResumeFlags(failed=True)).decide(lambda path: False)
    assert list(decided) == [{"again": "b@1[k.1]"}, {"failed": "b@1"}, {"again": "c@1"}, {"failed": "d@1"}]


NODES = [{"id": id, **COMMAND} for id in "abcd"]


@pytest.fixture
def outer(tmp_path):
    type = write_flow(tmp_path, "inner", {"nodes": [{"id": id, **COMMAND} for id in "xyz"]})
    return plan_of({"nodes": [NODES[0], {"id": "in", "type": type}, NODES[3]]}, str(tmp_path))


def test_steps_of_flows_in_a_flow_are_called_as_its_trace_calls_them(outer):
    assert list(steps_by_name(outer)) == ["a", "in", "in/x", "in/y", "in/z", "d"]
    assert step_name("in@1/y@2[ab.1]") == "in/y"
    assert step_name("in@1[ab.0]/y@1") == "in/y"


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
    edges = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}, {"from": "c", "to": "d"}]
    loop = plan_of({"nodes": NODES, "edges": [*edges, {"from": "c", "to": "b", "action": "again"}]})
    assert [is_again(loop, "c", f"{id}@1", with_later=True) for id in "abcd"] == [False, True, True, True]


def test_the_failure_that_left_a_fork_goes_with_any_step_of_its_branches():
    edges = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]
    fork = plan_of({"nodes": NODES, "edges": edges})
    assert [is_again(fork, id, "a@1:fork", with_later=False) for id in "abcd"] == [False, True, True, False]
    assert [is_again(fork, id, "a@1:fork", with_later=True) for id in "abcd"] == [True, True, True, False]


def skip(nodes: list[dict], id: str, *there: str, **more: object) -> str:
    flow = plan_of({"nodes": nodes, **more})
    try:
        refuse_missing(flow, flow.steps[id], lambda path: path[0] in there)
    except PflowError as error:
        return f"{error.message} ({error.exit})"
    return ""


SAYS = {"id": "says", **COMMAND}
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
    nodes = [{"id": "first", **COMMAND}, SAYS, BY_NAME]
    mappings = {"takes": {"input_mappings": {"content": ["first.stdout", "says.stdout"]}}}
    assert skip(nodes, "says", mappings=mappings) == ""


def test_what_an_output_alone_needs_may_be_skipped():
    assert skip([SAYS], "says", outputs={"said": "says.stdout"}) == ""
