"""Flows as pictures: as Mermaid flowcharts and as Graphviz graphs, whatever their steps are called."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from pflow.export import exporter
from pflow.flow.flow import Edge, FlowSpec, Step
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


def drawn(target, flow):
    return exporter(target).export(
        wire(flow if isinstance(flow, FlowSpec) else load_text(json.dumps(flow), "flow").usable())
    )


def called(name):
    """Two steps, one of which has this name."""
    steps = [Step(id, "read-file", inputs={"path": "x"}) for id in (name, name + "-")]
    return FlowSpec(steps, [Edge(name, name + "-", name)])


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


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(["a\\", '\\"', "&amp;", "-->"])


@given(names)
def test_any_name_is_one_string_of_a_graph(name):
    lines = drawn("dot", called(name)).splitlines()
    label = re.fullmatch(r'    n1 \[label="((?:[^"\\]|\\["\\])*)\\nread-file"\];', lines[3])[1]
    shown = re.sub(r"\\(.)", r"\1", label).replace("&amp;", "&")
    assert shown == "".join(each if each.isprintable() else " " for each in name)
    assert len(lines) == 7


@given(names)
def test_any_name_is_one_label_of_a_flowchart(name):
    lines = drawn("mermaid", called(name)).splitlines()
    label = re.fullmatch(r'    n1\["([^"]*)<br/>read-file"\]', lines[1])[1]
    assert not set(label) & set("<>`\\")
    assert len(lines) == 4
