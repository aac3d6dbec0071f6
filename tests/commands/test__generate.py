"""`make generate`: launchers, man pages and completion follow from nodes and tools; what is out of date is named."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands._generate import ROOT, check, generate
from pflow.errors import PflowError

NODE = '''from pflow.node import Node


class {name}(Node):
    """Count the words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["words"]: int [pipe]  # how many words it has
    """
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with one node and one tool, generated."""
    for folder in ("nodes", "pflow/store_commands"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nodes" / "count_words.py").write_text(NODE.format(name="CountWords"))
    (tmp_path / "pflow" / "store_commands" / "__init__.py").touch()
    (tmp_path / "pflow" / "store_commands" / "get.py").touch()
    generate(tmp_path)
    return tmp_path


TABLE = "pflow/completion/commands.json"
"""The table for TAB, which has the keys that nodes write, for pflow-get."""


def test_what_is_committed_is_what_is_generated():
    assert check(ROOT) == []


def of(name: str) -> set[str]:
    """The files of a node."""
    return {
        f"bin/pflow-{name}",
        f"man/man1/pflow-{name}.1",
        f"completions/bash/pflow-{name}",
    }


def test_a_new_node_in_a_copied_checkout_adds_exactly_its_three_files_and_its_keys(tmp_path):
    for folder in ("bin", "completions", "docs", "man", "nodes", "pflow"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    generate(tmp_path)
    before = _contents(tmp_path)
    (tmp_path / "nodes" / "count_vowels.py").write_text(NODE.format(name="CountVowels"))

    run = subprocess.run(
        [sys.executable, "-m", "pflow.commands._generate"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    after = _contents(tmp_path)
    assert set(run.stdout.splitlines()) == {f"wrote {file}" for file in {*of("count-vowels"), TABLE}}
    assert after.keys() - before.keys() == of("count-vowels")
    assert {path: after[path] for path in before} == before


def _contents(root: Path) -> dict[str, bytes]:
    """The generated files."""
    folders = [root / "bin", root / "completions", root / "man"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


COMMAND = '''"""pflow shout: Print a text in capitals.

\\b
pflow shout hello
"""

from pflow.commands._command import Command
from pflow.commands._output import print_text
from pflow.interface.interface import COUNT, Flag, argument


@Command(
    __doc__,
    Flag("often", "print it N times", type=COUNT, default=1, metavar="N"),
    argument("TEXT", required=True),
)
def command(text: str, often: int) -> None:
    print_text(f"{text.upper()}\\n" * often)
'''


def test_a_new_command_is_one_file_that_runs_has_help_a_page_and_completes(tmp_path):
    for folder in ("bin", "completions", "docs", "man", "nodes", "pflow"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pflow" / "commands" / "shout.py").write_text(COMMAND)

    def python(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    def pflow(*words: str) -> str:
        return python("-c", "from pflow.commands.main import main; main()", *words)

    assert python("-m", "pflow.commands._generate").splitlines() == [
        "wrote man/man1/pflow-shout.1",
        "wrote man/man1/pflow.1",
        "wrote pflow/completion/commands.json",
    ]
    assert pflow("shout", "hi", "--often=2") == "HI\nHI\n"
    assert pflow("shout", "--help").startswith("Usage: pflow shout [FLAG]… TEXT\n\nPrint a text in capitals.\n")
    assert "shout" in pflow("--help")
    assert pflow("__complete", "fish", "pflow shout --of") == "--often=\t[options] print it N times\n"


def _delete(path: Path) -> None:
    path.unlink()


def _edit(path: Path) -> None:
    path.write_text("#!python\n")


@pytest.mark.parametrize(("spoil", "problem"), [(_delete, "missing"), (_edit, "stale")])
def test_what_is_out_of_date_is_named_and_put_right(tree, spoil, problem):
    spoil(tree / "bin" / "pflow-get")
    assert check(tree) == [f"bin/pflow-get: {problem}"]
    assert generate(tree) == ["wrote bin/pflow-get"]
    assert check(tree) == []


def test_what_nothing_generates_is_named_and_removed(tree):
    (tree / "nodes" / "count_words.py").unlink()
    assert set(check(tree)) == {*(f"{file}: orphaned" for file in of("count-words")), f"{TABLE}: stale"}
    assert set(generate(tree)) == {*(f"removed {file}" for file in of("count-words")), f"wrote {TABLE}"}
    assert not [file for file in of("count-words") if (tree / file).exists()]


def test_a_line_of_an_interface_that_does_not_parse_is_named_with_file_and_line(tree):
    node = tree / "nodes" / "count_words.py"
    node.write_text(node.read_text().replace(": int [pipe]", ": integer [pipe]"))
    with pytest.raises(PflowError, match=r"nodes/count_words\.py:9: .*'integer'"):
        check(tree)
    with pytest.raises(PflowError, match=r"nodes/count_words\.py:9: "):
        generate(tree)


@pytest.mark.parametrize("source", ["", "class Count:\n    pass\n", 'class Count:\n    """Only prose."""\n'])
def test_a_node_without_an_interface_is_refused(tree, source):
    (tree / "nodes" / "count.py").write_text(source)
    with pytest.raises(PflowError, match=r"cannot find an interface in '.*nodes/count\.py'"):
        generate(tree)


def test_a_node_and_a_tool_cannot_have_one_name(tree):
    (tree / "nodes" / "get.py").write_text(NODE.format(name="Get"))
    with pytest.raises(PflowError, match=r"nodes/get\.py"):
        generate(tree)
