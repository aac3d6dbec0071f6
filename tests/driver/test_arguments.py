"""The words of `pflow run`: which are the flow, which its flags, which are of the run itself, and the help on them."""

import json

import pytest

from pflow.catalog.find import forget_types
from pflow.driver.arguments import RunFlags, help_of, split
from pflow.errors import PflowError
from pflow.flow.subflow import load_usable
from pflow.interface.common import OF_RUNS
from pflow.stage.words import take_words


@pytest.mark.parametrize(
    ("line", "flow", "flags"),
    [
        ("a.json", "a.json", ""),
        ("a.json --x=1 -r", "a.json", "--x=1 -r"),
        ("-n --x=1 a.json --y", "a.json", "-n --x=1 --y"),
        ("--timeout 5 --jobs 2 --from text a.json", "a.json", "--timeout 5 --jobs 2 --from text"),
        ("-", "-", ""),
        ("text :: echo", "text :: echo", ""),
        ("-r text --text=a :: echo --x", "text --text=a :: echo --x", "-r"),
        ("text -n :: echo -r", "text :: echo", "-n -r"),
        ("text --from=text --allow-empty => echo --raw", "text => echo", "--from=text --allow-empty --raw"),
        ("text =left=> echo -q", "text =left=> echo", "-q"),
        ("shell -n --from json a -- -n :: shell --input -q b -r -- -r", "shell a -- -n :: shell --input -q b -- -r",
            "-n --from json -r"),
        ("llm -r :: llm -s -r -q :: write-file a --exact -r", "llm -r :: llm -s -r -q :: write-file a --exact", "-r"),
        ("llm -s -n :: llm -s -r -jq", "llm -s -n :: llm -s -r", "-jq"),
        ("text -rn :: shell cat -rnj", "text -r :: shell cat -n", "-n -r -j"),
        ("llm -s :: llm -rm x", "llm -s :: llm -m x", "-r"),
        (":: a -r ::", ":: a -r ::", ""),
        ("", "", ""),
        ("a.json --sep=| -r", "a.json", "--sep=| -r"),
        ("-n shell --command=a -r --jobs=2 --retries 3", "shell --command=a --retries 3", "-n -r --jobs=2"),
        ("shell:a --args -r --command a --from text -nq", "shell:a --args -r --command a", "--from text -nq"),
        ("shell a --cache=require --refresh=b", "shell a", "--cache=require --refresh=b"),
        ("shell --no-check --dry_run -- -r", "shell --no-check -- -r", "--dry_run"),
    ],
)  # fmt: skip
def test_the_flow_and_the_flags_beside_it(line, flow, flags):
    assert split(line.split()) == (flow.split(), flags.split())


def test_a_text_with_separators_in_it_is_one_word():
    assert split(["-n", "text => echo", "-r"]) == (["text => echo"], ["-n", "-r"])


def test_flags_are_taken_out_of_the_texts_and_the_rest_is_as_its_table_says():
    texts = {"jobs": ["3"], "raw": [True], "timeout": ["1.5"], "topic": ["x"]}
    flags = RunFlags(texts)
    assert (flags.jobs, flags.raw, flags.timeout, texts) == (3, True, 1.5, {"topic": ["x"]})
    assert (flags.no_stdin, flags.isolate, getattr(flags, "from")) == (None, None, "auto")


def test_a_step_may_stand_behind_refresh_and_a_word_behind_cache():
    for text, value in ((True, True), ("true", True), ("draft", "draft")):
        assert RunFlags({"refresh": [text]}).refresh == value
    assert RunFlags({"cache": ["require"]}).cache == "require"


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"raw": [True], "json": [True]}, "in two ways: --raw and --json"),
        ({"jobs": ["0"]}, "it must be from 1 to 256"),
        ({"jobs": ["257"]}, "it must be from 1 to 256"),
        ({"timeout": ["0"]}, "it must be from 0.001"),
        ({"cache": ["always"]}, "cannot take --cache='always'"),
        ({"cache": ["require"], "refresh": ["a"]}, "both --refresh and --cache=require"),
    ],
)
def test_what_a_run_cannot_take_is_2(texts, why):
    with pytest.raises(PflowError) as caught:
        RunFlags(texts)
    assert caught.value.exit == 2
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("--id=x", "it is for a step, in the flow"),
        ("--retries=3", "it is for a step, in the flow"),
        ("--no-verbatim", "it is for a step, in the flow"),
        ("--describe", "pflow explain describes a flow"),
        ("--version", "pflow --version"),
    ],
)
def test_what_no_flow_takes_is_2(word, hint):
    with pytest.raises(PflowError) as caught:
        take_words([word], OF_RUNS)
    flag = word.partition("=")[0].replace("--no-", "--")
    assert (caught.value.exit, caught.value.hint) == (2, hint)
    assert caught.value.message == f"cannot take {flag} for a flow (PF01)"


COUNT = {
    "description": "Count the words",
    "inputs": {"text": {"type": "str", "description": "what to count in"}},
    "nodes": [{"id": "shell", "inputs": {"command": "wc -w"}}],
    "mappings": {"shell": {"input_mappings": {"input": "text"}}},
}


@pytest.fixture
def count(tmp_path, monkeypatch):
    """The file of a saved flow."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    forget_types()
    file = tmp_path / ".local" / "share" / "pflow" / "flows" / "count.pflow.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(COUNT))
    return file


def help_for(words):
    return help_of(load_usable(words), words)


def test_a_saved_flow_tells_what_it_is_for_and_how_it_is_typed(count):
    for word in ("count", "flow:count", str(count)):
        help = help_for([word])
        assert help.startswith("Usage: pflow count [FLAG]…\n\nCount the words\n")
        assert "--text TEXT                 what to count in [required]" in help


def test_no_sign_of_a_flow_moves_the_terminal(tmp_path):
    hostile = "a\x1b[2J\nb"
    file = tmp_path / "hostile.json"
    inputs = {f"x{hostile}": {"description": hostile, "default": hostile}}
    mappings = {"s\x1b": {"input_mappings": {"input": f"x{hostile}"}}}
    nodes = [{"id": "s\x1b", "type": "shell", "inputs": {"command": "cat"}}]
    file.write_text(json.dumps({"description": hostile, "inputs": inputs, "nodes": nodes, "mappings": mappings}))
    help = help_for([str(file)])
    assert r"a\x1b[2J b" in help
    assert "\x1b" not in help


def test_a_flag_of_the_run_is_not_listed_as_that_of_an_input():
    help = help_for(['template "$quiet $text"'])
    assert "\n  quiet                       [from the store, since --quiet is the run's]\n  --text TEXT" in help
