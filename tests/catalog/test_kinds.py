"""Kinds of nodes: found by name, their interfaces read and their code never run."""

import pytest

from pflow.catalog.kinds import find_kind, forget_kinds, no_such_kind
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
    forget_kinds()
    yield tmp_path
    forget_kinds()


def put_node(file, name, interface=COUNTS, before=""):
    file.write_text(NODE.format(name=name, interface=interface, before=before))


def put_program(file, text=SCRIPT):
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@pytest.mark.parametrize("type", ["read-file", "read_file", "ReadFile", "ReadFileNode", "readfile", "READ-FILE"])
def test_a_node_of_pflows_goes_by_its_name_and_its_classs_name(type):
    kind = find_kind(type)
    assert (kind.name, kind.origin, kind.version) == ("read-file", "bundled", "1.0.0")
    assert "path" in kind.interface.reads


@pytest.mark.parametrize("type", ["count-words", "count_words", "CountWords", "CountWordsNode"])
def test_an_own_node_goes_by_its_name_and_its_classs_name(own, type):
    put_node(own / "count_words.py", "CountWords")
    kind = find_kind(type)
    assert (kind.name, kind.origin, kind.version) == ("count-words", "python", "2.1.0")
    assert str(kind.interface.writes["words"].type) == "int"


def test_a_file_may_begin_with_a_byte_order_mark(own):
    put_node(own / "count_words.py", "CountWords")
    (own / "count_words.py").write_bytes(b"\xef\xbb\xbf" + (own / "count_words.py").read_bytes())
    assert "words" in find_kind("count-words").interface.writes
    put_program(own / "pflow-now", "\ufeff" + SCRIPT)
    assert "now" in find_kind("now").interface.writes


def test_the_code_of_a_node_is_not_run_for_its_interface(own):
    put_node(own / "bad.py", "Bad", before=f"open({str(own / 'ran')!r}, 'w')")
    assert find_kind("bad").interface.summary == "Count the words."
    assert find_kind("bad").version == "2.1.0"
    assert not (own / "ran").exists()
    find_kind("bad").node_class()
    assert (own / "ran").exists()


def test_a_docstring_in_prose_is_an_open_interface(own):
    put_node(own / "prose.py", "Prose", "    Reads a thing, writes another.")
    interface = find_kind("prose").interface
    assert (interface.open, interface.fault) == (True, "")


def test_an_interface_in_another_grammar_is_open_and_says_why(own):
    put_node(own / "seed.py", "Seed", '    Interface:\n    - Reads: shared["prompt"] - prompt to send to LLM')
    interface = find_kind("seed").interface
    assert interface.open
    assert "seed.py" in interface.fault


def test_a_file_that_is_no_python_has_no_interface(own):
    (own / "broken.py").write_text("class (")
    with pytest.raises(PflowError, match=r"broken\.py"):
        _ = find_kind("broken").interface


def test_a_program_on_path_is_a_node_and_is_never_run(own, monkeypatch):
    put_program(own / "bin" / "pflow-touch", f"#!/bin/sh\ntouch {own}/ran\n")
    monkeypatch.setenv("PATH", f"{own / 'bin'}::/nowhere")
    kind = find_kind("touch")
    assert (kind.origin, kind.file) == ("program", str(own / "bin" / "pflow-touch"))
    assert kind.interface.open
    assert not (own / "ran").exists()


def test_a_misspelt_node_is_told_what_it_is_near_to():
    error = no_such_kind("read-fil")
    assert (error.message, error.exit) == ("cannot find the node 'read-fil'", 65)
    assert error.hint.startswith("did you mean read-file")
    assert no_such_kind("qqqq").hint.startswith("there is ")
