"""list-files: the files that match a pattern."""

from __future__ import annotations

import os
import sys

import pytest

from pflow.errors import PflowError
from pflow.nodes.list_files import ListFiles

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
        ("?.txt", ["B.txt", "a.txt"]),
        ("[a-c].*", ["a.md", "a.txt"]),
        ("[!a].txt", ["B.txt"]),
        ("a.txt", ["a.txt"]),
        ("./a.txt", ["./a.txt"]),
        ("none", []),
        ("none/*.txt", []),
        ("a.txt/*", []),
        ("docs", []),
        ("docs/*.md", ["docs/one.md"]),
        ("docs//*.md", ["docs/one.md"]),
        ("*/*.md", ["docs/one.md"]),
        ("docs/../?.txt", ["docs/../B.txt", "docs/../a.txt"]),
        ("**/*.md", ["a.md", "docs/deep/deep/four.md", "docs/deep/two.md", "docs/one.md"]),
        ("docs/**", ["docs/deep/deep/four.md", "docs/deep/two.md", "docs/one.md"]),
        ("**/deep/*.md", ["docs/deep/deep/four.md", "docs/deep/two.md"]),
        ("**/**/deep/**/two.md", ["docs/deep/two.md"]),
        ("**/four.md", ["docs/deep/deep/four.md"]),
        (".*.txt", [".hidden.txt"]),
        (".git/*", [".git/config.txt"]),
        ("**/.secret/*", ["docs/deep/.secret/three.md"]),
        ("docs/*/.secret/*", ["docs/deep/.secret/three.md"]),
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
        ("docs/deep/..", ["docs/deep/../one.md"]),
    ],
)
def test_paths_begin_with_the_directory(tree, directory, files):
    assert find("*.md", directory) == files


def test_a_directory_may_be_absolute(tree):
    assert find("?.md", str(tree)) == [f"{tree}/a.md"]
    assert find(f"{tree}/?.md") == [f"{tree}/a.md"]


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


def test_a_deep_tree_needs_no_deep_stack(tree):
    depth = 1500
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(tree)
    try:
        assert len(find("**/d", kind="directories")) == depth
    finally:
        for level in range(depth, 0, -1):  # pytest's own way would need a deep stack
            os.rmdir("/".join(["d"] * level))


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
        ("/etc/*", "docs", 2, "it begins at /"),
        ("\0", ".", 65, "holds no NUL"),
    ],
)
def test_what_cannot_be_listed_says_why(tree, pattern, directory, exit, words):
    error = refuse(pattern, directory)
    assert error.exit == exit
    assert words in error.message


def test_a_closed_directory_is_77_and_below_another_it_is_left_out(open_dir):
    (open_dir / "seen").write_text("")
    closed = open_dir / "closed"
    closed.mkdir(mode=0)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            sys.stderr = os.fdopen(writer, "w")
            if os.geteuid() == 0:
                os.setuid(65534)
            found = find("**", str(open_dir))
            print("found", found, file=sys.stderr, flush=True)
            os._exit(refuse("*", str(closed)).exit)
        finally:
            os._exit(99)
    os.close(writer)
    with open(reader) as said:
        lines = said.read().splitlines()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 77
    assert lines == [f"cannot list '{closed}': permission denied, left out", f"found {[str(open_dir / 'seen')]}"]
