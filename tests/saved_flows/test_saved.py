"""The library lists what is saved from the files alone, whatever they hold."""

import json
import os

import pytest

from pflow.catalog.registry import saved_flow, saved_flows
from pflow.errors import PflowError
from pflow.flow.subflow import FlowCatalog, find_file
from pflow.saved_flows.saved import list_saved, read_saved

FIX = {
    "pflow": 1,
    "name": "fix",
    "description": "Fix an issue",
    "inputs": {"issue": {"type": "int"}, "tone": {"type": "str", "default": "dry"}},
    "outputs": {"fix": "llm.response"},
    "nodes": [{"id": "fetch", "type": "flow:fetch"}, {"name": "llm"}, {"id": "write-file"}],
}


@pytest.fixture
def put(library):
    def put(name, document):
        library.mkdir(parents=True, exist_ok=True)
        file = library / f"{name}.pflow.json"
        text = document if isinstance(document, str) else json.dumps(document)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return file

    return put


def test_a_saved_flow_is_what_its_file_says(put):
    file = put("fix", FIX)
    saved = read_saved("fix")
    assert (saved.name, saved.file, saved.description, saved.fault) == ("fix", str(file), "Fix an issue", "")
    assert saved.inputs == FIX["inputs"]
    assert saved.outputs == FIX["outputs"]
    assert saved.types == ["flow:fetch", "llm", "write-file"]


def test_they_are_listed_by_name(put):
    for name in ("b", "c", "a"):
        put(name, FIX)
    assert [saved.name for saved in list_saved()] == ["a", "b", "c"]


def test_without_a_library_nothing_is_listed(library, monkeypatch):
    assert list_saved() == []
    monkeypatch.delenv("HOME")
    assert list_saved() == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "line 1, column 2"),
        ("", "it is empty"),
        ("[]", "it holds a list"),
        ('{"nodes": {}}', "nodes: PF00: it is a dict, not a list"),
        ("\udcff", "it is not UTF-8 (byte 0xff at 0)"),
        ("[" * 100_000, "nested"),
        ('{"nodes": [], "description": "\\ud800"}', "lone surrogate"),
    ],
)
def test_a_broken_file_is_listed_with_the_reason(put, text, fault):
    file = put("broken", text)
    (saved,) = list_saved()
    assert saved.name == "broken"
    assert f"cannot read the flow '{file}'" in saved.fault
    assert fault in saved.fault


@pytest.mark.parametrize("name", ["\udcff", "a\x1b[31m", "a\nb"])
def test_a_name_that_cannot_be_shown_is_a_fault(put, name):
    put(name, FIX)
    (saved,) = list_saved()
    assert saved.fault.endswith("its name has characters that cannot be shown")


def test_what_is_no_file_is_listed_and_never_opened(library):
    library.mkdir(parents=True)
    os.mkfifo(library / "pipe.pflow.json")
    (library / "folder.pflow.json").mkdir()
    (library / "loop.pflow.json").symlink_to("loop.pflow.json")
    (library / "nowhere.pflow.json").symlink_to("nothing")
    assert {saved.name: saved.fault.rpartition(": ")[2] for saved in list_saved()} == {
        "folder": "it is not a file",
        "loop": "it is a link to nowhere",
        "nowhere": "it is a link to nowhere",
        "pipe": "it is not a file",
    }
    assert saved_flows() == []
    assert [saved_flow(name) for name in ("pipe", "folder", "loop", "nowhere")] == [None] * 4


def test_other_files_are_no_flows(put, library):
    put("old", FIX)
    for name in (".#old.pflow.json", ".pflow.json", "old.pflow.json~", "note.txt"):
        (library / name).write_text("{")
    assert [saved.name for saved in list_saved()] == ["old"] == saved_flows()


@pytest.mark.parametrize("spelling", ["fix-issue", "fix_issue", "Fix-Issue", "fixissue"])
def test_case_dash_and_underscore_make_no_other_name(put, spelling):
    file = put("fix-issue", FIX)
    assert saved_flow(spelling) == str(file)
    assert read_saved(spelling).name == "fix-issue"
    assert FlowCatalog().find(f"flow:{spelling}").file == str(file)


@pytest.mark.parametrize("word", ["fix", "Fix", "llm"])
def test_a_file_that_happens_to_have_the_name_is_not_taken_for_it(put, tmp_path, word):
    file = put("fix", FIX)
    (tmp_path / word).write_text("shell --command='rm -rf /'")
    assert find_file(word) == (None if word == "llm" else str(file))
    assert find_file(f"./{word}") == f"./{word}"


def test_a_file_without_an_ending_is_taken_where_nothing_else_has_the_name(put, tmp_path):
    put("fix", FIX)
    for name in ("mine", "fix.json", "fix.pflow.json"):
        (tmp_path / name).write_text("{}")
        assert find_file(name) == name


def test_a_name_that_is_none_is_127_with_the_nearest(put):
    put("summary", FIX)
    with pytest.raises(PflowError, match="cannot find the saved flow 'summar'") as caught:
        read_saved("summar")
    assert (caught.value.exit, caught.value.hint) == (127, "did you mean summary?")
