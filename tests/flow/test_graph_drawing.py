"""The drawing of a flow: whoever follows its lines finds its edges."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.explain.drawing import draw
from pflow.flow.flow import Batch, Edge, Flow, Step
from pflow.flow.wiring import wire
from pflow.terminal.columns import cells, in_ascii


def plan(steps, *edges):
    """A plan of steps of one letter: `ab` is an edge from a to b, `ab:bad` one for an action."""
    parted = [edge.partition(":") for edge in edges]
    return wire(
        Flow(
            [Step(id, "shell", place=f"nodes[{at}]") for at, id in enumerate(steps)],
            [Edge(ends[0], ends[1], action or "default") for ends, _, action in parted],
        )
    )


def drawn(*args):
    return draw(plan(*args), 80)


def test_a_chain_is_a_line():
    assert drawn("abc", "ab", "bc") == "1 a (shell)\n│\n2 b (shell)\n│\n3 c (shell)\n"


def test_one_step_is_a_name_and_no_step_is_nothing():
    assert drawn("a") == "1 a (shell)\n"
    assert draw(wire(Flow([], [])), 80) == ""


def test_a_fork_goes_out_in_one_line_and_meets_in_another():
    assert drawn("abcd", "ab", "ac", "bd", "cd").split("\n") == [
        "1 a (shell)",
        "╰─ at once ──────────────────╮",
        "                             │",
        "2 b (shell) ◀────────────────┤",
        "╰─────────────────────────╮  │",
        "                          │  │",
        "3 c (shell) ◀─────────────┼──╯",
        "│                         │",
        "4 d (shell) · all meet ◀──╯",
        "",
    ]


def test_steps_stand_in_the_order_of_the_file_or_as_they_run_where_that_needs_fewer_lines():
    assert [line[2] for line in drawn("acb", "ab", "bc").split("\n") if line[:1].isdigit()] == ["a", "b", "c"]
    assert [line[2] for line in drawn("abc", "ac", "ab:bad").split("\n") if line[:1].isdigit()] == ["a", "b", "c"]


def test_what_a_step_is_stands_beside_it():
    flow = Flow(
        [Step("shell", "shell"), Step("each", "llm", batch=Batch("files")), Step("odd", "nope"), Step("alone", "llm")],
        [Edge("shell", "each"), Edge("each", "odd")],
    )
    lines = [line for line in draw(wire(flow), 80).split("\n") if line[:1].isdigit()]
    assert lines == ["1 shell", "2 each (llm) × files", "3 odd (nope) ?", "4 alone (llm) · never runs"]


def test_a_fork_of_fifty_branches_is_narrow():
    ids = [f"b{n}" for n in range(50)]
    edges = [Edge("fork", id) for id in ids] + [Edge(id, "meet") for id in ids]
    text = draw(wire(Flow([Step(id, "llm") for id in ["fork", *ids, "meet"]], edges)), 80)
    assert edges_of(text) == {(edge.source, edge.action, edge.target) for edge in edges}
    assert max(map(cells, text.split("\n"))) <= 80


def test_long_names_and_what_a_terminal_would_obey_are_cut_and_escaped():
    flow = Flow(
        [Step("a" * 200, "llm"), Step("b\x1b[2J", "猫" * 60)], [Edge("a" * 200, "b\x1b[2J", "on\x07" + "x" * 90)]
    )
    text = draw(wire(flow), 80)
    assert max(map(cells, text.split("\n"))) <= 80
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]


@pytest.mark.parametrize("steps", [("abcd", "ab", "ac", "bd", "cd", "da:again")])
def test_in_ascii_joints_are_plus_and_lines_that_cross_are_not(steps):
    text = in_ascii(drawn(*steps))
    assert text.isascii()
    assert "at once" in text
    assert edges_of(text, joints="+") == edges_of(drawn(*steps))


STEP = re.compile(r" *\d+ (\S+)")
PORT = re.compile(r" *[├╰+][─-](?: (.+?) (?=[─-]))?")
DOWN = re.compile(r"[│|](?: (\S+))?")


def edges_of(text, joints="╮╯┤"):
    """The edges of a drawing, found by following its lines from each step as a reader would."""
    lines = text.split("\n")
    steps = {row: found[1] for row, line in enumerate(lines) if (found := STEP.match(line))}
    margin = len(str(len(steps))) - 1
    edges = set()
    step = ""
    for row, line in enumerate(lines):
        step = steps.get(row, step)
        if row in steps:
            continue
        if port := PORT.match(line):
            action = (port[1] or "").removesuffix("at once").rstrip(", ")
            ends = joined(lines, row, max(line.rindex(sign) for sign in joints if sign in line), joints)
            edges |= {(step, action or "default", steps[end]) for end in ends if end in steps}
        elif (down := DOWN.match(line[margin:])) and row + 1 in steps:
            edges.add((step, down[1] or "default", steps[row + 1]))
    return edges


def joined(lines, row, column, joints):
    """Every row whose line ends at the lane that stands in this column of this row."""
    up, down = ("╯┤│┼", "╮┤│┼") if joints != "+" else ("+|", "+|")
    sign = {at: line[column] for at, line in enumerate(lines) if column < len(line)}
    rows = set()
    for step, here, there in ((-1, up, down), (1, down, up)):
        at = row
        while sign[at] in here and sign.get(at + step, " ") in there:
            at += step
            rows |= {at} if sign[at] in joints else set()
    return rows


ids = st.sampled_from("abcdefgh")
edges = st.lists(st.tuples(ids, ids, st.sampled_from(["default", "bad", "on"])), max_size=18, unique=True)


@given(edges)
def test_whoever_follows_the_lines_finds_the_edges(edges):
    flow = Flow([Step(id, "shell") for id in "abcdefgh"], [Edge(one, other, action) for one, other, action in edges])
    text = draw(wire(flow), 80)
    there = {(one, action, other) for one, other, action in edges}
    assert edges_of(text) == edges_of(in_ascii(text), joints="+") == there
    assert not [line for line in text.split("\n") if line != line.rstrip()]
