"""Hints: a command advises no flag that it does not take."""

import ast
import gzip
import re
from pathlib import Path

import pytest

from pflow.commands import _dispatch
from pflow.completion.names import read_table
from pflow.errors import PflowError, node_error
from pflow.files.reading import MOST_INPUT, check_size, limit_input
from pflow.many.items import Items
from pflow.terminal.messages import error_text, say_error

ROOT = Path(__file__).parents[2] / "pflow"
FLAGS = {name: {each for flag in usage.flags for each in flag.names} for name, usage in read_table().items()}


def foreign(text: str, *commands: str) -> list[str]:
    """Return the flags in a text that one of the commands does not take."""
    named = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)
    return [flag for flag in named if any(flag not in FLAGS[command] for command in commands)]


@pytest.mark.parametrize("name", [name for name in FLAGS if name.startswith("pflow ") and name != "pflow SENTENCE"])
def test_a_bug_in_a_command_advises_no_flag_that_it_does_not_take(monkeypatch, capfd, name):
    def fail(*_: object) -> int:
        raise KeyError("x")

    monkeypatch.setattr(_dispatch, "_run", fail)
    assert _dispatch.run([name.removeprefix("pflow ")]) == 70
    said = capfd.readouterr().err
    assert "please report it" in said
    assert foreign(said, name) == []


def test_a_tool_does_not_advise_the_flag_of_a_stage(capfd):
    say_error("pflow-get", node_error("x", KeyError("y")))
    assert foreign(capfd.readouterr().err, "pflow-get") == []


ITEMS = {
    "unnamed.csv": b",a,\n0,1,2\n",
    "twice.csv": b"a,a\n0,1\n",
    "empty.csv": b"",
    "long.csv": b"a,b\n0,1,2\n3\n",
    "quote.csv": b'a,b\n"0,1\n' + b'"x"y,1\n',
    "latin.csv": b"a,b\n\xff,1\n",
    "nul.csv": b"a,b\n\0,1\n",
    "end.jsonl": b'{"a": 1}\n{',
    "tail.json": b"[1] 2",
    "wide.jsonl": b"\xff\xfe{\0",
    "pages.csv": b"%PDF-1.4 x",
    "packed.csv": b"PK\3\4xxxx",
    "base.csv": b"SQLite format 3\0aaaa",
    "bomb.csv.gz": gzip.compress(bytes(200_000_000), 9),
    "cut.csv.gz": gzip.compress(b"a,b\n" * 1000)[:-9],
    "odd.form": b"x",
}


@pytest.mark.parametrize("name", ITEMS)
def test_what_a_map_says_of_its_items_names_only_its_own_flags(tmp_path, monkeypatch, capfd, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(ITEMS[name])
    said = []
    try:
        said = [error_text(each) for each in Items([name]) if isinstance(each, PflowError)]
    except PflowError as error:
        said = [error_text(error)]
    assert foreign(" ".join([*said, capfd.readouterr().err]), "pflow map") == []


@pytest.mark.parametrize("command", ["pflow map", "pflow run", "pflow resume", "pflow replay", "pflow-get"])
def test_a_command_that_reads_files_takes_the_flag_that_allows_larger_ones(command):
    limit_input(1)
    try:
        with pytest.raises(PflowError) as caught:
            check_size(2, "cannot read 'x'")
    finally:
        limit_input(MOST_INPUT)
    assert foreign(caught.value.hint, command) == []


def test_the_hints_of_maps_name_flags_of_maps():
    """Flags in quotes are of a step or of another program."""
    texts = [
        ast.unparse(keyword.value)
        for file in (ROOT / "many").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "hint"
    ]
    found = {flag for text in texts for flag in foreign(text, "pflow map")}
    assert found <= FLAGS["pflow merge"] | FLAGS["pflow resume"]
