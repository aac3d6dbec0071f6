"""list-files: the files that match a pattern."""

from __future__ import annotations

import os
import sys

import pytest

from pflow.errors import PflowError
from pflow.nodes.list_files import ListFiles
from tests.nodes.child import as_nobody

FILES = [
    "B.txt",
    "a.md",
    "a.txt",
    ".hidden.txt",
    "docs/one.md",
    "docs/deep/two.md",
    "docs/deep/.secret/three.md",
    "docs/deep/deep/four.md",
    ".git/config.txt",
    "odd [name]\n.txt",
]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def find(pattern: object, directory: object = None, **params: object) -> list[object]:
    node = ListFiles()
    node.set_params(params)
    shared = {"pattern": pattern} | ({} if directory is None else {"directory": directory})
    node.run(shared)
    return shared["files"]


def refuse(pattern: object, directory: object = None) -> PflowError:
    with pytest.raises(PflowError) as caught:
        find(pattern, directory)
    return caught.value


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.txt", ["B.txt", "a.txt", "odd [name]\n.txt"]),
        ("[a-c].*", ["a.md", "a.txt"]),
        ("[!a].txt", ["B.txt"]),
        ("docs", []),
        ("none", []),
        ("docs/../?.txt", ["docs/../B.txt", "docs/../a.txt"]),
        ("docs//*.md", ["docs/one.md"]),
        ("*/*.md", ["docs/one.md"]),
        ("**/*.md", ["a.md", "docs/deep/deep/four.md", "docs/deep/two.md", "docs/one.md"]),
        ("docs/**", ["docs/deep/deep/four.md", "docs/deep/two.md", "docs/one.md"]),
        ("**/deep/*.md", ["docs/deep/deep/four.md", "docs/deep/two.md"]),
        (".*.txt", [".hidden.txt"]),
        ("*[[]name]*", ["odd [name]\n.txt"]),
    ],
)
def test_a_pattern_finds(tree, pattern, files):
    assert find(pattern) == files


@pytest.mark.parametrize(
    ("directory", "files"),
    [
        ("docs", ["docs/one.md"]),
        ("docs/", ["docs/one.md"]),
        ("./docs", ["./docs/one.md"]),
    ],
)
def test_paths_begin_with_the_directory(tree, directory, files):
    assert find("*.md", directory) == files
    assert find(f"{tree}/docs/*.md") == find("*.md", f"{tree}/docs") == [f"{tree}/docs/one.md"]


def test_hidden_names_match_when_asked_for(tree):
    assert find("*.txt", hidden=True) == [".hidden.txt", "B.txt", "a.txt", "odd [name]\n.txt"]
    assert find("**/*e*.md", hidden=True) == ["docs/deep/.secret/three.md", "docs/one.md"]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("files", ["a.md", "link-to-file"]),
        ("directories", ["docs", "link-to-docs"]),
        ("all", ["a.md", "dangling", "docs", "fifo", "link-to-docs", "link-to-file"]),
    ],
)
def test_a_kind_is_listed(tree, kind, found):
    (tree / "link-to-file").symlink_to("a.md")
    (tree / "link-to-docs").symlink_to("docs")
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "fifo")
    assert [name for name in find("*", kind=kind) if name.islower() and ".txt" not in name] == found


def test_any_depth_does_not_go_through_links(tree):
    (tree / "docs/loop").symlink_to("..")
    (tree / "docs/self").symlink_to(".")
    assert find("docs/**/one.md") == ["docs/one.md"]
    assert find("docs/self/*.md") == ["docs/self/one.md"]


def test_many_wildcards_take_no_forever(tree):
    deep = tree.joinpath(*["a"] * 30)
    deep.mkdir(parents=True)
    (deep / "end").write_text("")
    assert find("/".join(["**", "a"] * 12) + "/**/end") == ["a/" * 30 + "end"]


def test_names_are_sorted_by_their_bytes(tmp_path):
    names = [b"Z", b"a", "é".encode(), "\U0001f600".encode(), "\uffff".encode(), b"\xff"]
    for name in names:
        open(os.fsencode(tmp_path) + b"/" + name, "w").close()
    found = [os.path.basename(os.fsencode(path)) for path in find("*", str(tmp_path))]
    assert found == [b"Z", b"a", "é".encode(), "\uffff".encode(), "\U0001f600".encode(), b"\xff"]


def test_a_name_that_is_not_utf_8_comes_as_bytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (b"caf\xe9.txt", b"cafe.txt"):
        open(name, "w").close()
    assert find("caf?.txt") == ["cafe.txt", b"caf\xe9.txt"]


@pytest.mark.parametrize(
    ("pattern", "directory", "exit", "words"),
    [
        ("*", "none", 66, "cannot list 'none': no such file or directory"),
        ("*", "a.txt", 66, "cannot list 'a.txt': not a directory"),
        ("", ".", 66, "the pattern is empty"),
        ("*", "", 66, "the directory is empty"),
        ("/etc/*", "docs", 2, "it begins with /"),
        ("\0", ".", 65, "cannot contain NUL"),
    ],
)
def test_what_cannot_be_listed_says_why(tree, pattern, directory, exit, words):
    error = refuse(pattern, directory)
    assert error.exit == exit
    assert words in error.message


@pytest.mark.rights
def test_a_closed_directory_is_77_and_below_another_it_is_left_out(open_dir):
    (open_dir / "seen").write_text("")
    closed = open_dir / "closed"
    closed.mkdir(mode=0)
    said = open_dir / "said"

    def list_both() -> None:
        with open(said, "w") as sys.stdout:
            os.dup2(sys.stdout.fileno(), 2)
            print("found", find("**", str(open_dir)))
        find("*", str(closed))

    assert as_nobody(list_both) == 77
    found = [str(open_dir / name) for name in ("said", "seen")]
    assert said.read_text().splitlines() == [f"cannot list '{closed}': permission denied, left out", f"found {found}"]
