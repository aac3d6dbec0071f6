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
from tests.export.hostile import every_place, exported, few, hostile

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


@pytest.fixture
def noting_nodes(tmp_path, monkeypatch):
    for name, write, other in (("mix", "mixed", "picked"), ("pick", "picked", "mixed")):
        text = NODE.format(module=__name__, name=name.title(), write=write, other=other)
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    forget_kinds()


WRITES = {"mix": "mixed", "pick": "picked"}


def texts(paths):
    return st.builds("{} ${{{}}}".format, st.sampled_from(["On", "As"]), paths) | st.sampled_from(["${topic}", "plain"])


@st.composite
def documents(draw):
    """Chains of steps, each of which takes what is there when it runs: no rule is broken."""
    steps, mappings, there = [], {}, ["topic"]
    for id in "abcd"[: draw(st.integers(1, 4))]:
        type = draw(st.sampled_from(["mix", "pick"]))
        write, paths = WRITES[type], st.sampled_from(there)
        note = f"{write}_note"
        inputs = {k: draw(texts(paths)) for k in draw(st.sets(st.sampled_from(["prompt", "text", note]), max_size=2))}
        steps.append({"id": id, "type": type, "inputs": inputs})
        keys = draw(st.sets(st.sampled_from(["text", "prompt"])))
        sources = {key: draw(paths) for key in keys}
        if draw(st.booleans()):
            sources[note] = "template:" + draw(texts(paths))
        targets = {write: "out"} if "out" not in there and draw(st.integers(0, 4)) == 0 else {}
        mappings[id] = {"input_mappings": {key: each for key, each in sources.items() if key not in inputs}}
        mappings[id]["output_mappings"] = targets
        there += [*targets.values(), *([] if targets else [write]), f"{id}.{write}", f"{id}.size"]
    return {"nodes": steps, "mappings": mappings}


def worked(flow):
    WORKED.clear()
    ran = Ran(wire(flow), {"topic": "T"})
    return list(WORKED), ran.store, str(ran.error or "")


FLOWS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]


@pytest.mark.usefixtures("noting_nodes")
@settings(max_examples=150, suppress_health_check=FLOWS)
@given(documents())
def test_where_there_is_pipe_syntax_every_step_works_on_the_same_values_and_leaves_the_same_store(document):
    loaded = load_text(json.dumps(document), "flow")
    assume(all(finding.is_warning for finding in check(wire(loaded))))
    try:
        text = write_pipe(loaded)
    except PflowError:
        return
    expected = worked(loaded)
    assume(not expected[-1])
    assert worked(parse_pipe([text])) == expected


@every_place
@few
@given(hostile)
def test_pipe_syntax_is_compiled_to_the_same_steps(make, text):
    code, wired = exported("pipe", make, text)
    if code:
        assert meaning(parse_pipe([code])) == meaning(wired.flow)


def meaning(flow):
    """What each step is and is given; two dollars are one."""
    steps = [(each.id, each.type, each.params, each.inputs) for each in flow.steps]
    return json.dumps(steps).replace("$$", "$")
