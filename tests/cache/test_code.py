"""A node's code counts as it runs: comments do not, what it imports of its project does, and what is installed."""

import os
import random
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.cache import directory
from pflow.cache.code import code_of
from pflow.cache.python_code import PythonCode
from pflow.catalog.find import add_class, find_type, forget_types
from pflow.catalog.node_type import PROGRAM, PYTHON, NodeType
from pflow.flow.subflow import FlowCatalog
from pflow.node import Node

NODE = '''
import json
from helper import shout
from tools.Text import trim
LIMIT = 3

class Shout(Node):
    """Shout it.

    Interface:
    - Reads: shared["text"]: str  # what
    - Writes: shared["loud"]: str  # it
    """
    def exec(self, text):
        return shout(trim(text)[:LIMIT])
'''
FILES = {
    "nodes/shout.py": NODE,
    "nodes/helper.py": "from other import MARK\n\ndef shout(text):\n    return text.upper() + MARK\n",
    "nodes/other.py": "MARK = '!'\n",
    "nodes/tools/__init__.py": "",
    "nodes/tools/Text.py": "from . import table\n\ndef trim(text):\n    return text.strip(table.BLANKS)\n",
    "nodes/tools/table.py": "BLANKS = ' '\n",
    "nodes/unused.py": "MARK = '?'\n",
    "nodes/tools/unused.py": "MARK = '?'\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def project(tmp_path):
    return write(tmp_path / "project", FILES)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def settled(monkeypatch):
    """The files are old enough to be remembered."""
    monkeypatch.setattr(directory, "time", SimpleNamespace(time_ns=lambda: 1 << 62))


def code(folder, name="shout"):
    return code_of(NodeType(name, PYTHON, str(folder / "nodes" / f"{name}.py")))


def fault(folder, text):
    return code(write(folder, {"nodes/x.py": text}), "x").fault


CHANGES = {
    "a comment": ("nodes/shout.py", "LIMIT = 3", "LIMIT = 3  # characters", False),
    "white space": ("nodes/shout.py", "shout(trim(text)[:LIMIT])", "shout( trim(text) [ :LIMIT ] )", False),
    "the docstring": ("nodes/shout.py", "Shout it.", "Shout it out.", False),
    "a comment in a helper": ("nodes/other.py", "MARK", "# the mark\nMARK", False),
    "what it does not import": ("nodes/unused.py", "?", "??", False),
    "a module of a package that it does not import": ("nodes/tools/unused.py", "?", "??", False),
    "a global": ("nodes/shout.py", "LIMIT = 3", "LIMIT = 4", True),
    "the type of a global": ("nodes/shout.py", "LIMIT = 3", "LIMIT = '3'", True),
    "a method": ("nodes/shout.py", "trim(text)[", "trim(text)[1:][", True),
    "a helper": ("nodes/helper.py", "upper", "lower", True),
    "a helper of a helper": ("nodes/other.py", "!", "!!", True),
    "a module of a package": ("nodes/tools/Text.py", "strip", "lstrip", True),
    "a module that is imported by a relative name": ("nodes/tools/table.py", "' '", "'. '", True),
    "a docstring of an empty package": ("nodes/tools/__init__.py", "", '"""Tools."""\n', False),
    "the package itself": ("nodes/tools/__init__.py", "", "import other\n", True),
}


@pytest.mark.parametrize(("file", "old", "new", "counts"), CHANGES.values(), ids=CHANGES)
def test_what_changes_the_code(project, file, old, new, counts):
    before = code(project)
    text = FILES[file]
    write(project, {file: text.replace(old, new, 1)})
    after = code(project)
    assert before.fault == after.fault == ""
    assert (before.digest != after.digest) is counts
    assert {name for name in before.parts if before.parts[name] != after.parts[name]} <= {file.removeprefix("nodes/")}


def test_a_project_that_is_moved_keeps_its_digest(project, tmp_path):
    before = code(project)
    project.rename(tmp_path / "elsewhere")
    assert code(tmp_path / "elsewhere").parts == before.parts


SAME = ["def f(x):\n    '''{doc}'''\n    return x + {n}\n", "class A:\n    {pad}y = {n}{pad}\n", "z = ({n},{pad}2)\n"]


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.lists(st.sampled_from(SAME), min_size=1, max_size=4), st.integers(0, 9))
def test_only_comments_docstrings_and_layout_do_not_count(tmp_path_factory, draw: random.Random, parts, n):
    def digest(n):
        doc, pad = f"words {draw.random()}", draw.choice(["", " " * draw.randint(0, 3)])
        text = "".join(part.format(doc=doc, pad="" if part.startswith("class") else pad, n=n) for part in parts)
        lines = [f"{line}{draw.choice(['', '   # ' + doc])}\n" for line in text.split("\n")]
        file = tmp_path_factory.getbasetemp() / "same.py"
        file.write_text(draw.choice(["", "\n\n", "# " + doc + "\n"]) + "".join(lines))
        return PythonCode(str(file)).parts["same.py"]

    assert digest(n) == digest(n)
    assert digest(n) != digest(n + 1)
    assert digest(n) != digest(float(n))


def test_code_that_looks_at_its_own_text_counts_with_it(project):
    asks = FILES["nodes/other.py"] + "PROMPT = __doc__\n"
    before = code(write(project, {"nodes/other.py": asks}))
    after = code(write(project, {"nodes/shout.py": NODE.replace("Shout it.", "Shout it out.")}))
    assert before.digest != after.digest


def test_of_what_is_installed_the_version_counts(project):
    parts = code(write(project, {"nodes/shout.py": "import click, pflow\nfrom pocketflow import Node\n" + NODE})).parts
    assert {"click", "pocketflow", "pflow-shell"} < parts.keys()
    assert parts["click"].startswith("8.")


def test_a_module_that_appears_beside_it_counts(project):
    text = "try:\n    import quick\nexcept ImportError:\n    quick = None\n" + NODE
    before = code(write(project, {"nodes/shout.py": text}))
    assert before.parts["quick"] == "missing"
    after = code(write(project, {"nodes/quick.py": "SPEED = 1\n"}))
    assert after.digest != before.digest
    assert "quick.py" in after.parts


def test_a_package_that_takes_the_place_of_a_module_counts(project, settled):
    before = code(project)
    write(project, {"nodes/other/__init__.py": "MARK = '?'\n"})
    assert before.parts.keys() - code(project).parts.keys() == {"other.py"}


def test_a_module_on_pythonpath_counts(project, tmp_path, monkeypatch):
    write(tmp_path, {"lib/far.py": "X = 1\n", "nodes/x.py": "import far\n"})
    assert "x.py imports 'far', which is not found" in code(tmp_path, "x").fault
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    before = code(tmp_path, "x").digest
    write(tmp_path, {"lib/far.py": "X = 2\n"})
    assert before != code(tmp_path, "x").digest is not None


def test_of_a_package_in_several_places_the_projects_part_counts(tmp_path, monkeypatch):
    write(tmp_path, {"site-packages/ns/b.py": "", "lib/ns/a.py": "A = 1\n"})
    for folder in ("site-packages", "lib"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    found = code(write(tmp_path, {"nodes/x.py": "import ns.a\n"}), "x")
    assert (found.fault, "ns/a.py" in found.parts) == ("", True)


def test_what_lies_beside_the_file_that_a_link_names_counts(project, tmp_path):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "shout.py").symlink_to(project / "nodes" / "shout.py")
    assert code(tmp_path).parts == code(project).parts


def test_all_modules_of_a_package_count_that_is_taken_whole(tmp_path):
    write(tmp_path, {"nodes/x.py": "from p import *\n", "nodes/p/__init__.py": "__all__ = ['a']\n", "nodes/p/a.py": ""})
    before = code(tmp_path, "x")
    write(tmp_path, {"nodes/p/a.py": "A = 1\n"})
    assert code(tmp_path, "x").digest != before.digest


UNKNOWN = [
    "import importlib\nimportlib.import_module(NAME)\n",
    "from importlib import import_module as load\nload('json')\n",
    "__import__(NAME)\n",
    "load = __import__\n",
    "import importlib.util as u\nu.spec_from_file_location('a', 'b')\n",
    "import runpy\nrunpy.run_path('x')\n",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_code_that_imports_what_it_does_not_name_cannot_be_told(tmp_path, text):
    assert "it imports a module that its code does not name" in fault(tmp_path, text)


def test_an_import_by_a_name_in_quotes_is_followed(project):
    write(project, {"nodes/x.py": "import importlib\nother = importlib.import_module('other')\n"})
    assert "other.py" in code(project, "x").parts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n", "x.py is not valid Python: SyntaxError: "),
        ("from . import y\n", "x.py, line 1: it imports from its package, but is not in a package"),
        ("import nowhere_at_all\n", "x.py imports 'nowhere_at_all', which is not found"),
        ("x = " + "-" * 20_000 + "1\n", "x.py"),
        ("x = " + "+".join(["1"] * 500) + "\n", "its code is nested too deeply"),
        ("\0", "x.py is not valid Python: "),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, text, why):
    assert why in fault(tmp_path, text)
    assert code(tmp_path, "x").digest is None


def test_nothing_is_said_of_code_that_is_only_read(tmp_path, recwarn):
    assert fault(tmp_path, "x = '\\d' if 1else 2\n") == ""
    assert [str(each.message) for each in recwarn] == []


def test_a_file_that_has_not_changed_is_not_read_again(project, monkeypatch, settled):
    before = code(project)
    monkeypatch.setitem(sys.modules, "pflow.cache.python_code", None)  # it cannot be imported
    assert code(project).parts == before.parts
    os.utime(project / "nodes" / "tools" / "table.py")
    with pytest.raises(ImportError):
        code(project)


@pytest.mark.parametrize("garbage", [b"", b"null", b"[]", b'{"files":1}', b'{"files":{},"x":1}', b'{"files":{"/":1}}'])
def test_what_is_remembered_wrongly_is_found_again(project, cache, settled, garbage):
    before = code(project)
    (file,) = (cache / "pflow" / "results" / "digests").iterdir()
    file.write_bytes(garbage)
    assert code(project).parts == before.parts


def test_without_a_cache_it_is_found_each_time(project, monkeypatch):
    before = code(project)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert code(project).parts == before.parts


@pytest.mark.parametrize("content", [b"#!/bin/sh\ncat\n", b"\x7fELF\0" * 100_000])
def test_a_program_counts_by_its_bytes(tmp_path, content):
    file = tmp_path / "pflow-x"
    file.write_bytes(content)
    before = code_of(NodeType("x", PROGRAM, str(file))).digest
    file.write_bytes(content + b"\n")
    assert None is not before != code_of(NodeType("x", PROGRAM, str(file))).digest


def test_a_node_that_comes_with_pflow_counts_by_its_own_file():
    kind = find_type("llm")
    assert kind is not None
    assert list(code_of(kind).parts) == ["llm.py"]


def test_a_node_whose_file_is_gone_says_so(tmp_path):
    assert code_of(NodeType("x", PROGRAM, str(tmp_path / "x"))).fault == (
        f"'{tmp_path}/x' cannot be read: no such file or directory"
    )


def test_a_flow_counts_by_its_json_and_its_nodes(project, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(project / "nodes"))
    forget_types()
    flow = '{"pflow":1,"name":"f","nodes":[{"id":"a","type":"shout"},{"type":"llm","id":"b"}]}'
    write(project, {"nodes/shout.py": "from pocketflow import Node\n" + NODE})

    def digest(text):
        write(project, {"f.pflow.json": text})
        forget_types()
        kind = FlowCatalog().find(str(project / "f.pflow.json"))
        assert kind is not None
        assert code_of(kind).fault == ""
        return code_of(kind).digest

    before = digest(flow)
    assert digest(flow.replace(",", " ,\n").replace('"type":"llm" ,\n"id":"b"', '"id":"b","type":"llm"')) == before
    assert digest(flow.replace('"id":"b"', '"id":"c"')) != before
    write(project, {"nodes/other.py": "MARK = '?'\n"})
    assert digest(flow) != before
    forget_types()


def test_a_class_of_this_process_counts_by_its_file_unless_a_function_makes_it():
    class Inner(Node):
        pass

    add_class("inner", Inner)
    add_class("outer", Outer)
    inner, outer = find_type("inner"), find_type("outer")
    forget_types()
    assert inner is not None and outer is not None  # noqa: PT018
    assert code_of(inner).fault == "its class is made in a function"
    assert code_of(outer).fault == ""
    assert {"test_code.py", "pytest"} < code_of(outer).parts.keys()


class Outer(Node):
    """A class of a script."""
