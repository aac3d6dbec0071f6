"""Flows as flowcharts of Mermaid, whatever their steps are called."""

import re

import yaml
from hypothesis import example, given

from pflow.export.dot import drawn
from tests.export.drawing import FLOW, called, names, picture
from tests.export.hostile import every_place, exported, few, hostile, printable


def test_a_flowchart_shows_steps_nodes_and_actions(assert_screen):
    assert_screen("flow.mmd", picture("mermaid", FLOW))


@given(names)
def test_any_name_is_one_label_of_a_flowchart(name):
    lines = picture("mermaid", called(name)).splitlines()
    label = re.fullmatch(r'    n1\["([^"]*)<br/>read-file"\]', lines[1])[1]
    assert not set(label) & set("<>`\\")
    assert len(lines) == 4


@every_place
@few
@given(hostile)
@example("%%{init: {}}%%")
def test_a_flowchart_shows_these_steps_and_edges_and_nothing_else(make, text):
    code, wired = exported("mermaid", make, text)
    if code:
        boxes, arrows = drawn(wired)
        labels = {box.name: [printable(line) for line in box.label] for box in boxes}
        assert read_mermaid(code) == (
            labels,
            [(source, target, printable(action)) for source, target, action in arrows],
        )


def read_mermaid(code):
    """The labels of the nodes, and the edges, of a flowchart of Mermaid."""
    assert "%%" not in code  # it takes %%{…}%% for a directive, wherever it stands
    if code.startswith("---\n"):
        _, title, code = code.split("---\n", 2)
        assert list(yaml.safe_load(title)) == ["title"]
    first, *lines = code.removesuffix("\n").split("\n")
    assert first == "flowchart TD"
    labels, edges = {}, []
    for line in lines:
        if found := re.fullmatch(r'    (\w+)\["([^"]*)"\]', line):
            labels[found[1]] = [shown_by_mermaid(each) for each in found[2].split("<br/>")]
        else:
            found = re.fullmatch(r'    (\w+) (?:-->|-- "([^"]*)" -->|-\. "([^"]*)" \.->) (\w+)', line)
            edges.append((found[1], found[4], shown_by_mermaid(found[2] or found[3] or "")))
    return labels, edges


def shown_by_mermaid(label):
    assert not set(label) & set("<>&`")
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label)
