"""Flows as pictures: as Mermaid flowcharts and as Graphviz graphs, whatever their steps are called."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from pflow.export import exporter
from pflow.flow.flow import Edge, Flow, Step
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.export.cases import chain, edge, node

FLOW = {
    "name": 'judge "it"',
    **chain(
        node("read", "read-file", inputs={"path": "a"}),
        node("shell", inputs={"command": "x"}, batch={"over": "content"}),
        node("say-it", "write-file", inputs={"path": "b", "content": "c"}),
        edges=[edge("read", "shell"), edge("shell", "say-it", "error"), edge("shell", "read", "more")],
    ),
}
NASTY = ['a"b', "a]b", "<b>&amp;", "end", "a\\", "é→", "`x`", "#quot;", "a|b{c}", "-->", "\\N", "%%", "a;b", "A\nB"]


def drawn(target, flow):
    return exporter(target).export(
        wire(flow if isinstance(flow, Flow) else load_text(json.dumps(flow), "flow").usable())
    )


def nasty(*names):
    steps = [Step(id, "read-file", inputs={"path": "x"}) for id in names]
    return Flow(steps, [Edge(one, other, one) for one, other in pairwise(names)])


def test_a_flowchart_shows_steps_nodes_and_actions():
    assert (
        drawn("mermaid", FLOW)
        == """\
---
title: "judge \\"it\\""
---
flowchart TD
    n1["read<br/>read-file"]
    n2["shell<br/>once for each item of content"]
    n3["say-it<br/>write-file"]
    n1 --> n2
    n2 -. "error" .-> n3
    n2 -- "more" --> n1
"""
    )


def test_a_graph_shows_steps_nodes_and_actions():
    assert (
        drawn("dot", FLOW)
        == """\
digraph {
    label="judge \\"it\\""; labelloc=t;
    node [shape=box, style=rounded, fontname="sans-serif"];
    edge [fontname="sans-serif"];
    n1 [label="read\\nread-file"];
    n2 [label="shell\\nonce for each item of content"];
    n3 [label="say-it\\nwrite-file"];
    n1 -> n2;
    n2 -> n3 [label="error", style=dashed];
    n2 -> n1 [label="more"];
}
"""
    )


def test_a_flow_in_a_flow_has_another_shape(tmp_path):
    (tmp_path / "in.pflow.json").write_text(json.dumps(chain(node("x", "read-file", inputs={"path": "a"}))))
    flow = load_text(json.dumps(chain(node("in", "in.pflow.json"))), "flow", FlowCatalog(str(tmp_path))).usable()
    assert 'n1[["in<br/>in.pflow.json"]]' in drawn("mermaid", flow)
    assert 'n1 [label="in\\nin.pflow.json", shape=box3d]' in drawn("dot", flow)


def strings_of_dot(text):
    """The quoted strings of a graph, each as Graphviz reads it; fails where one has no end."""
    found, at = [], text.find('"')
    while at >= 0:
        end = at + 1
        while text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        found.append(text[at + 1 : end])
        at = text.find('"', end + 1)
    return found


@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_one_string_of_a_graph(name):
    text = drawn("dot", nasty(name, "other"))
    strings = strings_of_dot(text)
    labels = [each for each in strings if each.endswith("\\nread-file")]
    assert len(labels) == 2
    assert len(text.splitlines()) == 7
    shown = labels[0].removesuffix("\\nread-file").replace('\\"', '"').replace("\\\\", "\\").replace("&amp;", "&")
    assert shown == name.replace("\n", " ")


@pytest.mark.parametrize("name", NASTY)
def test_any_name_is_one_label_of_a_flowchart(name):
    lines = drawn("mermaid", nasty(name, "other")).splitlines()
    assert len(lines) == 4
    for line in lines[1:]:
        assert line.count('"') == 2
        label = line.split('"')[1].replace("<br/>", "")
        assert not set(label) & set('"<>`\\')
    assert lines[1].startswith('    n1["')
    assert lines[1].endswith('"]')
