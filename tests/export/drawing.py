"""A flow that shows all that a picture may, and pictures of it."""

import json

from hypothesis import strategies as st

from pflow.export import exporter
from pflow.flow.flow import Edge, FlowSpec, Step
from pflow.flow.load import load_text
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


def picture(target, flow):
    return exporter(target).export(
        wire(flow if isinstance(flow, FlowSpec) else load_text(json.dumps(flow), "flow").usable())
    )


def called(name):
    """Two steps, one of which has this name."""
    steps = [Step(id, "read-file", inputs={"path": "x"}) for id in (name, name + "-")]
    return FlowSpec(steps, [Edge(name, name + "-", name)])


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.sampled_from(["a\\", '\\"', "&amp;", "-->"])
