"""Exported Python: what it looks like, where it runs, how it fails, and that it ends with the store of `pflow run`."""

import ast
import json
import runpy
import sys
import warnings

import pytest
from hypothesis import example, given

from pflow.export import exporter
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.ir import flow_hash, flow_to_ir
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog, load_named
from pflow.flow.wiring import wire
from tests.export.cases import CASES, NODES, Case, chain, node
from tests.export.hostile import PYTHON, every_place, exported, few, hostile
from tests.export.running import BIN, export, lay_out, run, store_of


def python(flow):
    return exporter("python").export(wire(load_text(json.dumps(flow), "flow").usable()))


def run_python(file, case, folder, *flags):
    return run([sys.executable, str(file), *flags], case, folder)


def test_two_steps_look_as_a_person_would_write_them():
    flow = chain(
        node("read", "read-file"),
        node("draft", "llm", inputs={"prompt": "Shorten $$"}, retries=2),
        name="shorten",
        description="Shorten a text",
        mappings={"draft": {"input_mappings": {"text": "content"}}},
    )
    assert python(flow).partition('flags.\n"""\n')[2] == (
        """
from pflow import Flow, step
from pflow.nodes.llm import Llm
from pflow.nodes.read_file import ReadFile

read = step(ReadFile, "read")
draft = step(Llm, "draft", inputs={"prompt": "Shorten $$"}, retries=2, input_mappings={"text": "content"})

read >> draft

flow = Flow(start=read, name="shorten", description="Shorten a text")

if __name__ == "__main__":
    flow.main()
"""
    )


def test_edges_of_actions_and_forks_have_a_line_each():
    code = python(CASES["edges by action"].flow)
    assert '\nsay >> judge\njudge - "good" >> praise\njudge - "bad" >> fix\nfix >> judge\n\n' in code
    assert "\nread >> left\nread >> right\nleft >> join\nright >> join\n\n" in python(CASES["a fork"].flow)


def test_a_users_own_node_is_loaded_from_its_file():
    code = python(CASES["a user's own nodes in prose"].flow)
    assert f'\nYTTranscript = load_node("{NODES / "transcribe.py"}")\n' in code
    assert '\nfetch = step(YTTranscript, "fetch", params={"language": "en"})\n' in code


def test_a_program_goes_by_its_name_and_a_flow_by_its_path_from_its_own_folder():
    assert '\nupper = step("upper", "upper", inputs={"text": "loud"})\n' in python(CASES["a program"].flow)
    code = python(CASES["params of a flow in a flow"].flow)
    assert '\nshout = step("inner.pflow.json", "shout", ' in code
    assert "directory=" in code


@pytest.mark.parametrize("name", CASES)
def test_every_file_is_short_and_compiles_without_a_warning(name, tmp_path):
    file = export("python", CASES[name], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(file.read_text(), str(file), "exec")
    assert len(file.read_text().splitlines()) <= 60


def test_words_that_end_strings_and_comments_do_no_harm(tmp_path):
    flow = {
        "name": 'a""" + exit(9) #',
        "description": "b\\\"\"\"\nimport os\n'''",
        **chain(node("say", "say", inputs={"value": '\'"""\\\n\r\u2028\x07{x}'}), node("class", "say")),
    }
    (tmp_path / "x.py").write_text(python(flow))
    store = store_of(run_python(tmp_path / "x.py", Case(flow, {}), tmp_path, "-j"))
    assert store["value"] == '\'"""\\\n\r\u2028\x07{x}'


@pytest.mark.parametrize(
    ("flow", "flags"),
    [
        (chain(node("x", "read-file", inputs={"path": "/0"})), ""),
        (chain(node("flaky")), ""),
        (chain(node("say", inputs={"tone": "${wish}"})), ""),
        (CASES["a mapping"].flow, "--nope=1"),
        (CASES["given inputs"].flow, "--n=a --s=x --l=[]"),
    ],
)
def test_it_fails_as_pflow_run_does(tmp_path, flow, flags):
    case = Case(flow, {})
    done = run_python(export("python", case, tmp_path), case, tmp_path, *flags.split())
    (tmp_path / "seen").unlink(missing_ok=True)
    by_pflow = run([str(BIN / "pflow"), "run", lay_out(case, tmp_path), *flags.split()], case, tmp_path)
    assert done.returncode == by_pflow.returncode > 0
    assert done.stderr == by_pflow.stderr


def test_its_flow_runs_on_a_dict(tmp_path, monkeypatch):
    file = export("python", CASES["declared outputs"], tmp_path)
    monkeypatch.chdir(tmp_path)
    shared = {}
    runpy.run_path(str(file))["flow"].run(shared)
    assert (shared["n"], shared["first"]) == (7, 1)


def imported(code):
    """The IR of the flow that a file makes."""
    names = {"__name__": "exported"}
    exec(compile(code, "exported", "exec"), names)
    return flow_to_ir(flow_from(names["flow"]))


@pytest.mark.parametrize(
    "value", [None, True, 1.5, "a\"b'c\\\n", "\u2028", [1, {"a": [None]}], {"long " * 9: ["x" * 60, {"y": "z" * 70}]}]
)
def test_a_value_comes_back_from_its_code(value):
    flow = chain(node("say", inputs={"value": value, "tone": "x"}))
    assert imported(python(flow))["nodes"][0]["inputs"]["value"] == value


@every_place
@few
@given(hostile)
@example(PYTHON)
def test_python_is_the_same_flow_and_does_nothing_else(here, make, text):
    code, wired = exported("python", make, text)
    calls = {
        each.func.id for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call) and hasattr(each.func, "id")
    }
    assert calls <= {"step", "Flow", "load_node"}
    if code:
        names = {"__name__": "exported"}
        exec(compile(code, "exported", "exec"), names)
        assert flow_to_ir(flow_from(names["flow"])) == flow_to_ir(wired.flow)


cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


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
    back = flow_from(runpy.run_path(str(export("python", case, tmp_path)))["flow"], FlowCatalog())
    flow = load_named([case.flow if isinstance(case.flow, str) else str(tmp_path / "flow.pflow.json")]).usable()
    assert back.warnings == []
    assert flow_hash(wire(back)) == flow_hash(wire(flow))
    assert said_by(back) == said_by(flow)


def said_by(flow):
    """The IR, its edges in no order."""
    ir = flow_to_ir(flow)
    return {**ir, "edges": sorted(map(sorted, map(dict.items, ir.get("edges", []))))}
