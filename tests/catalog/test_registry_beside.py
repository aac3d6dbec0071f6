"""A user's own node imports the modules beside it, which no other directory sees (pflow.catalog.registry)."""

import sys

import pytest

from pflow.catalog.find import forget_types
from pflow.catalog.registry import load_file
from pflow.errors import PflowError

NODE = "from pocketflow import Node\n{}\nclass Zap(Node):\n    def exec(self, _):\n        return {}\n"
WAYS = {
    "import": ("import helper", "helper.word()"),
    "from": ("from helper import word as say", "say()"),
    "in a function": ("", "__import__('helper').word()"),
    "Python's own comes first": ("import string", "'A' if string.digits else ''"),
    "installed ones come first": ("import yaml", "'A' if yaml.safe_load else ''"),
}


def place(folder, word):
    folder.mkdir()
    (folder / "helper.py").write_text("import other\ndef word():\n    from other import WORD\n    return WORD\n")
    (folder / "other.py").write_text(f"WORD = {word!r}\n")
    for name in ("string", "yaml"):
        (folder / f"{name}.py").touch()
    return folder


@pytest.mark.parametrize(("line", "value"), WAYS.values(), ids=WAYS)
def test_what_is_beside_a_node_or_its_link_is_found_and_stays_apart(tmp_path, line, value):
    before = {*sys.modules}
    for word in ("A", "B"):
        file = place(tmp_path / word, word) / "zap.py"
        file.write_text(NODE.format(line, value.replace("'A'", repr(word))))
        (tmp_path / f"{word}.py").symlink_to(file)
        assert {load_file(str(each), "zap")().exec(None) for each in (file, tmp_path / f"{word}.py")} == {word}
    assert not {"helper", "other"} & ({*sys.modules} - before)


def test_two_nodes_of_a_directory_share_a_module_until_all_is_read_again(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(NODE.format("import helper", "helper"))
    (tmp_path / "helper.py").write_text("WORD = 'old'\n")
    first, second = (load_file(str(tmp_path / f"{name}.py"), name)().exec(None) for name in ("one", "two"))
    assert first is second
    (tmp_path / "helper.py").write_text("WORD = 'new'\n")
    forget_types()
    assert load_file(str(tmp_path / "one.py"), "one")().exec(None).WORD == "new"


def test_a_module_beside_that_fails_is_named_and_fails_again(tmp_path):
    (tmp_path / "zap.py").write_text(NODE.format("import helper", "1"))
    (tmp_path / "helper.py").write_text("import nowhere_at_all\n")
    for _ in range(2):
        with pytest.raises(PflowError, match=r"helper\.py': No module named 'nowhere_at_all'"):
            load_file(str(tmp_path / "zap.py"), "zap")
