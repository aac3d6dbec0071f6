"""An error of a command with --json is a document on stdout too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands import _command
from pflow.commands._command import error_document, say_in_json
from pflow.errors import PflowError

PFLOW = str(Path(sys.executable).parent / "pflow")
ERROR = PflowError("cannot do it", hint="did you mean this or that?", exit=66, details={"place": 3, "exit": 0})


@pytest.fixture
def said(monkeypatch, capfdbinary):
    """What is printed for the error of a command line."""
    monkeypatch.setattr(_command, "written_to", set())

    def say(*words):
        say_in_json(list(words), ERROR)
        return capfdbinary.readouterr().out.decode()

    return say


def test_a_document_has_the_words_the_code_the_names_that_may_be_meant_and_the_details():
    assert error_document(ERROR, "check") == {
        "message": "cannot do it",
        "hint": "did you mean this or that?",
        "exit": 66,
        "command": "check",
        "near": ["this", "that"],
        "place": 3,
    }


@pytest.mark.parametrize(
    "words",
    [
        ("check", "f.json"),
        ("check", "llm", "--prompt=x", "=>", "llm", "--json"),
        ("test-node", "x", "--", "--json"),
    ],
)
def test_what_is_no_flag_of_the_command_s_does_not_count(said, words):
    assert said(*words) == ""


def test_nothing_is_printed_after_something_else(said, monkeypatch):
    monkeypatch.setattr(_command, "written_to", {1})
    assert said("check", "--json", "f") == ""


def test_a_bug_in_a_command_is_told_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pflow.record.runs'] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([PFLOW, "runs", "--json"], capture_output=True, check=False, env=environment)
    assert (ran.returncode, json.loads(ran.stdout)["error"]["exit"]) == (70, 70)
