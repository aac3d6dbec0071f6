"""What was read of nodes' files, kept from one run to the next."""

import json
import os

import pytest

from pflow.catalog.remembered import Remembered, stamp

OLD = 10**15


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pflow" / "nodes.json"


def remember(**texts):
    remembered = Remembered(1)
    for file, text in texts.items():
        remembered.put(f"/{file}/x", "1 2", [text])
    remembered.save()


def recalled(file, mark="1 2"):
    return Remembered(1).get(f"/{file}/x", mark)


def test_a_text_comes_back_for_its_file_and_stamp_alone():
    remember(a='"quoted"\n\x1b\t\\', b="")
    assert (recalled("a"), recalled("b")) == (['"quoted"\n\x1b\t\\'], [""])
    assert (recalled("c"), recalled("a", "1 3")) == (None, None)


def test_it_is_json_for_nobody_else_to_read(cache):
    remember(a="text")
    assert json.loads(cache.read_text())["/a/x"] == ["1 2", "text"]
    assert cache.stat().st_mode & 0o777 == 0o600
    assert cache.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-5],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace("pflow-shell ", "pflow-shell 9"),
        lambda text: text.replace("nodes 1", "nodes 2"),
        lambda text: text.replace('"text"', "7"),
        lambda text: text.replace('"text"', '"text","more"'),
        lambda text: text.replace('["1 2","text"]', "null"),
        lambda text: text + "\0" * (1 << 24),
        lambda text: '{"pflow":' + "[" * 100_000,
    ],
)
def test_what_cannot_be_understood_is_not_there_and_is_written_anew(cache, spoil):
    remember(a="text")
    cache.write_text(spoil(cache.read_text()))
    assert recalled("a") is None
    remember(a="again")
    assert recalled("a") == ["again"]


def test_bytes_that_are_no_text_are_not_there(cache):
    remember(a="text")
    cache.write_bytes(cache.read_bytes().replace(b"text", b"\xff"))
    assert recalled("a") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_may_write_is_not_believed(cache, mode):
    remember(a="text")
    cache.chmod(mode)
    assert recalled("a") is None


@pytest.mark.parametrize("put_it", [os.mkdir, os.mkfifo])
def test_what_is_no_file_neither_hangs_nor_is_written(cache, put_it):
    cache.parent.mkdir()
    put_it(cache)
    remember(a="text")
    assert recalled("a") is None


def test_nothing_new_writes_nothing(cache):
    remember(a="text")
    before = cache.stat().st_mtime_ns, cache.stat().st_ino
    remembered = Remembered(1)
    remembered.get("/a/x", "1 2")
    remembered.save()
    assert (cache.stat().st_mtime_ns, cache.stat().st_ino) == before


def test_other_directories_are_remembered_and_files_that_went_are_forgotten(cache):
    remember(a="text", b="text")
    remembered = Remembered(1)
    remembered.put("/a/y", "1 2", ["text"])
    remembered.save()
    assert list(json.loads(cache.read_text())) == ["pflow", "/b/x", "/a/y"]


def test_it_does_not_grow_for_ever(cache):
    remember(**{f"a{n}": "text" for n in range(10_000)})
    remember(b="text")
    assert list(json.loads(cache.read_text())) == ["pflow", "/b/x"]


def test_a_name_that_is_no_text_is_not_written(cache):
    remembered = Remembered(1)
    remembered.put("/\udc80/x", "1 2", ["text"])
    remembered.save()
    assert not cache.exists()


@pytest.mark.parametrize("place", ["", "relative", "/dev/null"])
def test_without_a_place_nothing_is_remembered(monkeypatch, place):
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    monkeypatch.delenv("HOME", raising=False)
    remember(a="text")
    assert recalled("a") is None


def status(size=1, mtime=OLD, ctime=OLD, inode=1):
    return os.stat_result((0o100644, inode, 0, 1, 0, 0, size, 0, 0, 0), {"st_mtime_ns": mtime, "st_ctime_ns": ctime})


@pytest.mark.parametrize("change", [{"size": 2}, {"mtime": 2}, {"ctime": 2}, {"inode": 2}])
def test_a_stamp_changes_with_a_file_or_the_one_beside_it(change):
    stamps = {stamp(status()), stamp(status(**change)), stamp(status(), status()), stamp(status(), status(**change))}
    assert len(stamps) == 4
    assert stamp(status()) == stamp(status())


def test_a_file_that_changed_just_now_has_no_stamp_whatever_time_it_shows(monkeypatch):
    fresh = status(mtime=7, ctime=2 * OLD)
    assert stamp(fresh)
    for now in (2 * OLD + 1, 2 * OLD - 1):
        monkeypatch.setattr("time.time_ns", lambda now=now: now)
        assert stamp(fresh) == stamp(status(), fresh) == ""
