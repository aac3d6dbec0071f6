"""What is a sentence and what is not, the flags beside one, and the words of pflow plan."""

import json

import pytest

from pflow.commands._dispatch import is_sentence, run
from pflow.plan.change import ChangeOptions


@pytest.mark.parametrize(
    "text",
    [
        "read data.txt, summarize it",
        "two\nlines",
        "list - without a flag - the files",
        "shell out to wc",
        "read -5 degrees as a number",
    ],
)
def test_words_are_a_sentence(text):
    assert is_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "llm",
        "lllm --prompt=x",
        "read-file --path a",
        "llm -r",
        "frob => llm",
        "a =failed=> b",
        "lllm | llm",
        "lllm ; llm",
        "pflow lllm --prompt=x",
        "read-fil #12",
    ],
)
def test_a_word_a_step_and_a_pipe_are_none(text):
    assert not is_sentence(text)


@pytest.mark.parametrize(
    "words",
    [["extra"], ["--yes", "extra"], ["--a=1", "extra"], ["-r", "extra"], ["--allow"], ["--allow=x"], ["--timeout=x"]],
)
def test_wrong_flags_are_said_before_any_model_is_asked(words, monkeypatch, capfd):
    monkeypatch.setenv("PFLOW_PLAN_MODEL", "no-such-model")
    assert run(["do this", *words]) == 2


@pytest.fixture
def planned(capfd, tmp_path, monkeypatch):
    """Runs pflow plan: its exit code, its stdout, its stderr. Whoever asks a model gets none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PFLOW_PLAN_MODEL", "no-such-model")

    def plan(*words):
        code = run(["plan", *words])
        return code, *capfd.readouterr()

    return plan


@pytest.mark.parametrize(
    "words",
    [
        ["read-file --path=a => shell --command=cat"],
        ["read-file", "--path=a", "::", "shell", "--command=cat"],
        ["read-file --path=a => shell --command=cat", "--fresh"],
    ],
)
def test_pipe_syntax_becomes_ir_without_a_model(planned, words):
    code, out, err = planned(*words)
    assert (code, err) == (0, "")
    assert [node["type"] for node in json.loads(out)["nodes"]] == ["read-file", "shell"]


@pytest.mark.parametrize("words", [["read-file --path=a"], ["flow:none => llm"]])
def test_one_step_is_pipe_syntax_too_and_a_missing_flow_is_a_finding(planned, words):
    code, out, _ = planned(*words)
    assert code == (65 if "none" in words[0] else 0)
    assert bool(out) == (code == 0)


@pytest.mark.parametrize("words", [["copy a to b"], ["copy", "a", "to", "b"], ["copy", "a", "--fresh", "to", "b"]])
def test_anything_else_is_a_sentence_for_a_model(planned, words):
    code, out, err = planned(*words)
    assert (code, out) == (78, "")
    assert "no-such-model" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the sentence is missing"),
        (["read-file", "="], "the shell took '=>' for a redirection"),
        (["read-file", "--path=a", "=left="], "the shell took '=left=>' for a redirection"),
        ([""], "the sentence is missing"),
        (["a b", "--nope"], "cannot take --nope: no such flag"),
        (["a b", "--timeout=0"], "cannot take --timeout=0: it must be from 0.001"),
        (["--wire", "--edit", "f", "x"], "cannot take both"),
        (["a b", "--yes"], "--wire and --edit"),
        (["--write", "a b"], "--wire and --edit"),
    ],
)
def test_wrong_words_are_2(planned, words, said):
    code, out, err = planned(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_wire_and_edit_get_their_words_and_options(planned, monkeypatch):
    calls = []

    def record(words, options):
        calls.append((words, options))
        return 3

    monkeypatch.setattr("pflow.plan.wire.main", record)
    monkeypatch.setattr("pflow.plan.edit.main", record)
    assert planned("--wire", "f.json", "--timeout=2", "--color=never")[0] == 3
    assert planned("f.json", "use b, not a", "--edit", "--write", "--yes", "--json")[0] == 3
    assert calls == [
        (["f.json"], ChangeOptions(timeout=2.0, color="never")),
        (["f.json", "use b, not a"], ChangeOptions(write=True, yes=True, as_json=True)),
    ]
