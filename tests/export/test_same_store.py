"""Every way to run a flow ends with the same store: `pflow run`, exported Python, a script. Python comes back whole."""

import runpy
import sys

import pytest

from pflow.flow.from_pocketflow import flow_from
from pflow.flow.subflow import load_named
from pflow.flow.unload import flow_hash, flow_to_ir
from pflow.flow.wiring import wire
from tests.export.cases import CASES
from tests.export.running import BIN, export, lay_out, run, store_of
from tests.tools import need

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
LINES = {name: case for name, case in CASES.items() if not case.sh}
OTHERS = {name: case for name, case in CASES.items() if case.sh}


@cases
def test_pflow_run_ends_with_the_store(tmp_path, case):
    file = lay_out(case, tmp_path)
    assert store_of(run([str(BIN / "pflow"), "run", "-j", file, *case.flags], case, tmp_path)) == case.store


@cases
def test_exported_python_ends_with_the_store(tmp_path, case):
    file = export("python", case, tmp_path)
    assert store_of(run([sys.executable, str(file), "-j", *case.flags], case, tmp_path)) == case.store


@cases
def test_exported_python_is_read_back_as_the_same_flow(tmp_path, case):
    back = flow_from(runpy.run_path(str(export("python", case, tmp_path)))["flow"])
    flow = load_named([case.flow if isinstance(case.flow, str) else str(tmp_path / "flow.pflow.json")]).usable()
    assert back.warnings == []
    assert flow_hash(wire(back)) == flow_hash(wire(flow))
    assert said_by(back) == said_by(flow)


def said_by(flow):
    """The IR, its edges in no order."""
    ir = flow_to_ir(flow)
    return {**ir, "edges": sorted(map(sorted, map(dict.items, ir.get("edges", []))))}


@pytest.mark.parametrize("case", LINES.values(), ids=LINES)
def test_an_exported_script_ends_with_the_store(tmp_path, case):
    file = export("sh", case, tmp_path)
    need("sed", *["bash"] * bool(case.flags))
    for shell in ("sh", "bash") if case.flags else ("sh",):
        assert store_of(run([shell, str(file), *case.flags], case, tmp_path)) == case.store


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_what_no_script_can_do_is_refused_and_why_is_said(tmp_path, case):
    done = run([str(BIN / "pflow"), "export", "--to=sh", lay_out(case, tmp_path)], case, tmp_path)
    assert (done.returncode, done.stdout) == (65, b"")
    assert "pflow: cannot export the flow to sh: " in done.stderr.decode()
    assert case.sh in done.stderr.decode().splitlines()[-1]
