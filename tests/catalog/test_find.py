"""Kinds of nodes: which there are, found by name; their interfaces read and their code never run."""

import os

import pytest

from pflow.catalog.find import (
    fault_of,
    find_node,
    find_type,
    forget_types,
    is_node_name,
    launcher,
    list_nodes,
    no_such_type,
)
from pflow.errors import PflowError

NODE = '''
import pocketflow
{before}

class {name}(pocketflow.Node):
    """Count the words.

{interface}
    """

    version = "2.1.0"
'''


COUNTS = """\
    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["words"]: int [pipe]  # how many it has
"""


SCRIPT = """\
#!/bin/sh
# Say what the time is.
#
# Interface:
# - Writes: shared["now"]: str [pipe]  # the time
# - Version: 1.2.0
"""


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A directory of own nodes, and nothing else that could be one."""
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    forget_types()
    yield tmp_path
    forget_types()


def put_node(file, name, interface=COUNTS, before=""):
    file.write_text(NODE.format(name=name, interface=interface, before=before))


def put_program(file, text=SCRIPT):
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@pytest.mark.parametrize("type", ["read-file", "read_file", "ReadFile", "ReadFileNode", "readfile", "READ-FILE"])
def test_a_node_of_pflows_goes_by_its_name_and_its_classs_name(type):
    kind = find_type(type)
    assert (kind.name, kind.origin, kind.version) == ("read-file", "bundled", "1.0.0")
    assert "path" in kind.interface.reads


@pytest.mark.parametrize("type", ["count-words", "count_words", "CountWords", "CountWordsNode"])
def test_an_own_node_goes_by_its_name_and_its_classs_name(own, type):
    put_node(own / "count_words.py", "CountWords")
    kind = find_type(type)
    assert (kind.name, kind.origin, kind.version) == ("count-words", "python", "2.1.0")
    assert str(kind.interface.writes["words"].type) == "int"


def test_a_file_may_begin_with_a_byte_order_mark(own):
    put_node(own / "count_words.py", "CountWords")
    (own / "count_words.py").write_bytes(b"\xef\xbb\xbf" + (own / "count_words.py").read_bytes())
    assert "words" in find_type("count-words").interface.writes
    put_program(own / "pflow-now", "\ufeff" + SCRIPT)
    assert "now" in find_type("now").interface.writes


def test_the_code_of_a_node_is_not_run_for_its_interface(own):
    put_node(own / "bad.py", "Bad", before=f"open({str(own / 'ran')!r}, 'w')")
    assert find_type("bad").interface.summary == "Count the words."
    assert find_type("bad").version == "2.1.0"
    assert not (own / "ran").exists()
    find_type("bad").node_class()
    assert (own / "ran").exists()


def test_a_docstring_in_prose_is_an_open_interface(own):
    put_node(own / "prose.py", "Prose", "    Reads a thing, writes another.")
    interface = find_type("prose").interface
    assert (interface.open, interface.fault) == (True, "")


def test_an_interface_in_another_grammar_is_open_and_says_why(own):
    put_node(own / "seed.py", "Seed", '    Interface:\n    - Reads: shared["prompt"]: prompt to send to LLM')
    interface = find_type("seed").interface
    assert interface.open
    assert "seed.py" in interface.fault


def test_an_interface_in_prose_gives_its_words_and_is_no_fault(own):
    prose = '    Interface:\n    - Reads: shared["prompt"] - what to ask\n    - Params: model (default gpt-4), system'
    prep = 'def prep(self, shared):\n        return shared["prompt"], self.params.get("model")'
    put_node(own / "seed.py", "Seed", f'{prose}\n    """\n    {prep}\n    """')
    interface = find_type("seed").interface
    assert (interface.open, interface.fault, interface.reads["prompt"].doc) == (True, "", "what to ask")
    assert interface.params["model"].default == "gpt-4"


def test_a_file_that_is_no_python_has_no_interface(own):
    (own / "broken.py").write_text("class (")
    with pytest.raises(PflowError, match=r"broken\.py"):
        _ = find_type("broken").interface


def test_a_program_on_path_is_a_node_and_is_never_run(own, monkeypatch):
    put_program(own / "bin" / "pflow-touch", f"#!/bin/sh\ntouch {own}/ran\n")
    monkeypatch.setenv("PATH", f"{own / 'bin'}::/nowhere")
    kind = find_type("touch")
    assert (kind.origin, kind.file) == ("program", str(own / "bin" / "pflow-touch"))
    assert kind.interface.open
    assert not (own / "ran").exists()


def test_a_misspelt_node_is_told_what_it_is_near_to():
    error = no_such_type("read-fil")
    assert (error.message, error.exit) == ("cannot find the node 'read-fil'", 65)
    assert error.hint.startswith("did you mean read-file")
    assert no_such_type("qqqq").hint.startswith("known: ")


def test_names_of_saved_flows_are_compared_without_their_prefix(monkeypatch):
    monkeypatch.setattr("pflow.catalog.find.saved_flows", lambda: ["bom"])
    assert {no_such_type(type).hint for type in ("flow:bim", "bon", "bom")} == {"did you mean flow:bom?"}
    assert no_such_type("flow:wsub").hint.startswith("known: flow:bom, analyze, ")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two directories of a user's own, and two on PATH."""
    for name in ("own", "own2", "bin", "bin2"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PFLOW_NODES", f"{tmp_path / 'own'}:{tmp_path / 'own2'}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}::/nonexistent:{tmp_path / 'bin2'}")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def put(file, mode=0o755, text="#!/bin/sh\n"):
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def listed(*, there=False):
    """What is no node of pflow's, as (name, file, why it is none)."""
    found = [(each.name, each.file, each.fault or each.behind) for each in list_nodes() if each.origin != "bundled"]
    return [each for each in found if not there or not each[2]]


@pytest.mark.parametrize(
    "files",
    [
        ["own/count-words.py", "own/count_words.py", "own/pflow-count-words", "own2/count_words.py"],
        ["own/count_words.py", "bin/pflow-count-words"],
        ["own2/pflow-count-words", "bin/pflow-count-words", "bin2/pflow-count-words"],
        ["bin/pflow-countwords", "bin/pflow-CountWords", "bin2/pflow-count-words"],
    ],
)
def test_the_first_of_a_name_is_meant_by_every_way_to_write_it(place, files):
    paths = [put(place / file) for file in files]
    first = min(paths[:2]) if files[0].startswith("bin/") else paths[0]
    for name in ("count-words", "count_words", "CountWords", "CountWordsNode", "countwords"):
        assert find_node(name).file == first
    assert [each[1] for each in listed(there=True)] == [first]
    assert sorted(each[1:] for each in listed() if each[2]) == sorted((path, first) for path in paths if path != first)


def test_the_launcher_of_a_node_of_pflows_is_no_other_node(place, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(place / "bin" / "pflow")])
    file = put(place / "bin" / "pflow-llm")
    (place / "bin2" / "pflow-llm").symlink_to(file)
    assert listed() == []
    assert launcher("pflow-llm") == file


def test_a_file_that_is_found_twice_is_there_once(place, monkeypatch):
    put(place / "bin" / "pflow-x")
    (place / "bin2" / "pflow-x").symlink_to(place / "bin" / "pflow-x")
    (place / "bin3").symlink_to("bin")
    monkeypatch.setenv("PATH", os.pathsep.join(str(place / name) for name in ("bin", "bin2", "bin3", "bin")))
    assert len(listed()) == 1


BAD_NAMES = [
    *("", "-", "-x", "_x", ".", "..", "x y", "x.sh", "x~", "x/y", "x\n", "x\ny", "x'", 'x"', "x$(y)", "x`y`", "x;y"),
    *("x\x1b[31m", "naïve", "\udc80", "x\ty", "flow:x", "*"),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_anything_else_is_no_name_and_is_never_looked_for(place, name):
    assert not is_node_name(name)
    assert find_node(name) is None


@pytest.mark.parametrize("name", [name for name in BAD_NAMES if "/" not in name])
def test_a_file_with_such_a_name_is_no_node(place, name):
    for folder in ("own", "bin"):
        put(place / folder / f"pflow-{name}")
    assert listed(there=True) == []
    assert {each[2] for each in listed()} == {"a node's name has letters, digits, - and _ only"}
    assert {os.path.dirname(each[1]) for each in listed()} == {str(place / "own")}


@pytest.mark.parametrize(
    ("put_it", "why"),
    [
        (lambda file: os.symlink("no-such-file", file), "it is a link to nowhere"),
        (lambda file: os.symlink(file.name, file), "it cannot be looked at"),
        (lambda file: put(file, 0o644), "it is not executable (chmod +x)"),
    ],
)
def test_what_cannot_be_a_node_leaves_its_name_to_the_next_and_is_told(place, put_it, why):
    put_it(place / "own" / "pflow-x")
    assert find_node("x") is None
    assert why in fault_of("x")
    second = put(place / "bin2" / "pflow-x")
    assert find_node("x").file == second
    assert [each[1] for each in listed(there=True)] == [second]
    assert [why in each[2] for each in listed()] == [True, False]


@pytest.mark.parametrize(("variable", "folder"), [("PATH", "bin"), ("PFLOW_NODES", "own")])
def test_a_place_may_be_relative(place, monkeypatch, variable, folder):
    file = put(place / folder / "pflow-x")
    monkeypatch.chdir(place)
    monkeypatch.setenv(variable, folder)
    assert find_node("x").file == file
