"""Flows as graphs of Graphviz, whatever their steps are called."""

import json
import re

from hypothesis import given

from pflow.export.dot import drawn
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from tests.export.cases import chain, node
from tests.export.drawing import FLOW, called, names, picture
from tests.export.hostile import every_place, exported, few, hostile, printable


def test_a_graph_shows_steps_nodes_and_actions(assert_screen):
    assert_screen("flow.dot", picture("dot", FLOW))


def test_a_flow_in_a_flow_has_another_shape(tmp_path):
    (tmp_path / "in.pflow.json").write_text(json.dumps(chain(node("x", "read-file", inputs={"path": "a"}))))
    flow = load_text(json.dumps(chain(node("in", "in.pflow.json"))), "flow", FlowCatalog(str(tmp_path))).usable()
    assert 'n1[["in<br/>in.pflow.json"]]' in picture("mermaid", flow)
    assert 'n1 [label="in\\nin.pflow.json", shape=box3d]' in picture("dot", flow)


@given(names)
def test_any_name_is_one_string_of_a_graph(name):
    lines = picture("dot", called(name)).splitlines()
    label = re.fullmatch(r'    n1 \[label="((?:[^"\\]|\\["\\])*)\\nread-file"\];', lines[3])[1]
    shown = re.sub(r"\\(.)", r"\1", label).replace("&amp;", "&")
    assert shown == "".join(each if each.isprintable() else " " for each in name)
    assert len(lines) == 7


@every_place
@few
@given(hostile)
def test_a_graph_shows_these_steps_and_edges_and_nothing_else(make, text):
    code, wired = exported("dot", make, text)
    if code:
        boxes, arrows = drawn(wired)
        labels = {box.name: [printable(line) for line in box.label] for box in boxes}
        assert read_dot(code) == (labels, [(source, target, printable(action)) for source, target, action in arrows])


def read_dot(code):
    """The labels of the nodes, and the edges, of a graph of Graphviz."""
    labels, edges = {}, []
    string = r'"((?:[^"\\]|\\.)*)"'
    first, *lines, last = code.removesuffix("\n").split("\n")
    assert (first, last) == ("digraph {", "}")
    for line in lines:
        if found := re.fullmatch(rf"    (\w+) \[label={string}\];", line):
            labels[found[1]] = unescaped(found[2])
        elif found := re.fullmatch(rf"    (\w+) -> (\w+)(?: \[label={string}(?:, style=dashed)?\])?;", line):
            edges.append((found[1], found[2], unescaped(found[3] or "")[0]))
        else:
            assert re.fullmatch(
                rf"    label={string}; labelloc=t;|    (?:node|edge) \[[^\"]*fontname={string}\];", line
            )
    return labels, edges


def unescaped(string):
    """The lines of a string of Graphviz."""
    shown = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], string)
    return shown.replace("&amp;", "&").split("\n")
