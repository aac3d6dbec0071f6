"""Exported Python beside its store: what it looks like, what it carries, how it fails, how large it may be."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import warnings

import pytest

from pflow.export import EXPORTERS
from pflow.export.code import Names, call, write
from pflow.export.embed import closure, imports_of, literal, packages_of
from pflow.flow.load import load_text
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.export.cases import CASES, NODES, Case, chain, edge, node, reads
from tests.export.running import BIN, environment, export, lay_out, only_pocketflow, run, store_of


def python(flow, folder="."):
    text = json.dumps(flow) if isinstance(flow, dict) else flow
    return EXPORTERS["python"](wire(load_text(text, "flow", FlowCatalog(str(folder))).usable()))


def top(flow):
    """What a reader sees before the sources of the nodes."""
    return python(flow).partition("\n# Below ")[0]


def run_python(file, case, folder, *flags):
    return run([sys.executable, "-S", str(file), *flags], case, folder, PYTHONPATH=only_pocketflow(folder))


def test_a_users_own_nodes_in_prose_make_plain_pocketflow_code():
    code = python(CASES["a user's own nodes in prose"].flow)
    assert (
        """    fetch = YTTranscript()
    fetch.set_params({"language": "en"})
    summarise = SummariseText()
    summarise.set_params({"temperature": 0.9})

    fetch >> summarise

    return Flow(start=fetch)
"""
        in code
    )
    assert "import pocketflow\n" in code
    assert "pflow.export" not in code
    assert (NODES / "yt_transcript.py").read_text() in code


def test_the_flow_stands_on_top_of_the_sources_of_its_nodes():
    code = top({"name": "judged", "description": "Judge a wish", **CASES["ways by action"].flow})
    assert '"""judged: Judge a wish.\n' in code
    assert '    judge - "good" >> praise\n    judge - "bad" >> mend\n    mend >> judge\n' in code
    assert 'input_mappings={"text": ["say.said.value", "mend.said.value"]}' in code
    assert code.index("judge - ") < code.index("def main():")
    assert len(code.splitlines()) < 60


def test_a_fork_and_its_meeting_step_stand_in_one_line():
    assert "    read >> Fork(left, right) >> join\n" in top(CASES["a fork"].flow)


def test_a_timeout_is_left_out_and_that_is_said():
    code = top(chain(node("say", timeout=3)))
    assert "    # Its timeout of 3 s is left out: pocketflow has none.\n    say = Step(" in code


def test_what_has_to_be_installed_is_said_and_no_more():
    assert "    pip install pocketflow jsonschema llm pydantic\n" in top(chain(node("llm", inputs={"prompt": "x"})))
    assert "    pip install pocketflow\n" in top(CASES["a fork"].flow)


@pytest.mark.parametrize("name", CASES)
def test_every_file_compiles_without_a_warning(name, tmp_path):
    file = export("python", CASES[name], tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(file.read_text(), str(file), "exec")


def test_words_that_end_strings_and_comments_do_no_harm(tmp_path):
    flow = {
        "name": 'a""" + exit(9) #',
        "description": "b\\\"\"\"\nimport os\n'''",
        **chain(
            node("say", "say", inputs={"value": '\'"""\\\n\r\u2028\x07{x}'}), node("class", "say"), node("2x", "say")
        ),
    }
    (tmp_path / "x.py").write_text(python(flow))
    store = store_of(run_python(tmp_path / "x.py", Case(flow, {}), tmp_path))
    assert store["value"] == '\'"""\\\n\r\u2028\x07{x}'


def test_a_source_that_no_raw_string_holds_is_carried_all_the_same(tmp_path):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    text = "from pocketflow import Node\n'''a'''\nclass Odd(Node):\n    \"\"\"Odd \\ one.\"\"\"\n"
    text += "    def post(self, shared, p, e):\n        shared['odd'] = \"a'''b\\\\\"\n"
    (nodes / "odd.py").write_bytes(text.replace("\n", "\r\n").encode())
    case = Case(chain(node("odd")), {"odd": "a'''b\\"})
    file = tmp_path / "flow.py"
    command = [str(BIN / "pflow"), "export", "--to=python", "-o", str(file), lay_out(case, tmp_path)]
    assert run(command, case, tmp_path, PFLOW_NODES=str(nodes)).returncode == 0
    assert store_of(run_python(file, case, tmp_path)) == case.store


def test_two_nodes_whose_classes_have_one_name_are_both_there(tmp_path):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    for name in ("one", "two"):
        text = "from pocketflow import Node\nclass Fetch(Node):\n    def post(self, shared, p, e):\n"
        (nodes / f"{name}.py").write_text(text + f"        shared['{name}'] = True\n")
    case = Case(chain(node("one"), node("two")), {"one": True, "two": True})
    file = tmp_path / "flow.py"
    command = [str(BIN / "pflow"), "export", "--to=python", "-o", str(file), lay_out(case, tmp_path)]
    assert run(command, case, tmp_path, PFLOW_NODES=str(nodes)).returncode == 0
    assert store_of(run_python(file, case, tmp_path)) == case.store


def test_what_a_node_imports_from_pflow_is_carried(tmp_path):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    text = "import pflow\nfrom pflow import PflowError, flow_safe\n@flow_safe\nclass Safe(pflow.Node):\n"
    text += "    def post(self, shared, p, e):\n        shared['safe'] = issubclass(PflowError, Exception)\n"
    (nodes / "safe.py").write_text(text)
    case = Case(chain(node("safe")), {"safe": True})
    file = tmp_path / "flow.py"
    command = [str(BIN / "pflow"), "export", "--to=python", "-o", str(file), lay_out(case, tmp_path)]
    assert run(command, case, tmp_path, PFLOW_NODES=str(nodes)).returncode == 0
    assert store_of(run_python(file, case, tmp_path)) == case.store


ENDLESS = chain(
    node("count", params={"limit": 1000}),
    node("say"),
    edges=[edge("count", "count", "again"), edge("count", "say")],
)


@pytest.mark.parametrize(
    ("flow", "flags", "exit", "said"),
    [
        (chain(node("x", "read-file", inputs={"path": "/0"})), "", 66, "cannot read '/0': no such file or directory"),
        (chain(node("flaky")), "", 1, "cannot run flaky: RuntimeError: not yet; --debug shows where"),
        (chain(node("say", inputs={"tone": "${wish}"})), "", 66,
         "cannot find 'wish' (how): nothing gives it; --wish=…"),
        (chain(node("save", "write-file", inputs={"content": "x"})), "", 66,
         "cannot find 'path' (the file to write): nothing gives it; --path=…"),
        (CASES["a mapping"].flow, "--nope=1", 2, "cannot take '--nope=1': no such flag; --help lists them"),
        (CASES["a mapping"].flow, "nope", 2, "cannot take 'nope': no such flag; --help lists them"),
        (CASES["given inputs"].flow, "--n=a --s=x --l=[]", 2, "cannot take --n='a': it is not an int; it wants int"),
        (ENDLESS, "", 1, "cannot visit 'count' again: it had its 100 visits; max_visits allows more"),
    ],
)  # fmt: skip
def test_a_failure_is_one_line_and_the_exit_code_that_pflow_run_has(tmp_path, flow, flags, exit, said):
    case = Case(flow, {})
    done = run_python(export("python", case, tmp_path), case, tmp_path, *flags.split())
    assert (done.returncode, done.stdout, done.stderr.decode()) == (exit, b"", f"flow.python: {said}\n")
    (tmp_path / "seen").unlink(missing_ok=True)
    by_pflow = run([str(BIN / "pflow"), "run", "-q", lay_out(case, tmp_path), *flags.split()], case, tmp_path)
    assert by_pflow.returncode == exit


def test_debug_shows_where_a_node_failed(tmp_path):
    case = Case(chain(node("flaky")), {})
    done = run_python(export("python", case, tmp_path), case, tmp_path, "--debug")
    assert 'raise RuntimeError("not yet")' in done.stderr.decode()


def test_help_lists_the_inputs(tmp_path):
    file = export("python", CASES["given inputs"], tmp_path)
    done = run_python(file, CASES["given inputs"], tmp_path, "--help")
    assert done.returncode == 0
    assert "  --n=int" in done.stdout.decode()


def test_what_a_node_prints_goes_to_stderr(tmp_path):
    (tmp_path / "loud.py").write_text(
        "from pocketflow import Node\nclass Loud(Node):\n    def exec(self, p):\n        print('heard')\n"
    )
    case = Case(chain(node("loud")), {})
    file = tmp_path / "flow.py"
    command = [str(BIN / "pflow"), "export", "--to=python", "-o", str(file), lay_out(case, tmp_path)]
    assert run(command, case, tmp_path, PFLOW_NODES=str(tmp_path)).returncode == 0
    done = run_python(file, case, tmp_path)
    assert (json.loads(done.stdout), done.stderr) == ({}, b"heard\n")


@pytest.mark.parametrize(("offset", "value"), [(0, "a\nb\n"), (2, None)])
def test_a_file_on_stdin_is_read_from_its_beginning_only(tmp_path, offset, value):
    """Past it, it is what a loop around the program reads."""
    file = export("python", CASES["stdin"], tmp_path)
    (tmp_path / "lines").write_text("a\nb\n")
    with (tmp_path / "lines").open("rb", buffering=0) as lines:
        lines.seek(offset)
        done = subprocess.run(
            [sys.executable, "-S", str(file)], cwd=tmp_path, stdin=lines, capture_output=True, check=False,
            env=environment(tmp_path, PYTHONPATH=only_pocketflow(tmp_path)),
        )  # fmt: skip
        assert store_of(done)["said"]["value"] == value
        assert lines.tell() == (4 if value else offset)


def test_a_file_can_be_imported_and_its_flow_run_from_python(tmp_path):
    file = export("python", CASES["a mapping"], tmp_path)
    program = (
        "import runpy, sys; flow = runpy.run_path(sys.argv[1])['create_flow'](); s = {}; flow.run(s); print(s['said'])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(tmp_path, PYTHONPATH=only_pocketflow(tmp_path)),
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ONE TWO\n\n", "")


def test_a_flow_of_a_thousand_steps_runs(tmp_path):
    steps = [node(f"s{n}", "say") for n in range(1000)]
    mappings = {f"s{n}": {"input_mappings": {"value": f"s{n - 1}.said.tone"}} for n in range(1, 1000)}
    case = Case({"nodes": steps, "mappings": mappings}, {})
    store = store_of(run_python(export("python", case, tmp_path), case, tmp_path))
    assert len(store) == 1000
    assert store["said"] == {"value": "plain", "tone": "plain"}


def test_a_hundred_flows_in_one_another_run(tmp_path):
    for n in range(100):
        inner = {"id": "in", "type": f"f{n + 1}.pflow.json"} if n < 99 else {"id": "in", "type": "say"}
        key = "out" if n < 99 else "said.value"
        flow = {
            "inputs": {"value": {"type": "int"}}, "outputs": {"out": f"in.{key}"}, "nodes": [inner],
            "mappings": reads(**{"in": {"value": "value"}}),
        }  # fmt: skip
        (tmp_path / f"f{n}.pflow.json").write_text(json.dumps(flow))
    case = Case(chain(node("in", "f0.pflow.json", inputs={"value": 7})), {"value": 7, "out": 7})
    assert store_of(run_python(export("python", case, tmp_path), case, tmp_path)) == case.store


def test_ten_thousand_visits_and_items_and_fifty_branches_run(tmp_path):
    names = [f"b{n}" for n in range(50)]
    flow = {
        "max_visits": 20_000,
        "inputs": {"items": {"type": "list", "default": list(range(10_000))}},
        "nodes": [
            node("count", params={"limit": 10_000}),
            node("each", "say", batch={"over": "items"}),
            *(node(name, "say", inputs={"tone": name}) for name in names),
            node("join", "say"),
        ],
        "edges": [
            edge("count", "count", "again"),
            edge("count", "each"),
            *(edge("each", name) for name in names),
            *(edge(name, "join") for name in names),
        ],
        "mappings": reads(
            each={"value": "item"},
            **{name: {"value": f"each.said[{n}].value"} for n, name in enumerate(names)},
            join={"value": "template:" + "".join(f"${{{name}.said.value}}" for name in names)},
        ),
    }
    case = Case(flow, {})
    store = store_of(run_python(export("python", case, tmp_path), case, tmp_path))
    assert (store["count"], len(store["each"]["said"])) == (10_000, 10_000)
    assert store["said"]["value"] == "".join(map(str, range(50)))


def test_modules_are_carried_with_what_they_import_and_the_packages_around_them():
    sources = closure(["mine"], {"mine": "import json\nfrom pflow.paths import meet\n"})
    assert {"mine", "pflow", "pflow.paths", "pflow.scanner"} <= set(sources)
    assert "pflow.catalog.registry" not in sources
    assert packages_of(["import json, yaml, pflow.x\nfrom pocketflow import Node\n"]) == ["pocketflow", "yaml"]


def test_what_only_a_type_checker_imports_is_no_import():
    source = "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import a\nimport b\ndef f():\n    __import__('c')\n"
    assert imports_of(source) == ["b", "c"]


@pytest.mark.parametrize("source", ["x\n", "'''\n", '"""a\'\'\'"""\n', "\\\n", "'a'\n", "a\r\n", "", "no end", "\\"])
def test_a_literal_of_a_source_is_that_source(source):
    assert ast.literal_eval(literal(source)) == source


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        "a\"b'c\\\n",
        "\u2028",
        [1, {"a": [None]}],
        {"long " * 9: ["x" * 60, {"y": "z" * 70}]},
        ("a", 1),
        ("a",),
    ],
)
def test_code_of_a_value_is_that_value(value):
    assert ast.literal_eval(write(value)) == value
    assert ast.literal_eval("[\n    " + write(value, 4) + "\n]") == [value]


def test_a_long_call_has_an_argument_a_line():
    assert call("f", ["a"], {"b": 1}) == 'f("a", b=1)'
    assert call("f", ["a"], {"b": "x" * 120}).splitlines() == ["f(", '    "a",', f'    b="{"x" * 120}",', ")"]


def test_names_are_words_of_python_and_each_its_own():
    names = Names({"taken"})
    assert [names.name(text) for text in ("a-b", "a_b", "class", "2x", "taken", "é", "A B")] == [
        *("a_b", "a_b_2", "class_2", "step_2x", "taken_2", "step", "a_b_3"),
    ]
