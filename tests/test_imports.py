"""Imports point down and never turn back, and a stage loads no more than it needs."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import pflow

PACKAGE = Path(pflow.__file__).parent
LAYERS = [
    *("errors", "text", "values", "files", "terminal", "process", "interface", "tables", "web", "binding", "node"),
    *("catalog", "help", "cache", "stage", "flow", "explain", "export", "record", "models", "kit", "saved_flows"),
    *("mcp", "engine", "driver", "map", "page", "plan", "conformance", "packs", "completion", "setup"),
    *("store_commands", "commands", "__main__"),
]
"""What ARCHITECTURE.md draws: each imports from itself and from those before it."""

LOOSE = {"errors", "node", "__main__"}
"""The modules at the top: all others are in a room."""

LEAN = (
    *("errors", "text", "values", "files", "terminal", "process", "interface", "binding", "node", "catalog", "help"),
    *("stage", "nodes"),
)
"""What a stage may load."""


def sources() -> dict[str, Path]:
    """Every module of pflow, by its name; nodes/ as pflow.nodes."""
    files = {*PACKAGE.rglob("*.py"), *(PACKAGE / "nodes").glob("*.py")}
    return {_module_name(file): file for file in sorted(files)}


def _module_name(file: Path) -> str:
    parts = ("pflow", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = sources()


def imports_of(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports: at its top, in functions, and for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (_module_of(node.module or "", alias.name) for alias in node.names)


def _module_of(module: str, name: str) -> str:
    return f"{module}.{name}" if f"{module}.{name}" in SOURCES else module


@cache
def arrows() -> dict[str, set[str]]:
    """What each module imports; each process that tests asks for it once, and not where it only collects."""
    return {name: set(imports_of(ast.parse(file.read_text(encoding="utf-8")))) for name, file in SOURCES.items()}


def importers_of(package: str) -> set[str]:
    return {name for name, imported in arrows().items() if any(_is_in(each, package) for each in imported)}


def modules_in(package: str) -> set[str]:
    return {name for name in SOURCES if _is_in(name, package)}


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def layer_of(module: str) -> int:
    """The place of a module's package in LAYERS; -1 for what everything stands on."""
    part = module.split(".")[1] if "." in module else ""
    return LAYERS.index(part) if part in LAYERS else -1


def test_every_package_is_a_layer():
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert packages - {"nodes"} == {*LAYERS} - LOOSE
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"} == LOOSE


@pytest.mark.parametrize("layer", ["", *LAYERS])
def test_a_layer_imports_from_those_before_it(layer):
    place = LAYERS.index(layer) if layer else -1
    own = [name for name in SOURCES if layer_of(name) == place and not _is_in(name, "pflow.nodes")]
    wrong = {(name, each) for name in own for each in arrows()[name] if each in SOURCES and layer_of(each) > place}
    assert own
    assert not wrong


@pytest.mark.parametrize("node", sorted(modules_in("pflow.nodes")))
def test_a_node_knows_nothing_of_pipes_nor_of_other_nodes(node):
    known = [each for each in arrows()[node] if each in SOURCES and layer_of(each) >= 0]
    rooms = (
        "errors",
        "text",
        "values",
        "files",
        "interface",
        "process",
        "tables",
        "web",
        "kit",
        "node",
        "models",
    )
    allowed = ("pflow.terminal", *(f"pflow.{room}" for room in rooms))
    assert not [each for each in known if not any(_is_in(each, package) for package in allowed)]
    assert not [each for each in arrows()[node] if _is_in(each, "pflow.nodes") and each != node]


def test_no_import_goes_round_in_a_circle():
    own = {name: {each for each in arrows()[name] if each in SOURCES and each != name} for name in SOURCES}
    resolved: set[str] = set()
    while ready := {name for name, imported in own.items() if name not in resolved and imported <= resolved}:
        resolved |= ready
    assert {name: imported - resolved for name, imported in own.items() if name not in resolved} == {}


def test_only_nodes_import_the_kit():
    assert importers_of("pflow.kit") <= modules_in("pflow.kit") | modules_in("pflow.nodes")
    assert importers_of("pflow.kit") & modules_in("pflow.nodes")


def set_from_afar(tree: ast.Module) -> Iterator[str]:
    """Every import of a file of which it sets a name: `module.name = …`, `vars(module)[…] = …`, setattr.

    Of a class it is the class with what holds it: `module.Class.name = …`.
    """
    imported: set[str] = set()
    holders: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            holders.append(("vars(%s)" if isinstance(node, ast.Attribute) else "%s") % ast.unparse(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            holders.append(ast.unparse(node.func.value))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr":
            holders.append(f"vars({ast.unparse(node.args[0])})")
    yield from (name for name in imported if f"vars({name})" in holders)
    yield from re.findall(r"vars\(([\w.]+\.[A-Z]\w*)\)", " ".join(holders))


def test_no_module_sets_what_belongs_to_another():
    """Left out: sys.argv, sys.stderr and its hooks, which Python offers to be set.

    Listed are the lookup of host names, the nodes that a person's file makes, and the clients of llm's plugins.
    """
    found = {(each, name) for name, file in SOURCES.items() for each in set_from_afar(ast.parse(file.read_text()))}
    assert {(each, name) for each, name in found if each != "sys"} == {
        ("socket", "pflow.web.hosts"),
        ("pocketflow.BaseNode", "pflow.flow.from_pocketflow"),
        ("pocketflow.BaseNode", "pflow.flow.load"),
        ("pocketflow.AsyncNode", "pflow.flow.load"),
        ("library.HTTPTransport", "pflow.models.transport"),
    }


def test_a_public_class_has_its_name_alone():
    files = {file.resolve() for file in SOURCES.values()}  # a node of two names is one file
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    classes = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    assert [name for name, count in Counter(classes).items() if count > 1 and name[0] != "_"] == []


def test_only_the_commands_import_click():
    assert importers_of("click") <= modules_in("pflow.commands")
    assert importers_of("click")


def test_few_modules_and_nodes_import_pocketflow():
    allowed = {"pflow.node", "pflow.stage.visit"}
    assert importers_of("pocketflow") - modules_in("pflow.nodes") == allowed


def test_only_pages_import_jinja2():
    assert importers_of("jinja2") <= modules_in("pflow.page")
    assert importers_of("jinja2")


def test_only_the_models_import_llm():
    assert importers_of("llm") <= modules_in("pflow.models")
    assert importers_of("llm")


HEAVY = [
    *("click", "pydantic", "asyncio", "subprocess", "importlib.metadata", "llm", "orjson", "json", "re", "enum"),
    *("typing", "dataclasses", "pathlib", "inspect", "logging", "tempfile", "shutil", "random", "urllib", "socket"),
    *("ast", "difflib", "argparse", "traceback", "signal", "hashlib", "datetime", "jsonschema", "sqlite3"),
    "contextlib",
    "contextvars",
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
        ("read-file", ["-r", "a.txt"], b""),
        ("write-file", ["--path=b.txt"], DOCUMENT),
        ("write-file", ["--path=b.txt", "-q"], b"raw text"),
        ("write-file", ["--content@a.txt", "-nq", "b.txt"], b""),
        ("write-file", ["--path=b.bin"], b"\xff\xfe"),
        ("write-file", ["--path=b.txt", "--map-in=content=n"], DOCUMENT),
        ("copy-file", ["a.txt", "b/"], DOCUMENT),
        ("move-file", ["a.txt", "b"], DOCUMENT),
        ("delete-file", ["a.txt"], DOCUMENT),
        ("template", ["$n"], DOCUMENT),
        ("split-text", ["--size=2"], b"a b c"),
        ("join-text", [], b'["a"]'),
        ("select", ["[0]"], b"[1]"),
        ("parse-json", [], b"[1]"),
    ],
)
def test_a_plain_stage_loads_nothing_that_takes_long(tmp_path, name, words, stdin):
    for file in ("a.txt", "here"):
        (tmp_path / file).write_text("text")
    loaded = loaded_by(name, words, stdin, tmp_path)
    assert loaded & set(HEAVY) == set()
    assert f"pflow.nodes.{name.replace('-', '_')}" in loaded
    rooms = {each.split(".")[1] for each in loaded if each.startswith("pflow.")}
    assert rooms <= {*LEAN}


def loaded_by_run(words: list[str], folder: Path) -> set[str]:
    """The modules that `pflow run` loads."""
    report = REPORT.replace("from pflow.stage.stage import Stage", "from pflow.commands._dispatch import run")
    report = report.replace("Stage({name!r}).run({words!r})", "run({words!r})")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "XDG_STATE_HOME": str(folder)}
    command = [sys.executable, "-c", report.format(words=["run", *words, "-q"])]
    done = subprocess.run(command, capture_output=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.decode().split())


def test_a_flow_in_pipe_syntax_loads_nothing_that_takes_long(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    loaded = loaded_by_run(["read-file --path=a.txt => write-file --path=b.txt --content='${content}!'"], tmp_path)
    assert (tmp_path / "b.txt").read_text() == "text!"
    assert loaded & set(HEAVY) == set()
    assert "pflow.engine.engine" in loaded


def test_a_flow_that_is_as_it_was_locked_loads_no_pydantic(tmp_path):
    (tmp_path / "x.pflow.json").write_text('{"nodes": [{"id": "a", "type": "template", "inputs": {"template": "x"}}]}')
    subprocess.run([sys.executable, "-m", "pflow", "lock", "x.pflow.json"], cwd=tmp_path, check=True)
    loaded = loaded_by_run(["--locked", "x.pflow.json"], tmp_path)
    assert "pflow.flow.lock" in loaded
    assert "pydantic" not in loaded


@pytest.mark.parametrize("line", ["pflow ", "pflow-llm --", "pflow trace ", "pflow 'read-file => llm --model="])
def test_tab_loads_nothing_that_takes_long(tmp_path, line):
    report = REPORT.replace("from pflow.stage.stage import Stage", "from pflow.completion.shells import main")
    report = report.replace("Stage({name!r}).run({words!r})", "main({words!r})")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", report.format(words=["fish", line])]
    for _ in range(2):  # the first reads the files of the nodes, which the second finds in the cache
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True)
    assert set(done.stderr.split()) & set(HEAVY) == set()
