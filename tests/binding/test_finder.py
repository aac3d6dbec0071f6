"""A node sees the same and leaves the same behind as a stage, as a step, in each export and in plain pocketflow."""

import copy
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pflow.catalog.kinds import find_kind, forget_kinds
from pflow.engine.context import Context, drop
from pflow.engine.engine import Engine
from pflow.export import exporter
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.engine.flows import plan_of
from tests.stage.running import run as run_stage

KEYS = "abcd"
NODE = '''
import json

from pflow import Node


class {title}(Node):
    """Do what its param says to the store.
    {interface}"""

    def post(self, shared, prepared, result):
        for act, key, value in json.loads(self.params["todo"]):
            if act == "set":
                shared[key] = value
            elif act == "append" and isinstance(shared.get(key, []), list):
                shared.setdefault(key, []).append(value)
            elif act == "append":
                shared[key] = [value]
            elif act == "nest" and isinstance(shared.get(key), dict):
                shared[key]["n"] = value
            elif act == "pop":
                shared.pop(key, None)
            elif act == "del" and key in shared:
                del shared[key]
            elif act == "look":
                seen = {{each: shared[each] for each in "abcd" if each in shared and each != key}}
                shared[key] = json.dumps([seen, shared.get("a", 0)])
'''
READS = "\n".join(f'    - Reads: shared["{key}"]: any = null' for key in KEYS)
WRITES = "\n".join(f'    - Writes: shared["{key}"]: any' for key in KEYS)
PARAM = '- Params: todo: str = "[]"\n    '
INTERFACES = {
    "open": "",
    "writes": f"\n    Interface:\n{WRITES}\n    {PARAM}",
    "both": f"\n    Interface:\n{READS}\n{WRITES}\n    {PARAM}",
}

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "$a", "${b}", "é"])
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("mn"), scalars, max_size=2)
stores = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
acts = st.tuples(st.sampled_from(["set", "append", "nest", "pop", "del", "look"]), st.sampled_from(KEYS), values)
steps = st.tuples(st.sampled_from(list(INTERFACES)), st.lists(acts, max_size=4))
unread_flows = st.lists(steps.filter(lambda step: step[0] != "both"), min_size=1, max_size=3)
flows = st.lists(steps, min_size=1, max_size=3)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
slow = settings(quick, max_examples=12)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    for name, interface in INTERFACES.items():
        (folder / f"do_{name}.py").write_text(NODE.format(title=f"Do{name.title()}", interface=interface))
    patch = pytest.MonkeyPatch()
    patch.setenv("PFLOW_NODES", str(folder))
    forget_kinds()
    yield folder
    patch.undo()
    forget_kinds()


def ir_of(flow):
    """The flow as a file says it; its `$` stand for themselves."""
    nodes = [
        {"id": f"s{n}", "type": f"do-{name}", "params": {"todo": json.dumps(acts).replace("$", "$$")}}
        for n, (name, acts) in enumerate(flow)
    ]
    return {"nodes": nodes}


def in_pocketflow(flow, store):
    store = copy.deepcopy(store)
    for name, acts in flow:
        node = find_kind(f"do-{name}").node_class()()
        node.set_params({"todo": json.dumps(acts)})
        node._run(store)
    return store


def in_stages(flow, store, nodes, *, has_ids=False):
    document = b"".join(
        [b'{"$pflow":{"v":1}', *(f",\n{json.dumps(k)}:{json.dumps(v)}".encode() for k, v in store.items())]
    )
    document += b"\n}\n"
    for n, (name, acts) in enumerate(flow):
        words = [f"--todo={json.dumps(acts)}", "--verbatim", *([f"--id=s{n}"] if has_ids else [])]
        ended = run_stage(str(nodes / f"do_{name}.py"), words, document, name=f"do-{name}")
        assert ended.code == 0, ended.err
        document = ended.out
    return {key: value for key, value in json.loads(document).items() if key != "$pflow"}


def in_the_engine(flow, store, *, is_traced=False, isolate=False):
    store = copy.deepcopy(store)
    context = Context(write=drop if is_traced else None, isolate=isolate)
    Engine(plan_of(ir_of(flow)), context).run(store)
    return store


@quick
@given(flows, stores)
def test_a_flow_leaves_the_store_of_plain_pocketflow_as_stages_and_as_steps(nodes, flow, store):
    wanted = in_pocketflow(flow, store)
    assert in_the_engine(flow, store, is_traced=True) == wanted
    assert in_the_engine(flow, store) == wanted
    assert in_the_engine(flow, store, isolate=True) == wanted
    assert in_stages(flow, store, nodes) == wanted


@quick
@given(
    st.lists(st.tuples(st.sampled_from(["open", "writes"]), st.lists(acts, max_size=4)), min_size=1, max_size=3), stores
)
def test_with_the_same_ids_a_shell_pipe_and_pipe_syntax_leave_the_same_store(nodes, flow, store):
    steps = [
        f"do-{name} --todo={shlex.quote(json.dumps(acts))} --verbatim --id=s{n}" for n, (name, acts) in enumerate(flow)
    ]
    by_run = copy.deepcopy(store)
    Engine(wire(parse_pipe([" => ".join(steps)], FlowCatalog("."))), Context()).run(by_run)
    assert by_run == in_stages(flow, store, nodes, has_ids=True)


def store_of(program, document=b""):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": os.environ["PFLOW_NODES"]}
    done = subprocess.run(program, input=document, capture_output=True, env=environment, timeout=60, check=True)
    return {key: value for key, value in json.loads(done.stdout).items() if key != "$pflow"}


@pytest.mark.parametrize("target", ["python", "sh"])
@slow
@given(flow=flows, store=stores)
@example(flow=[("open", [("pop", "a", None)]), ("both", [])], store={"a": None})
def test_so_does_each_export(nodes, target, flow, store, tmp_path_factory):
    flow = [("both", [("set", key, value) for key, value in store.items()]), *flow]
    file = tmp_path_factory.mktemp(target) / f"flow.{target}"
    file.write_text(exporter(target).export(plan_of(ir_of(flow))))
    program = {"python": [sys.executable, str(file), "-nj"], "sh": ["sh", str(file)]}[target]
    assert store_of(program) == in_pocketflow(flow, {})


@slow
@given(flow=flows, store=stores)
def test_so_does_pflow_run_on_a_store_that_comes_in(nodes, flow, store, tmp_path_factory):
    file = tmp_path_factory.mktemp("run") / "flow.pflow.json"
    file.write_text(json.dumps(ir_of(flow)))
    document = json.dumps({"$pflow": {"v": 1}, **store}).encode()
    assert store_of(["pflow", "run", "-j", str(file)], document) == in_pocketflow(flow, store)
