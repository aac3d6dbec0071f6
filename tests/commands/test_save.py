"""pflow save, list, show and remove: what they print, say and end in."""

import json

import pytest

from pflow.catalog.find import forget_types
from pflow.catalog.registry import saved_flow, saved_flows
from pflow.commands._command import run_command
from pflow.commands.list import command as list_command
from pflow.commands.remove import command as remove_command
from pflow.commands.save import command as save_command
from pflow.commands.show import command as show_command
from pflow.errors import PflowError
from pflow.flow.load import load_file

COUNT = "shell --command='wc -w'"
COMMANDS = {"save": save_command, "list": list_command, "show": show_command, "remove": remove_command}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "PFLOW_NODES", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    forget_types()
    return tmp_path


def pflow(name, *words):
    return run_command(COMMANDS[name], list(words))


def failure(name, *words):
    with pytest.raises(PflowError) as caught:
        pflow(name, *words)
    return caught.value


@pytest.mark.parametrize(
    "words",
    [
        ["count", COUNT, "--description=Count words"],
        ["--description", "Count words", "count", COUNT],
        ["count", "--description", "Count words", COUNT],
        ["count", "--description=Count words", "shell", "--command=wc -w", "=>", "shell", "--command=cat"],
        ["count", "count.pflow.json", "--description=Count words"],
    ],
)
def test_its_flags_stand_on_any_side_of_name_and_file(home, capfd, words):
    (home / "count.pflow.json").write_text('{"nodes": [{"id": "shell", "inputs": {"command": "wc -w"}}]}')
    assert pflow("save", *words) == 0
    assert capfd.readouterr().out == f"{home}/.local/share/pflow/flows/count.pflow.json\n"
    saved = load_file(saved_flow("count"))
    assert (saved.name, saved.description, saved.steps[0].inputs) == ("count", "Count words", {"command": "wc -w"})


def test_a_flow_that_breaks_rules_is_not_saved_and_every_finding_is_said(capfd):
    error = failure("save", "count", "no-such => other-one")
    assert (error.exit, error.message) == (65, "cannot save: 2 findings")
    said = capfd.readouterr().err
    assert "there is no node 'no-such'" in said
    assert "there is no node 'other-one'" in said
    assert saved_flows() == []


def test_the_command_is_said_and_that_path_lacks_its_place(home, capfd):
    assert pflow("save", "count", COUNT, "--command") == 0
    said = capfd.readouterr().err
    assert f"pflow save: the command is {home}/.local/bin/pflow-count\n" in said
    assert f"warning: '{home}/.local/bin' is not on PATH" in said


def put(home, name, document):
    folder = home / ".local" / "share" / "pflow" / "flows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.pflow.json").write_text(document if isinstance(document, str) else json.dumps(document))


INPUTS = {"path": {}, "tone": {"default": "dry"}, "tags": {"default": ["a"]}, "note": {"required": False}}


def test_a_list_has_a_line_for_each_flow(home, capfd):
    put(home, "words", {"description": "Count words", "inputs": INPUTS, "nodes": [{"id": "llm"}]})
    put(home, "a", {"nodes": [{"id": "llm"}]})
    assert pflow("list") == 0
    assert (
        capfd.readouterr().out
        == 'a      [--prompt] [--text]\nwords  --path [--tone=dry] [--tags=["a"]] [--note]  Count words\n'
    )


def test_the_inputs_of_a_flow_that_declares_none_are_listed_as_its_flags(home, capfd):
    words = 'read-file => llm --prompt="To $language" => write-file --path=${language}.txt'
    assert pflow("save", "translate", words, "--description=D") == 0
    capfd.readouterr()
    assert pflow("list") == 0
    assert capfd.readouterr().out == "translate  --path --language  D\n"
    assert pflow("list", "--json") == 0
    (entry,) = json.loads(capfd.readouterr().out)
    assert [(each["name"], each["flag"]) for each in entry["needs"]] == [("path", "--path"), ("language", "--language")]


@pytest.mark.parametrize(
    ("words", "proposal"),
    [
        (
            "read-file => llm --prompt='Sum  up\nwell' => write-file --path=o",
            "read-file, llm 'Sum up well', write-file 'o'",
        ),
        ("llm:draft --prompt='To $language' => shell --command=cat", "llm 'To $language', shell 'cat'"),
        ("list-files", "list-files"),
        ("shell 'curl -u sk-0123456789abcdefgh x'", "shell 'curl -u *** x'"),
        (f"shell --command='{'x' * 99}'", f"shell '{'x' * 39}…'"),
    ],
)
def test_without_a_description_it_is_the_pipe_s_own_words_and_says_so(home, capfd, words, proposal):
    assert pflow("save", "own", words) == 0
    assert f"pflow save: described as: {proposal}; --description=TEXT sets your own" in capfd.readouterr().err
    assert load_file(saved_flow("own")).description == proposal
    assert pflow("save", "own", words) == 0
    assert pflow("save", "own", words, "--description=", "--force") == 0
    assert load_file(saved_flow("own")).description == ""


def test_a_list_as_json_has_all_of_it(home, capfd):
    put(home, "bad", "{")
    put(home, "good", {"description": "D", "inputs": {"a": {}}, "outputs": {"b": "c"}, "nodes": [{"id": "llm"}]})
    assert pflow("list", "--json") == 0
    bad, good = json.loads(capfd.readouterr().out)
    assert (bad["name"], list(bad)) == ("bad", ["name", "file", "fault"])
    del good["file"], good["needs"]
    assert good.pop("run") == "pflow good"
    assert good == {"name": "good", "description": "D", "inputs": {"a": {}}, "outputs": {"b": "c"}, "types": ["llm"]}


def test_nothing_of_a_flow_reaches_a_terminal_raw(home, capfd):
    hostile = "\x1b[2J\nx\u202e"
    put(home, "bad", "{" + hostile)
    put(
        home,
        f"h{hostile}",
        {"description": hostile, "inputs": {hostile: {"default": hostile}}, "nodes": [{"id": "llm"}]},
    )
    assert pflow("list") == 0
    pflow("show", f"h{hostile}")
    printed = capfd.readouterr()
    assert not {"\x1b", "\u202e"} & set(printed.out + printed.err)


def test_show_tells_what_it_is_takes_gives_and_touches(home, capfd):
    document = {
        "description": "Sum up",
        "inputs": {"path": {"type": "path", "description": "which file", "default": "a.txt"}},
        "outputs": {"summary": "llm.response"},
        "nodes": [{"id": "read-file"}, {"id": "llm"}],
        "mappings": {
            "read-file": {"input_mappings": {"path": "path"}},
            "llm": {"input_mappings": {"prompt": "content"}},
        },
    }
    put(home, "sum", document)
    assert pflow("show", "sum") == 0
    printed = capfd.readouterr().out
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert lines[0] == "sum: Sum up"
    for line in (
        f"From {home}/.local/share/pflow/flows/sum.pflow.json",
        "read-file --path=a.txt",
        '--path path default "a.txt" which file (read-file)',
        "summary any llm.response",
    ):
        assert line in lines
    assert any(line.startswith("reads files read-file path") for line in lines)


@pytest.mark.parametrize(
    ("words", "exit", "said"),
    [
        (["nope"], 127, "cannot find the saved flow 'nope'"),
        (["../count"], 127, "cannot find the saved flow '../count'"),
        (["count", "--old"], 66, "cannot find an older version of 'count'"),
        (["nope", "--old"], 127, "cannot find the saved flow 'nope'"),
    ],
)
def test_what_is_not_there_is_said(words, exit, said):
    pflow("save", "count", COUNT)
    error = failure("show", *words)
    assert error.exit == exit
    assert said in error.message


def test_all_names_are_looked_for_before_any_is_removed(capfd):
    pflow("save", "count", COUNT)
    error = failure("remove", "count", "nope", "coun")
    assert (error.exit, error.hint) == (127, "did you mean count?")
    assert error.message == "cannot find the saved flow 'coun': nothing is removed"
    assert "cannot find the saved flow 'nope'" in capfd.readouterr().err
    assert saved_flows() == ["count"]


def test_who_uses_it_by_its_path_is_warned_of_too(home, capfd):
    pflow("save", "count", COUNT)
    put(home, "outer", {"nodes": [{"id": "in", "type": "./count.pflow.json"}, {"id": "count"}]})
    put(home, "other", {"nodes": [{"id": "in", "type": "../count.pflow.json"}, {"id": "count"}]})
    pflow("remove", "count")
    said = capfd.readouterr().err
    assert "the saved flow 'outer' uses flow:count" in said
    assert "other" not in said


def test_a_command_that_stays_keeps_its_flow(home, monkeypatch):
    pflow("save", "count", COUNT, "--command")

    def refuse(file):
        raise PermissionError(13, "Permission denied", file)

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        assert failure("remove", "count").exit == 77
    assert saved_flows() == ["count"]
    assert pflow("remove", "count") == 0
    assert not (home / ".local" / "bin" / "pflow-count").exists()
