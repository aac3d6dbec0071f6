"""PF11 and PF09: types, their versions, and the classes of a user's own nodes."""

import os

import pytest

from tests.flow.checked import findings, flow, found, only

ODD = """\
import pocketflow

class Odd(pocketflow.Node):
    '''Odd.

    Interface:
    - Reads: a
    '''
"""


@pytest.mark.parametrize(
    ("type", "remedy"),
    [
        ("aks", "did you mean ask?"),
        ("read-fil", "did you mean read-file?"),
        ("flow:none", "there is list-files, llm, "),
        ("zzzz", "there is list-files, llm, "),
        ("sub/none.pflow.json", "its path begins where this file is"),
    ],
)
def test_an_unknown_type_is_named_with_the_nearest(type, remedy):
    finding = only(flow({"id": "a", "type": type}))
    assert finding.startswith("nodes[0].type: PF11: there is no ")
    assert remedy in finding


@pytest.mark.parametrize("type", ["ask", "Ask", "AskNode", "read-file", "read_file", "ReadFile"])
def test_a_node_goes_by_its_name_and_its_class(type):
    assert not [each for each in found(flow({"id": "a", "type": type})) if "PF11" in each]


def test_nothing_else_is_said_of_a_step_whose_type_is_unknown():
    document = flow(
        "fetch",
        {"id": "a", "type": "nope", "params": {"x": 1}, "inputs": {"y": 2}},
        "save",
        inputs={"issue_number": {"type": "int"}, "path": {}},
        mappings={
            "a": {"input_mappings": {"text": "fetch.issue_data"}, "output_mappings": {"out": "a.out"}},
            "save": {"input_mappings": {"content": "a.more", "path": "path"}},
        },
    )
    assert found(document) == ["PF11 nodes[1].type"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.4.2", []),
        ("1", []),
        ("1.3.9", []),
        ("1.4.3", ["PF11 nodes[0].version"]),
        ("1.5", ["PF11 nodes[0].version"]),
        ("2.0.0", ["PF11 nodes[0].version"]),
        ("0.9", ["PF11 nodes[0].version"]),
    ],
)
def test_a_version_asks_for_the_same_major_and_at_least_that(version, expected):
    assert found(flow({"id": "a", "type": "ask", "version": version})) == expected


def test_the_version_that_is_there_is_named():
    finding = only(flow({"id": "a", "type": "ask", "version": "2.0.0"}))
    assert "'a' asks for ask 2.0.0, and there is 1.4.2" in finding


def test_a_node_that_says_nothing_of_itself_is_one_warning_however_often_it_stands_there():
    assert found(flow("anything", "b:anything", {"id": "c", "type": "anything", "params": {"x": 1}})) == [
        "PF11? nodes[0].type"
    ]


def test_an_interface_that_does_not_parse_is_told_where_it_stands():
    finding = only(flow("odd"), {"odd.py": ODD})
    assert "cannot parse the interface at " in finding
    assert "odd.py:7" in finding


@pytest.mark.parametrize("text", ["class Bad(:\n", "\0", "-" * 200_000 + "1", "a" + ".a" * 200_000])
def test_a_file_that_is_no_python_is_told(text):
    assert "cannot read the node" in only(flow("bad"), {"bad.py": text})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Own: pass", ["PF09"]),
        ("class Own(object): pass", ["PF09"]),
        ("class Base: pass\nclass Own(Base): pass", ["PF09"]),
        ("own = 1", ["PF09"]),
        ("import pocketflow\nclass Own(pocketflow.Node): pass", ["PF11"]),
        ("from pocketflow import BatchNode\nclass Own(BatchNode): pass", ["PF11"]),
        ("from mine import Base\nclass Own(Base): pass", ["PF11"]),
        ("from mine import Base\nclass Middle(Base): pass\nclass Own(Middle): pass", ["PF11"]),
        ("import pocketflow\nclass Helper: pass\nclass Other(pocketflow.Node): pass", ["PF11"]),
        ("import pocketflow\nif True:\n    class Own(pocketflow.Node): pass", ["PF11"]),
    ],
)
def test_a_class_that_is_no_node_is_found_without_importing_it(text, expected):
    nodes = findings(flow("own"), {"own.py": text + "\nraise SystemExit('imported')\n"})
    assert [each.rule for each in nodes] == expected


LOUD = """#!{interpreter}
# Be loud.
#
# Interface:
# - Writes: shared["out"]: str [pipe]  # a text
"""


@pytest.mark.parametrize(
    ("interpreter", "expected"),
    [("/nowhere/to/be/found", ["cannot run: its interpreter '/nowhere/to/be/found' is not there"]), ("/bin/sh", [])],
)
def test_a_program_whose_interpreter_is_missing_is_told_before_anything_runs(
    interpreter, expected, tmp_path, monkeypatch
):
    program = tmp_path / "pflow-loud"
    program.write_text(LOUD.format(interpreter=interpreter))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    messages = [each.message for each in findings(flow({"id": "a", "type": "loud"})) if each.rule == "PF11"]
    assert [message.partition("' ")[2] for message in messages] == expected


def test_a_program_that_may_not_be_executed_is_told_of_instead_of_a_near_name():
    finding = only(flow({"id": "a", "type": "loud"}), {"pflow-loud": LOUD.format(interpreter="/bin/sh")})
    assert "'loud' is no node: '" in finding
    assert "pflow-loud': it may not be executed (chmod +x)" in finding
