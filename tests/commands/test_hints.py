"""Hints: a command advises no flag that it does not take."""

import ast
import gzip
import re
from pathlib import Path

import pytest

from pflow.completion.names import read_table
from pflow.errors import PflowError
from pflow.map.items import Items
from pflow.terminal.messages import error_text

MANY = Path(__file__).parents[2] / "pflow" / "many"
SPECS = read_table(read_table())
FLAGS = {name: {each for flag in usage.flags for each in flag.names} for name, usage in SPECS.items()}


def foreign(text: str, *commands: str) -> set[str]:
    """Return the flags in a text that one of the commands does not take."""
    named = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text)
    return {flag for flag in named if any(flag not in FLAGS[command] for command in commands)}


ITEMS = {
    "odd.csv": b'a,,a,\n0,1\n0,1,2,3,4,5\n"x"y,\n\xff,\0\n"0',
    "empty.csv": b"",
    "tail.json": b"[1] 2",
    "pages.csv": b"%PDF-1.4 x",
    "bomb.csv.gz": gzip.compress(bytes(1_000_000)) * 200,
    "odd.form": b"x",
}


@pytest.mark.parametrize("name", ITEMS)
def test_what_a_map_says_of_its_items_names_only_its_own_flags(tmp_path, monkeypatch, capfd, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(ITEMS[name])
    try:
        said = " ".join(map(repr, Items([name])))
    except PflowError as error:
        said = error_text(error)
    assert foreign(said + capfd.readouterr().err, "pflow map") == set()


def test_each_hint_of_maps_names_flags_of_the_commands_that_show_it():
    trees = [ast.parse(file.read_text()) for file in MANY.glob("*.py")]
    words = [each for tree in trees for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "hint"]
    found = foreign(" ".join(ast.unparse(each.value) for each in words), "pflow map")
    assert found <= FLAGS["pflow merge"] | FLAGS["pflow resume"]


def test_what_reads_files_takes_the_flag_that_the_hint_for_large_ones_names():
    readers = ("pflow map", "pflow run", "pflow resume", "pflow replay", "pflow SENTENCE", "pflow-get", "pflow-set")
    assert all("--max-input" in FLAGS[each] for each in readers)
