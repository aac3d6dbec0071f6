"""Imports point down and never turn back, and a stage loads no more than it needs."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pflow

PACKAGE = Path(pflow.__file__).parent
PLANNING = ("pflow.library", "pflow.plan", "pflow.mcp")
FLOWS = ("pflow.flow", "pflow.run", "pflow.export", *PLANNING)
AROUND = ("pflow.completion", "pflow.help.man", "pflow.help.mdoc", "pflow.setup", "pflow.conformance")
"""What only commands and `make generate` need."""
DRIVER = ("pflow.commands", "pflow.plumbing", "pflow.docs.generate", *AROUND, *FLOWS)


def sources() -> dict[str, Path]:
    """Every module of pflow, by its name; nodes/ as pflow.nodes."""
    files = {*PACKAGE.rglob("*.py"), *(PACKAGE / "nodes").glob("*.py")}
    return {_module_name(file): file for file in sorted(files)}


def _module_name(file: Path) -> str:
    parts = ("pflow", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = sources()


def imports_of(body: list[ast.stmt], *, inside_functions: bool) -> Iterator[str]:
    """The modules that statements import when they run: not what only a type checker sees."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (_module_of(node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "__import__":
            yield from (each.value for each in node.args[:1] if isinstance(each, ast.Constant))
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if is_function and not inside_functions:
            continue
        children = node.orelse if _is_for_type_checkers(node) else ast.iter_child_nodes(node)
        yield from imports_of(list(children), inside_functions=inside_functions)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def _module_of(module: str, name: str) -> str:
    return f"{module}.{name}" if f"{module}.{name}" in SOURCES else module


def arrows(*, inside_functions: bool = True) -> dict[str, set[str]]:
    return {
        name: set(imports_of(ast.parse(file.read_text(encoding="utf-8")).body, inside_functions=inside_functions))
        for name, file in SOURCES.items()
    }


ARROWS = arrows()


def importers_of(package: str) -> set[str]:
    return {name for name, imported in ARROWS.items() if any(_is_in(each, package) for each in imported)}


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def modules_in(package: str) -> set[str]:
    return {name for name in SOURCES if _is_in(name, package)}


def test_the_arrows_are_read():
    assert "pflow.errors" in ARROWS["pflow.stage.stage"]
    assert "asyncio" in ARROWS["pflow.stage.tries"]
    assert "pflow.node" in ARROWS["pflow.nodes.read_file"]
    assert "pflow.stage.flags" in ARROWS["pflow.stage.stage"]
    assert "collections.abc" not in ARROWS["pflow.stage.tries"]


@pytest.mark.parametrize("node", sorted(modules_in("pflow.nodes")))
def test_a_node_knows_nothing_of_pipes_nor_of_other_nodes(node):
    above = ("pflow.stage", "pflow.catalog.registry", "pflow.nodes", *DRIVER)
    assert not [each for each in ARROWS[node] for package in above if _is_in(each, package) and each != node]


def test_only_the_commands_import_click():
    assert importers_of("click") <= modules_in("pflow.commands")
    assert importers_of("click")


def test_only_three_modules_and_nodes_import_pocketflow():
    allowed = {"pflow.node", "pflow.catalog.registry", "pflow.stage.tries"}
    assert importers_of("pocketflow") - modules_in("pflow.nodes") == allowed


def test_only_the_models_import_llm_and_pydantic():
    assert importers_of("llm") <= modules_in("pflow.models")
    assert importers_of("pydantic") <= modules_in("pflow.models")


def test_a_stage_imports_nothing_of_the_driver():
    for name in modules_in("pflow.stage"):
        assert not [each for each in ARROWS[name] for package in DRIVER if _is_in(each, package)], name


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("pflow.flow", ("pflow.run", "pflow.export", *PLANNING, "pflow.commands", "pflow.plumbing", *AROUND)),
        ("pflow.run", ("pflow.export", *PLANNING, "pflow.commands", "pflow.plumbing", *AROUND)),
        ("pflow.export", (*PLANNING, "pflow.commands", "pflow.plumbing", *AROUND)),
        ("pflow.library", ("pflow.run", "pflow.export", "pflow.plan", "pflow.mcp", "pflow.commands", *AROUND)),
        ("pflow.plan", ("pflow.mcp", "pflow.commands", "pflow.plumbing", *AROUND)),
        ("pflow.mcp", ("pflow.commands", "pflow.plumbing", *AROUND)),
        ("pflow.help.usage", ("pflow.stage", "pflow.commands", "pflow.plumbing", *AROUND, *FLOWS)),
    ],
)
def test_a_flow_as_data_knows_nothing_of_its_runs(below, above):
    for name in modules_in(below):
        assert not [each for each in ARROWS[name] for package in above if _is_in(each, package)], name


def test_what_everybody_stands_on_stands_on_nothing():
    above = ("pflow.stage", "pflow.models", "pflow.nodes", "pflow.commands", "pflow.plumbing")
    for name in SOURCES:
        if SOURCES[name].parent == PACKAGE and name not in DRIVER:
            assert not [each for each in ARROWS[name] for package in above if _is_in(each, package)], name


def test_no_import_turns_back():
    own = {
        name: {each for each in imported if each in SOURCES and each != name}
        for name, imported in arrows(inside_functions=False).items()
    }
    settled: set[str] = set()
    while ready := {name for name, imported in own.items() if name not in settled and imported <= settled}:
        settled |= ready
    assert {name: imported - settled for name, imported in own.items() if name not in settled} == {}


HEAVY = [
    *("click", "pydantic", "asyncio", "subprocess", "importlib.metadata", "llm", "orjson", "json", "re", "enum"),
    *("typing", "dataclasses", "pathlib", "inspect", "logging", "tempfile", "shutil", "random", "urllib", "socket"),
    *("ast", "difflib", "argparse", "traceback", "signal", "hashlib", "datetime", "jsonschema", "sqlite3"),
]

REPORT = """
import sys
before = set(sys.modules)
import pflow.stage.main
from pflow.stage.stage import Stage
code = Stage({name!r}).run({words!r})
sys.stderr.write(" ".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""


def loaded_by(name: str, words: list[str], stdin: bytes, folder: Path) -> set[str]:
    """The modules that a stage loads, beside those that python itself does."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-c", REPORT.format(name=name, words=words)]
    done = subprocess.run(command, input=stdin, capture_output=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.decode().split())


DOCUMENT = b'{"$pflow":{"v":1,"by":"x","run":"R","last":"a"},\n"a":"x",\n"path":"here",\n"n":[1.5,{"b":null}]\n}\n'


@pytest.mark.parametrize(
    ("name", "words", "stdin"),
    [
        ("read-file", ["--path=a.txt"], b""),
        ("read-file", ["--path=a.txt"], DOCUMENT),
        ("read-file", ["--path=$path", "--id=x"], DOCUMENT),
        ("read-file", ["--path=a.txt", "-r"], b""),
        ("write-file", ["--path=b.txt"], DOCUMENT),
        ("write-file", ["--path=b.txt", "-q"], b"raw text"),
        ("write-file", ["--path=b.bin"], b"\xff\xfe"),
        ("write-file", ["--path=b.txt", "--map-in=content=n"], DOCUMENT),
    ],
)
def test_a_plain_stage_loads_nothing_that_takes_long(tmp_path, name, words, stdin):
    for file in ("a.txt", "here"):
        (tmp_path / file).write_text("text")
    loaded = loaded_by(name, words, stdin, tmp_path)
    assert loaded & set(HEAVY) == set()
    assert f"pflow.nodes.{name.replace('-', '_')}" in loaded
    assert not [module for module in loaded for package in DRIVER if _is_in(module, package)]


def test_a_flow_in_pipe_syntax_loads_nothing_that_takes_long(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    report = REPORT.replace("from pflow.stage.stage import Stage", "from pflow.commands._dispatch import run")
    report = report.replace("Stage({name!r}).run({words!r})", "run({words!r})")
    flow = "read-file --path=a.txt => write-file --path=b.txt --content='${content}!'"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", report.format(words=["run", flow, "-q"])]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.decode().split())
    assert (tmp_path / "b.txt").read_text() == "text!"
    assert loaded & set(HEAVY) == set()
    assert "pflow.run.engine.engine" in loaded


@pytest.mark.parametrize("line", ["pflow ", "pflow-llm --", "pflow trace ", "pflow 'read-file => llm --model="])
def test_tab_loads_nothing_that_takes_long(tmp_path, line):
    report = REPORT.replace("from pflow.stage.stage import Stage", "from pflow.completion.shells import main")
    report = report.replace("Stage({name!r}).run({words!r})", "main({words!r})")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", report.format(words=["fish", line])]
    for _ in range(2):  # the first reads the files of the nodes, which the second finds in the cache
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert set(done.stderr.split()) & set(HEAVY) == set()


def test_orjson_comes_with_large_values_only(tmp_path):
    document = b'{"$pflow":{"v":1},\n"big":"' + b"x" * (2 << 20) + b'"\n}\n'
    (tmp_path / "a.txt").write_text("text")
    assert "orjson" not in loaded_by("read-file", ["--path=a.txt", "-q"], document, tmp_path)
    assert "orjson" in loaded_by("write-file", ["--path=b.txt", "--map-in=content=big", "-q"], document, tmp_path)
