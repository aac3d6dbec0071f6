"""The library lists what is saved from the files alone, whatever they hold."""

import json
import os
import stat
from pathlib import Path

import pytest

from pflow.catalog.registry import saved_flow, saved_flows
from pflow.errors import PflowError
from pflow.flow.ir import load_document
from pflow.flow.load import load_file
from pflow.flow.subflow import FlowCatalog, find_file
from pflow.saved_flows.saved import (
    MOST,
    AlreadySaved,
    list_saved,
    older_versions,
    read_saved,
    remove_flow,
    save_flow,
    save_in_pack,
)
from tests.flow.own_nodes import own_nodes

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


COUNT = {"nodes": [{"id": "shell", "inputs": {"command": "wc -w"}}]}
OTHER = {"description": "Of lines", "nodes": [{"id": "shell", "inputs": {"command": "wc -l"}}]}
BINDINGS = {"nodes": [{"id": "s", "type": "shell", "input_bindings": {"input": "text"}, "config": {"check": False}}]}
ASK = """
    - Reads: shared["prompt"]: str [pipe]  # what
    - Reads: shared["token"]: str [secret]  # who
    - Writes: shared["response"]: str [pipe]  # the answer
    - Params: key: str = null [secret] [env ASK_KEY]  # whose"""


def flow(document, directory="."):
    return load_document(document, "it", FlowCatalog(str(directory))).usable()


def test_what_is_saved_is_ir_for_its_owner_alone(library):
    kept = save_flow("count", flow(COUNT))
    assert (kept.name, kept.file, kept.old) == ("count", str(library / "count.pflow.json"), None)
    saved = json.loads((library / "count.pflow.json").read_text())
    assert saved == {"pflow": 1, "name": "count", "nodes": [{"type": "shell", **COUNT["nodes"][0]}]}
    assert stat.S_IMODE(os.stat(kept.file).st_mode) == 0o600
    assert {stat.S_IMODE(each.stat().st_mode) for each in (library, library.parent)} == {0o700}


def test_a_flow_in_another_dialect_is_saved_as_ir(library):
    save_flow("old", flow(BINDINGS))
    assert load_file(saved_flow("old")).dialect == "pflow"
    assert json.loads((library / "old.pflow.json").read_text())["mappings"] == {
        "s": {"input_mappings": {"input": "text"}}
    }


NO_NAMES = ["", "..", "a/b", "a b", "a\x1b[31m", "a\0", "é", "-a", ".a", "a.b", "flow:a", "a" * 101]
TAKEN = ["llm", "LLM", "read_file", "save", "help", "get", "pflow", "pflow-x", "flow"]


@pytest.mark.parametrize("name", [*NO_NAMES, *TAKEN])
def test_a_name_that_is_none_or_that_is_taken_is_refused(library, name):
    with pytest.raises(PflowError, match="cannot call a flow") as caught:
        save_flow(name, flow(COUNT))
    assert caught.value.exit == 65
    assert not library.exists()


def test_another_flow_is_replaced_only_when_that_is_said(library):
    save_flow("count", flow(COUNT))
    with pytest.raises(AlreadySaved) as caught:
        save_flow("count", flow(OTHER))
    assert (caught.value.exit, caught.value.message) == (73, "cannot save 'count': another flow has this name")
    assert "wc -w" in (library / "count.pflow.json").read_text()
    kept = save_flow("count", flow(OTHER), replace=True)
    assert "wc -l" in (library / "count.pflow.json").read_text()
    assert "wc -w" in open(kept.old).read()
    assert stat.S_IMODE(os.stat(kept.old).st_mode) == 0o600
    assert older_versions("count") == [kept.old] == [str(library / "old" / "count.1.pflow.json")]


def test_the_same_flow_again_changes_nothing(library):
    first = save_flow("count", flow(COUNT))
    before = os.stat(first.file)
    again = save_flow("count", flow(COUNT))
    assert (again.is_changed, again.old) == (False, None)
    assert os.stat(first.file).st_mtime_ns == before.st_mtime_ns
    assert older_versions("count") == []


def test_another_spelling_of_a_name_is_the_same_flow(library):
    save_flow("count-words", flow(COUNT))
    assert save_flow("Count_Words", flow(COUNT)).is_changed is False
    with pytest.raises(AlreadySaved):
        save_flow("countwords", flow(OTHER))
    kept = save_flow("countwords", flow(OTHER), replace=True)
    assert kept.name == "count-words" == load_file(kept.file).name
    assert saved_flows() == ["count-words"]


def test_only_the_last_few_old_ones_are_kept(library):
    for number in range(MOST + 5):
        save_flow("count", flow({"description": str(number), **COUNT}), replace=True)
    assert [load_file(file).description for file in older_versions("count")] == [str(n) for n in range(4, MOST + 4)]


def test_a_broken_file_is_kept_as_it_is(library):
    library.mkdir(parents=True)
    (library / "count.pflow.json").write_bytes(b"{\xff")
    assert open(save_flow("count", flow(COUNT), replace=True).old, "rb").read() == b"{\xff"
    (library / "more.pflow.json").write_bytes(b"{\xff")
    assert open(remove_flow("more"), "rb").read() == b"{\xff"


@pytest.mark.parametrize("put", [os.mkdir, os.mkfifo, lambda file: os.symlink("nowhere", file)])
def test_what_is_no_file_is_left(library, put):
    library.mkdir(parents=True)
    put(library / "count.pflow.json")
    with pytest.raises(PflowError, match=f"'{library}/count.pflow.json' is not a file") as caught:
        save_flow("count", flow(COUNT), replace=True)
    assert caught.value.exit == 73


def test_a_removed_flow_is_kept_and_found_by_nothing(library):
    save_flow("count", flow(COUNT))
    old = remove_flow("count")
    assert older_versions("count") == [old]
    assert saved_flows() == []
    assert [saved_flow(name) for name in ("count", "count.1", "old/count.1", "old")] == [None] * 4
    with pytest.raises(PflowError) as caught:
        remove_flow("count")
    assert caught.value.exit == 127


def test_of_a_link_only_the_link_is_removed(library, tmp_path):
    save_flow("count", flow(COUNT))
    mine = tmp_path / "mine.json"
    (library / "count.pflow.json").rename(mine)
    (library / "count.pflow.json").symlink_to(mine)
    assert open(remove_flow("count")).read() == mine.read_text()
    assert saved_flows() == []


def test_the_path_of_a_subflow_is_written_in_full(library, tmp_path):
    (tmp_path / "sub").mkdir()
    inner = tmp_path / "sub" / "inner.pflow.json"
    inner.write_text(json.dumps(COUNT))
    kept = save_flow("outer", flow({"nodes": [{"id": "in", "type": "./inner.pflow.json"}]}, tmp_path / "sub"))
    assert load_file(kept.file).steps[0].type == str(inner)
    assert kept.notes == [f"'in' runs the flow in '{inner}': if that may move, save it too, and name it flow:NAME"]


def test_a_path_to_a_saved_flow_becomes_its_name(library):
    save_flow("count", flow(COUNT))
    kept = save_flow("outer", flow({"nodes": [{"id": "in", "type": "./count.pflow.json"}]}, library))
    assert load_file(kept.file).steps[0].type == "flow:count"
    assert kept.notes == []


def test_a_flow_that_would_hold_itself_is_refused(library):
    save_flow("count", flow(COUNT))
    save_flow("outer", flow({"nodes": [{"type": "flow:count"}]}))
    for inner in ("flow:count", "flow:outer", str(library / "outer.pflow.json")):
        with pytest.raises(PflowError, match="it would contain itself") as caught:
            save_flow("count", flow({"nodes": [{"id": "in", "type": inner}]}), replace=True)
        assert caught.value.exit == 65
    assert "wc -w" in (library / "count.pflow.json").read_text()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"nodes": [{"type": "say", "params": {"key": "sk-1"}}]}, "'key' of 'say'"),
        ({"nodes": [{"type": "say", "inputs": {"token": "sk-1"}}]}, "'token' of 'say'"),
        ({"mappings": {"say": {"input_mappings": {"token": "template:sk-1"}}}}, "'token' of 'say'"),
        ({"inputs": {"prompt": {}, "token": {"default": "sk-1"}}}, "the default of the input 'token'"),
        (
            {"inputs": {"who": {"default": "sk-1"}}, "mappings": {"say": {"input_mappings": {"token": "who"}}}},
            "the default of the input 'who'",
        ),
    ],
)
def test_a_secret_is_never_written(library, tmp_path, document, said):
    (tmp_path / "nodes").mkdir()
    with own_nodes(tmp_path / "nodes", {"say": ASK}):
        with pytest.raises(PflowError, match=said) as caught:
            save_flow("say-her", flow({"nodes": [{"type": "say"}], **document}))
        assert caught.value.exit == 65
        assert not list(library.glob("**/*.json"))
        save_flow(
            "say-her", flow({"nodes": [{"type": "say"}], "mappings": {"say": {"input_mappings": {"token": "who"}}}})
        )


def test_without_a_home_there_is_no_place(library, monkeypatch):
    monkeypatch.delenv("HOME")
    with pytest.raises(PflowError, match="cannot find the place of saved flows") as caught:
        save_flow("count", flow(COUNT))
    assert caught.value.exit == 78
    assert older_versions("count") == []


def test_in_a_pack_paths_to_subflows_are_those_in_it_and_another_flow_stays(library, tmp_path):
    pack = str(tmp_path / "pack")
    inner = save_in_pack("inner", flow(COUNT), pack)
    assert inner.file == f"{pack}/flows/inner.pflow.json"
    write = {"nodes": [{"id": "a", "type": "pack/flows/inner.pflow.json"}, {"id": "b", "type": "flow:other"}]}
    outer = save_in_pack("outer", flow(write), pack)
    assert [step["type"] for step in json.loads(Path(outer.file).read_text())["nodes"]] == [
        "inner.pflow.json",
        "flow:other",
    ]
    with pytest.raises(AlreadySaved) as failure:
        save_in_pack("Inner", flow(OTHER), pack)
    assert failure.value.exit == 73
    assert not save_in_pack("Inner", flow(COUNT), pack).is_changed
    assert save_in_pack("inner", flow(OTHER), pack, replace=True).file == inner.file
    (tmp_path / "out.pflow.json").write_text(json.dumps(COUNT))
    with pytest.raises(PflowError, match=r"out\.pflow\.json', which is not in '.*pack'"):
        save_in_pack("third", flow({"nodes": [{"id": "a", "type": "out.pflow.json"}]}), pack)
