"""Files within bounds: however a directory and a link are swapped meanwhile, nothing outside is read or written."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext

import pytest

from pflow.errors import PflowError
from pflow.files.beneath import CONFINED, ROOT
from pflow.files.file_paths import read_whole, write_whole
from pflow.nodes.copy_file import CopyFile
from pflow.nodes.delete_file import DeleteFile
from pflow.nodes.list_files import ListFiles
from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.move_file import MoveFile

SECRET = "outside,secret\n1,2\n"
CALLS = ("open", "stat", "readlink", "rename", "unlink", "mkdir", "link", "symlink", "scandir")


def run(node, shared, **params):
    made = node()
    made.set_params(params)
    made.run(shared)
    return shared


ACTS = {
    "read": lambda: read_whole("d/f.txt", bytes.decode),
    "load": lambda: run(LoadCsv, {"path": "d/f.txt"}),
    "list": lambda: run(ListFiles, {"pattern": "d/*", "directory": "."}),
    "list any depth": lambda: run(ListFiles, {"pattern": "d/**/*", "directory": "."}, kind="all"),
    "make": lambda: write_whole("d/deep/er/new.txt", "x"),
    "replace": lambda: write_whole("d/f.txt", "x"),
    "write by a link": lambda: write_whole("l/f.txt", "x"),
    "append": lambda: write_whole("d/f.txt", b"x", adds=True),
    "only make": lambda: write_whole("d/new.txt", "x", overwrite=False),
    "copy out of it": lambda: run(CopyFile, {"path": "d/f.txt", "destination": "copy.txt"}),
    "copy into it": lambda: run(CopyFile, {"path": "a.txt", "destination": "d/"}),
    "move out of it": lambda: run(MoveFile, {"path": "d/f.txt", "destination": "moved.txt"}),
    "move into it": lambda: run(MoveFile, {"path": "a.txt", "destination": "d/f.txt"}),
    "move, not over": lambda: run(MoveFile, {"path": "a.txt", "destination": "d/g.txt"}, overwrite=False),
    "delete": lambda: run(DeleteFile, {"path": "d/f.txt"}),
}


class Swap:
    """Swaps the directory d and a link out, before call number `at`; with `back`, back before the next one."""

    def __init__(self, monkeypatch, at, *, back):
        self.at, self.back, self.calls, self.is_swapped = at, back, 0, False
        self.rename = os.rename
        for name in CALLS:
            monkeypatch.setattr(os, name, self.watched(getattr(os, name)))

    def watched(self, call):
        def watched_call(*arguments, **named):
            self.calls += 1
            if self.calls == self.at or (self.is_swapped and self.back):
                self.swap()
            return call(*arguments, **named)

        return watched_call

    def swap(self):
        for one, other in (("d", "aside"), ("out", "d"), ("aside", "out")):
            self.rename(one, other)
        self.is_swapped = not self.is_swapped


def make_tree(top):
    for folder in ("here/d", "outside/deep"):
        (top / folder).mkdir(parents=True)
    for name in ("here/a.txt", "here/d/f.txt"):
        (top / name).write_text("inside\n")
    (top / "outside" / "f.txt").write_text(SECRET)
    (top / "here" / "out").symlink_to(top / "outside")
    (top / "here" / "l").symlink_to("d")


def read_tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize(("variable", "back"), [(ROOT, True), (CONFINED, False)])
@pytest.mark.parametrize("act", ACTS)
def test_a_swap_at_any_moment_leads_nothing_out(act, variable, back, tmp_path, monkeypatch):
    done = 0
    for at in range(1, 200):
        top = tmp_path / str(at)
        make_tree(top)
        before, here = read_tree(top / "outside"), str(top / "here")
        bounds = json.dumps({"here": here, "folders": [], "programs": []})
        with monkeypatch.context() as patched:
            patched.chdir(here)
            patched.setattr(os, "fsync", lambda fd: None)
            patched.setenv(variable, here if variable == ROOT else bounds)
            swap = Swap(patched, at, back=back)
            try:
                got, done = str(ACTS[act]()), done + 1
            except (PflowError, OSError) as error:
                got = str(error)
        assert read_tree(top / "outside") == before, (at, got)
        inside = [path for path in (top / "here").glob("**/*") if path.is_file() and not path.is_symlink()]
        assert not any("secret" in text for text in (got, *(path.read_text() for path in inside))), (at, got)
        if swap.calls < at:  # it ended before that moment
            break
    assert 5 < at < 199
    assert done


LINKS = {"sideways": "../more", "round": "../here/d/f.txt", "loop": "loop", "dot": ".env", "self": "."}
HELD = "it is not below a directory that is allowed"
PATHS = [
    *((path, "") for path in ("d/f.txt", "l/f.txt", "d/../d/f.txt", "./d//f.txt", "../here/d/f.txt", "round")),
    *((path, "") for path in ("sideways/f.txt", "../more/.hidden", "self/self/a.txt", "sideways/../here/a.txt")),
    *((path, "") for path in ("new/er/f.txt", "../more/new/er.txt")),
    *((path, HELD) for path in ("../outside/f.txt", "out/f.txt", "nothing/../../outside/f.txt", "self/../new.txt")),
    *((path, HELD) for path in ("../new/f.txt", "/dev/stdout", "/dev/null", "/proc/self/cwd/../outside/f.txt")),
    *((path, "it is hidden") for path in (".env", "dot", ".new/f.txt", "d/.new", "self/.env")),
    ("program", "a step of this run starts it"),
    ("loop", "too many levels of symbolic links"),
    ("a.txt/f.txt", "not a directory"),
    ("d/", "is a directory"),
]


@pytest.mark.parametrize(("path", "fault"), PATHS)
def test_a_path_is_written_where_its_links_lead_if_that_is_within_bounds(path, fault, tmp_path, monkeypatch):
    make_tree(tmp_path)
    here = tmp_path / "here"
    (tmp_path / "more").mkdir()
    (here / "program").touch()
    for name, target in LINKS.items():
        (here / name).symlink_to(target)
    bounds = {"here": str(here), "folders": [str(tmp_path / "more")], "programs": [str(here / "program")]}
    monkeypatch.chdir(here)
    monkeypatch.setenv(CONFINED, json.dumps(bounds))
    before = read_tree(tmp_path)
    if fault:
        with pytest.raises(PflowError, match=fault):
            write_whole(path, "x")
        assert read_tree(tmp_path) == before
    else:
        write_whole(path, "x")
        assert read_whole(path, bytes.decode) == "x"
        monkeypatch.delenv(CONFINED)
        assert read_whole(path, bytes.decode) == "x"


@pytest.mark.parametrize("count", [40, 41])
def test_forty_links_are_followed_as_by_the_kernel(count, tmp_path, monkeypatch):
    (tmp_path / "0").write_text("x")
    for number in range(count):
        (tmp_path / str(number + 1)).symlink_to(str(number))
    monkeypatch.setenv(ROOT, str(tmp_path))
    with nullcontext() if count == 40 else pytest.raises(PflowError, match="too many levels of symbolic links"):
        assert read_whole(str(tmp_path / str(count)), bytes.decode) == "x"


@pytest.mark.parametrize("act", ["read", "append"])
def test_a_file_that_becomes_a_link_at_the_last_moment_is_not_followed(act, tmp_path, monkeypatch):
    make_tree(tmp_path)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv(ROOT, str(tmp_path / "here"))
    before, really_open = read_tree(tmp_path / "outside"), os.open

    def swap_and_open(path, flags, *arguments, **named):
        if path == "f.txt":
            (tmp_path / "here" / "d" / "f.txt").unlink()
            (tmp_path / "here" / "d" / "f.txt").symlink_to(tmp_path / "outside" / "f.txt")
        return really_open(path, flags, *arguments, **named)

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises((PflowError, OSError)):
        ACTS[act]()
    assert read_tree(tmp_path / "outside") == before
