"""A user's own node imports the modules beside it, which no other directory sees."""

import sys

import pytest

from pflow.catalog.kinds import forget_kinds
from pflow.catalog.registry import load_file

NODE = "from pocketflow import Node\n{}\nclass Zap(Node):\n    def exec(self, _):\n        return {}\n"
WAYS = {
    "import": ("import helper", "helper.word()"),
    "from": ("from helper import word as say", "say()"),
    "in a function": ("", "__import__('helper').word()"),
    "a package": ("import lib.inner", "lib.inner.word()"),
    "a module of a package": ("from lib import inner", "inner.word()"),
    "a folder without __init__": ("from loose import inner", "inner.word()"),
    "Python's own comes first": ("import string", "'A' if string.digits else ''"),
    "installed ones come first": ("import yaml", "'A' if yaml.safe_load else ''"),
}


def place(folder, word):
    for name in ("lib", "loose"):
        (folder / name).mkdir(parents=True)
        (folder / name / "inner.py").write_text("def word():\n    import helper\n    return helper.word()\n")
    (folder / "lib" / "__init__.py").touch()
    (folder / "helper.py").write_text("from other import WORD\ndef word(): return WORD\n")
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
    assert not {"helper", "other", "lib", "loose"} & ({*sys.modules} - before)


def test_two_nodes_of_a_directory_share_a_module_until_all_is_read_again(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(NODE.format("import helper", "helper"))
    (tmp_path / "helper.py").write_text("WORD = 'old'\n")
    first, second = (load_file(str(tmp_path / f"{name}.py"), name)().exec(None) for name in ("one", "two"))
    assert first is second
    (tmp_path / "helper.py").write_text("WORD = 'new'\n")
    forget_kinds()
    assert load_file(str(tmp_path / "one.py"), "one")().exec(None).WORD == "new"
