"""Setup puts files below a prefix, and --undo leaves the tree as it was, whatever happened between the two."""

import fcntl
import itertools
import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.setup import work
from pflow.setup.changes import CHANGED, FOUND, KEEP, REMOVE, UPDATE, WRITE
from pflow.setup.places import RECORD, find_places
from pflow.setup.record import read_record
from pflow.setup.work import put, take_away

from .conftest import WANTED, listing


def files_below(places) -> dict[str, bytes]:
    share = Path(places.share)
    found = {str(path.relative_to(share)): path.read_bytes() for path in share.rglob("*") if path.is_file()}
    found.pop(RECORD, None)
    return found


def test_the_files_are_there_and_undo_leaves_the_tree_as_it_was(tmp_path, places):
    before = listing(tmp_path)
    assert put(places, WANTED, None).files == dict.fromkeys(WANTED, WRITE)
    assert files_below(places) == WANTED
    report = take_away(places)
    assert report is not None
    assert report.files == dict.fromkeys(WANTED, REMOVE)
    assert listing(tmp_path) == before


def test_directories_that_were_there_stay_with_what_is_in_them(tmp_path, places):
    for name in ("man/man1", "fish/vendor_completions.d", "pflow/nodes"):
        Path(places.share, name).mkdir(parents=True, mode=0o711)
    Path(places.share, "man/man1/other.1").write_text("another's")
    before = listing(tmp_path)
    put(places, WANTED, None)
    take_away(places)
    assert listing(tmp_path) == before


def test_what_others_put_there_meanwhile_stays(tmp_path, places):
    put(places, WANTED, None)
    Path(places.share, "zsh/site-functions/_other").write_text("another's")
    Path(places.share, "pflow/nodes").mkdir()
    take_away(places)
    assert files_below(places) == {"zsh/site-functions/_other": b"another's"}
    assert Path(places.share, "pflow/nodes").is_dir()
    assert not Path(places.share, "man").exists()


def test_a_second_setup_updates_writes_anew_and_removes_what_is_no_longer_wanted(tmp_path, places):
    before = listing(tmp_path)
    put(places, WANTED, None)
    Path(places.path("zsh/site-functions/_pflow")).unlink()
    wanted = {"man/man1/pflow.1": b"a newer page", "zsh/site-functions/_pflow": b"for zsh", "man/man7/x.7": b"new"}
    assert put(places, wanted, None).files == {
        "man/man1/pflow.1": UPDATE,
        "zsh/site-functions/_pflow": WRITE,
        "man/man7/x.7": WRITE,
        "fish/vendor_completions.d/pflow.fish": REMOVE,
    }
    assert files_below(places) == wanted
    assert not Path(places.share, "fish").exists()
    assert put(places, wanted, None).files == dict.fromkeys(wanted, KEEP)
    take_away(places)
    assert listing(tmp_path) == before


def test_a_file_that_was_changed_since_is_left(places):
    put(places, WANTED, None)
    Path(places.path("man/man1/pflow.1")).write_text("a page with my notes")
    assert put(places, WANTED | {"man/man1/pflow.1": b"newer"}, None).files["man/man1/pflow.1"] == CHANGED
    report = take_away(places)
    assert report is not None
    assert report.files["man/man1/pflow.1"] == CHANGED
    assert files_below(places) == {"man/man1/pflow.1": b"a page with my notes"}


def test_a_file_that_became_a_link_is_left_and_not_followed(tmp_path, places):
    put(places, WANTED, None)
    page = Path(places.path("man/man1/pflow.1"))
    page.rename(tmp_path / "elsewhere")
    page.symlink_to(tmp_path / "elsewhere")
    assert put(places, WANTED | {"man/man1/pflow.1": b"newer"}, None).files["man/man1/pflow.1"] == CHANGED
    take_away(places)
    assert (tmp_path / "elsewhere").read_bytes() == b"a page"
    assert page.is_symlink()


def test_a_foreign_file_in_the_way_is_refused_before_anything_is_done(tmp_path, places):
    for name in ("zsh/site-functions/_pflow", "fish/vendor_completions.d/pflow.fish"):
        Path(places.path(name)).parent.mkdir(parents=True)
        Path(places.path(name)).write_text("another's")
    before = listing(tmp_path)
    with pytest.raises(PflowError, match=r"cannot write '.*/_pflow' and 1 more: another file is there") as caught:
        put(places, WANTED, None)
    assert caught.value.exit == 73
    assert listing(tmp_path) == before


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/nowhere", path), os.mkfifo])
def test_what_is_no_file_is_in_the_way_too(places, make):
    Path(places.path("man/man1")).mkdir(parents=True)
    make(places.path("man/man1/pflow.1"))
    with pytest.raises(PflowError, match="another file is there"):
        put(places, WANTED, None)


def test_a_foreign_file_that_is_the_same_stays_a_foreign_file(tmp_path, places):
    Path(places.path("man/man1")).mkdir(parents=True)
    Path(places.path("man/man1/pflow.1")).write_bytes(b"a page")
    before = listing(tmp_path)
    assert put(places, WANTED, None).files["man/man1/pflow.1"] == FOUND
    take_away(places)
    assert listing(tmp_path) == before


def test_a_dry_run_touches_nothing(tmp_path, places):
    before = listing(tmp_path)
    assert put(places, WANTED, None, is_dry=True).files == dict.fromkeys(WANTED, WRITE)
    assert take_away(places, is_dry=True) is None
    assert listing(tmp_path) == before
    put(places, WANTED, None)
    there = listing(tmp_path)
    assert put(places, WANTED | {"man/man1/pflow.1": b"newer"}, None, is_dry=True).files["man/man1/pflow.1"] == UPDATE
    report = take_away(places, is_dry=True)
    assert report is not None
    assert report.files == dict.fromkeys(WANTED, REMOVE)
    assert listing(tmp_path) == there


def test_where_there_is_nothing_there_is_nothing_to_undo(places, tmp_path):
    assert take_away(places) is None
    (tmp_path / "file").touch()
    assert take_away(find_places(str(tmp_path / "file"))) is None


def test_a_prefix_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PflowError, match="it is not a directory") as caught:
        put(find_places(str(tmp_path / "file")), WANTED, None)
    assert caught.value.exit == 73


@pytest.mark.parametrize("name", ["a prefix", "new\nline", "$(touch x)", "'\"", "ünï"])
def test_a_prefix_may_have_any_name(tmp_path, name):
    before = listing(tmp_path)
    places = find_places(str(tmp_path / name))
    put(places, WANTED, None)
    assert files_below(places) == WANTED
    take_away(places)
    assert listing(tmp_path) == before


def test_a_relative_prefix_begins_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_places("x/../y").share == str(tmp_path / "y" / "share")
    assert find_places("~/x").share == str(tmp_path / "home" / "x" / "share")


def test_when_a_write_fails_the_first_setup_is_taken_back(tmp_path, places, monkeypatch):
    before = listing(tmp_path)

    def full(path, data, **more):
        if path.endswith("pflow.fish"):
            raise OSError(28, "No space left on device", path)
        return replace(path, data, **more)

    replace = work.replace
    monkeypatch.setattr(work, "replace", full)
    with pytest.raises(PflowError, match=r"cannot write '.*pflow.fish': no space left") as caught:
        put(places, WANTED, None)
    assert caught.value.exit == 73
    assert listing(tmp_path) == before


def test_a_record_that_is_none_is_said(places):
    Path(places.home).mkdir(parents=True)
    for text in (
        "{",
        "[]",
        '{"files": {"../../x": ["1"]}, "directories": [], "zshrc": {}}',
        '{"files": {"/etc/x": []}}',
    ):
        Path(places.path(RECORD)).write_text(text)
        for act in (lambda: put(places, WANTED, None), lambda: take_away(places)):
            with pytest.raises(PflowError, match=r"it is no record of pflow setup") as caught:
                act()
            assert caught.value.exit == 65


def killed_at(moment: int, act) -> bool:
    """Run `act` in a child that is killed at its so many-th change of the file system; whether it was."""
    pid = os.fork()
    if pid == 0:
        moments = itertools.count(1)  # files are written by several threads: each gets its own number

        def die_at(function):
            def call(*words, **more):
                if next(moments) == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*words, **more)

            return call

        for name in ("mkdir", "rename", "link", "unlink", "rmdir"):
            setattr(os, name, die_at(getattr(os, name)))
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


NEWER = {"man/man1/pflow.1": b"newer", "man/man7/new.7": b"new", "zsh/site-functions/_pflow": b"for zsh"}


@pytest.mark.parametrize("act", ["first", "update", "undo"])
@pytest.mark.parametrize("then", ["undo", "setup"])
def test_killed_at_any_moment_it_leaves_what_can_be_finished(tmp_path, act, then):
    moment = 0
    was_killed = True
    while was_killed:
        moment += 1
        root = tmp_path / f"at-{moment}"
        (root / "prefix" / "share" / "man").mkdir(parents=True)
        places = find_places(str(root / "prefix" if act != "first" else root / "prefix" / "deep"))
        before = listing(root)
        if act != "first":
            put(places, WANTED, None)
        words = (places,) if act == "undo" else (places, NEWER, None)
        was_killed = killed_at(moment, partial(take_away if act == "undo" else put, *words))
        if then == "setup":
            put(places, WANTED, None)
            assert files_below(places) == WANTED
        take_away(places)
        assert listing(root) == before, f"killed at {moment}"
    assert moment > 8


def test_nobody_else_may_write_where_zsh_reads(places):
    mask = os.umask(0)
    try:
        put(places, WANTED, None)
    finally:
        os.umask(mask)
    for path in Path(places.share, "zsh").rglob("*"):
        assert path.stat().st_mode & 0o022 == 0


def test_two_at_a_time_take_turns(tmp_path, places, monkeypatch):
    before = listing(tmp_path)
    errors = []

    def run():
        try:
            put(places, WANTED, None)
        except BaseException as error:  # an assertion in a thread is lost
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert files_below(places) == WANTED
    take_away(places)
    assert listing(tmp_path) == before


def test_one_waits_while_another_holds_the_prefix(places):
    put(places, WANTED, None)
    fd = os.open(places.home, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    thread = threading.Thread(target=take_away, args=[places])
    thread.start()
    assert files_below(places) == WANTED
    os.close(fd)
    thread.join()
    assert files_below(places) == {}


def test_the_record_names_the_version_and_every_file_with_its_digest(places):
    put(places, WANTED, None)
    record = read_record(places.path(RECORD))
    assert record is not None
    assert record.files.keys() == WANTED.keys()
    assert all(len(digests) == 1 and len(digests[0]) == 64 for digests in record.files.values())
    assert Path(places.path(RECORD)).read_text().startswith('{"by":"pflow-shell ')
