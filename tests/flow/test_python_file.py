"""The Flow in a Python file: which one is meant, and what cannot be run."""

from __future__ import annotations

import pytest

from pflow.catalog.kinds import Catalog, forget_kinds
from pflow.errors import PflowError
from pflow.flow.python_file import load_python

ONE = "from pocketflow import BatchFlow, Flow, Node\nimport pflow\nclass One(Node):\n    pass\n"
MAKES = "def make(kind=Flow):\n    return Flow(start=One())\n"
NEEDS = "def make_other(kind):\n    return Flow(start=One())\n"
MAIN = "def main():\n    flow = Flow(start=One())\n    flow.run({})\n"
TWO = "a = Flow(start=One())\nb = Flow(start=BatchFlow(start=One()))\n"


@pytest.mark.parametrize(
    ("code", "name", "found"),
    [
        ("flow = Flow(start=One())\nsame = flow\n" + MAKES, "", "one"),
        ("first = One()\ninner = Flow(start=first)\nouter = BatchFlow(start=inner)\n", "", "outer"),
        (MAKES + NEEDS + MAIN, "", "one"),
        (TWO, "b", "batch-flow"),
        ("_first = One()\n_flow = Flow(start=_first)\n", "", "first"),
        (TWO, "", "2: cannot find one Flow in "),
        (MAKES, "nope", "66: cannot find 'nope' in "),
        (NEEDS + MAIN, "", "66: cannot find a Flow in "),
        (MAKES, "One", "65: cannot load 'One' of "),
        ("Flow(start=One()).run({})\n", "", "65: it runs a flow when imported"),
        ("pflow.Flow(start=One()).main()\n", "", "65: it runs a flow when imported"),
        ("import nothing_of_this_name\n", "", "78: No module named"),
    ],
)
def test_the_only_flow_is_meant_else_the_only_maker_else_the_error_names_them(code, name, found, tmp_path):
    (tmp_path / "app.py").write_text(ONE + code)
    try:
        got = load_python(f"{tmp_path}/app.py", name, Catalog(), is_run_here=True).steps[0].id
    except PflowError as error:
        got = f"{error.exit}: {error.message}"
    forget_kinds()
    begin, _, why = found.partition(": ")
    assert got.startswith(begin)
    assert why in got
