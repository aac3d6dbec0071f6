"""A flow from JSON and its pipe syntax: where there is one, every step works on the same values."""

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pflow.catalog.kinds import forget_kinds
from pflow.errors import PflowError
from pflow.flow.load import load_text
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from tests.engine.flows import Ran

NODE = '''
from pocketflow import Node

from {module} import WORKED


class {name}(Node):
    """A node that notes what it works on.

    Interface:
    - Reads: shared["text"]: any = "none" [pipe]  # what
    - Reads: shared["{other}"]: any = "unset"  # what another node writes
    - Reads: shared["prompt"]: str = "" [explicit] [own]  # how
    - Reads: shared["{write}_note"]: str = ""  # a remark, which is stored
    - Writes: shared["{write}"]: any [pipe]  # all of that
    - Writes: shared["size"]: any  # how much
    """

    def post(self, shared, prepared, done):
        reads = [shared[key] for key in ("text", "{other}", "prompt", "{write}_note")]
        WORKED.append(("{name}", *reads))
        shared["{write}"] = f"{name}({{','.join(map(str, reads))}})"
        shared["size"] = len(shared["{write}"])
'''
WORKED = []


@pytest.fixture(autouse=True, scope="module")
def own_nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    for name, write, other in (("mix", "mixed", "picked"), ("pick", "picked", "mixed")):
        (folder / f"{name}.py").write_text(NODE.format(module=__name__, name=name.title(), write=write, other=other))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PFLOW_NODES", str(folder))
        forget_kinds()
        yield
    forget_kinds()


paths = st.sampled_from(["a.mixed", "a.picked", "b.mixed", "b.picked", "mixed", "picked", "topic", "a.size", "out"])
texts = st.builds("{} ${{{}}}".format, st.sampled_from(["On", "As"]), paths) | st.sampled_from(["${topic}", "plain"])


@st.composite
def documents(draw):
    ids = "abcd"[: draw(st.integers(1, 4))]
    steps, mappings = [], {}
    for id in ids:
        type = draw(st.sampled_from(["mix", "pick"]))
        note = {"mix": "mixed_note", "pick": "picked_note"}[type]
        inputs = {key: draw(texts) for key in draw(st.sets(st.sampled_from(["prompt", "text", note]), max_size=2))}
        steps.append({"id": id, "type": type, "inputs": inputs})
        sources = {key: draw(paths) for key in draw(st.sets(st.sampled_from(["text", "prompt"]))) if key not in inputs}
        if draw(st.booleans()):
            sources[note] = "template:" + draw(texts)
        targets = {note.removesuffix("_note"): "out"} if draw(st.integers(0, 4)) == 0 else {}
        mappings[id] = {"input_mappings": {key: each for key, each in sources.items() if key not in inputs}}
        mappings[id]["output_mappings"] = targets
    return {"nodes": steps, "mappings": mappings}


def worked(flow):
    WORKED.clear()
    ran = Ran(wire(flow), {"topic": "T"})
    return list(WORKED), str(ran.error or "")


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(documents())
def test_where_there_is_pipe_syntax_every_step_works_on_the_same_values(document):
    loaded = load_text(json.dumps(document), "flow")
    assume(all(finding.is_warning for finding in check(wire(loaded.flow), loaded.findings)))
    try:
        text = write_pipe(loaded.flow)
    except PflowError:
        return
    expected, error = worked(loaded.flow)
    assume(not error)
    assert worked(parse_pipe([text])) == (expected, "")
