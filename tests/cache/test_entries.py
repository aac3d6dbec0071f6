"""What is kept is given back as it was or not at all, for its owner alone, and takes no more room than it may."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pflow.cache import directory
from pflow.cache.entries import find, keep, nearest
from pflow.cache.key import Key, KeyPart
from pflow.errors import PflowError
from tests.nodes.child import in_child
from tests.tools import only_root
from tests.values.test_jsontext import VALUES


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pflow" / "results"


def key(**parts):
    return Key("try", [KeyPart("read", name, value) for name, value in parts.items()], {})


def look_up(wanted):
    """What is found, and what is said."""
    said = []
    found = find(wanted, said.append)
    return found and found[0], said


def file_in(results, folder):
    (file,) = [path for path in (results / folder).rglob("*") if path.is_file()]
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(VALUES)
def test_an_answer_comes_back_as_it_was(value):
    keep(key(a=1), {"writes": value})
    assert repr(look_up(key(a=1))) == repr(({"writes": value}, []))
    assert look_up(key(a=2)) == (None, [])


def test_an_answer_that_names_the_place_of_a_file_is_not_kept():
    """The key has no absolute path, so that a project may move; an answer that tells one is of this place alone."""
    of_file = Key("try", [], {'/p"q/a"ü.txt': "D", "b.txt": "D", "/c.txt": "D"})
    for tells in ('see /p"q/a"ü.txt.bak', '/p"q', '/p"q/other.txt', os.path.abspath("b.txt"), os.getcwd()):
        with pytest.raises(PflowError, match="it contains the path of a file"):
            keep(of_file, {"writes": {"copy": [tells]}})
    told = {"writes": {"copy": ["b.txt.bak", '{"file": "/p"}', f'{{"in": "{os.getcwd()}"}}', "/"]}}
    keep(of_file, told)
    assert look_up(of_file)[0] == told


def test_the_newest_answer_counts():
    for answer in ("old", "new"):
        keep(key(a=1), answer, run="R1")
    found = find(key(a=1), print)
    assert found is not None
    assert (found[0], found[1].run, found[1].node) == ("new", "R1", "try")


@pytest.mark.parametrize("folder", ["entries", "blobs"])
def test_a_damaged_answer_is_none(results, folder):
    """Each byte is changed in turn, and the file is cut at each place."""
    keep(key(a=1), {"writes": {"text": "word"}})
    kept = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    damaged = file_in(results, folder)
    whole = kept[damaged]
    cuts = [whole[:at] for at in range(len(whole))]
    for data in [*cuts, *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole)))]:
        for path, content in {**kept, damaged: data}.items():
            path.write_bytes(content)
            path.chmod(0o600)
        found, said = look_up(key(a=1))
        assert found in (None, {"writes": {"text": "word"}})
        assert said or folder == "entries"
        assert said == [] or "the cached answer of 'try' is damaged and made anew" in said[0]


def test_an_entry_under_another_key_is_none(results):
    keep(key(a=1), "one")
    file_in(results, "entries").rename(results / "entries" / "try" / key(a=2).digest)
    assert look_up(key(a=2))[0] is None


def test_what_was_pruned_is_none(results):
    for folder in ("entries", "blobs"):
        keep(key(a=1), "one")
        file_in(results, folder).unlink()
        assert look_up(key(a=1)) == (None, [])


def test_a_directory_in_the_way_of_an_answer_is_removed(results):
    keep(key(a=1), {"writes": {}})
    blob = file_in(results, "blobs")
    blob.unlink()
    (blob / "full").mkdir(parents=True)
    assert look_up(key(a=1)) == (None, [])
    directory.remove(str(blob))
    keep(key(a=1), {"writes": {}})
    assert look_up(key(a=1)) == ({"writes": {}}, [])


def test_the_nearest_entry_is_that_with_most_parts():
    assert nearest(key(a=1, b=2)) is None
    keep(key(a=1, b=1), "one")
    keep(key(a=2, b=1), "two")
    found = nearest(key(a=2, b=2))
    assert found is not None
    assert found.parts["read", "a"] == KeyPart("read", "a", 2).digest


KEEP = """
import os, sys
os.umask(0)
from pflow.cache.entries import find, keep
from pflow.cache.key import Key, KeyPart
for number in range(int(sys.argv[1])):
    keep(Key("try", [KeyPart("read", "a", number)], {}), "x" * 1000)
    assert find(Key("try", [KeyPart("read", "a", number)], {}), print)[0] == "x" * 1000
"""


def start(count, **variables):
    folder = str(Path(directory.__file__).parent.parent.parent)
    command = [sys.executable, "-c", KEEP, str(count)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": folder, **variables}, stderr=subprocess.PIPE)


def test_processes_that_fill_one_entry_all_succeed_and_nobody_else_may_look(results):
    running = [start(20) for _ in range(4)]
    assert [each.communicate()[1] for each in running] == [b""] * 4
    assert {each.returncode for each in running} == {0}
    modes = {path.stat().st_mode & 0o777 for path in (results.parent, *results.parent.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert {path.stat().st_mode & 0o777 for path in results.rglob("*") if path.is_file()} == {0o600}


@pytest.mark.parametrize("point", ["cache.write:1", "cache.written:1", "cache.write:2", "cache.written:2"])
def test_a_process_that_is_killed_leaves_an_answer_or_none(point):
    died = start(1, PFLOW_TESTING="1", PFLOW_FAILPOINT=point)
    died.communicate()
    assert died.returncode == -9
    assert look_up(key(a=0)) == ("x" * 1000 if point == "cache.written:2" else None, [])


def test_a_full_disk_is_said():
    full = start(1, PFLOW_TESTING="1", PFLOW_FAILPOINT="cache.write:1:enospc")
    assert b"cannot write to the cache: no space left on device" in full.communicate()[1]


def age(results, seconds):
    for path in results.rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_atime - seconds, path.stat().st_mtime - seconds))


def test_what_was_not_used_for_longest_goes_first(results, monkeypatch):
    for number in range(10):
        keep(key(a=number), f"{number}" * 100_000)
        age(results, 100)
    assert look_up(key(a=0))[0]  # and is used now
    monkeypatch.setenv("PFLOW_CACHE_SIZE", "600K")
    keep(key(a=10), "x" * 100_000)
    left = [number for number in range(11) if look_up(key(a=number))[0]]
    assert left[0] == 0
    assert left[1:] == list(range(left[1], 11))
    assert 3 < len(left) < 6
    assert sum(status.st_blocks * 512 for _, status in directory.files()) <= 0.8 * (600 << 10)


def test_what_is_in_use_is_never_pruned(monkeypatch):
    monkeypatch.setenv("PFLOW_CACHE_SIZE", "1K")
    for number in range(3):
        keep(key(a=number), "x" * 100_000)
    assert all(look_up(key(a=number))[0] for number in range(3))


def test_pruning_takes_away_what_a_kill_left(results):
    keep(key(a=1), "one")
    draft = results / "blobs" / ".pflow-0123456789abcdef.tmp"
    draft.write_bytes(b"o")
    assert (results / "grown").stat().st_size == 2  # a byte for each file, however small
    assert directory.prune(1 << 30)[0] == 0
    assert sorted(os.path.dirname(path) for path, _ in directory.files()) == [f"{results}/blobs"] * 2 + [
        f"{results}/entries/try"
    ]
    age(results, 100)
    assert (directory.prune(1 << 30)[0], draft.exists(), look_up(key(a=1))[0]) == (1, False, "one")


@pytest.mark.parametrize(
    ("text", "size"), [("", 1 << 30), ("0", 0), ("12", 12), ("3k", 3 << 10), ("500M", 500 << 20), ("2G", 2 << 30)]
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("PFLOW_CACHE_SIZE", text)
    assert directory.size_limit() == size


@pytest.mark.parametrize("text", ["G", "-1", "1.5G", "1GB", "many", "²", " 1", "1P"])
def test_what_is_no_size(monkeypatch, text):
    monkeypatch.setenv("PFLOW_CACHE_SIZE", text)
    with pytest.raises(PflowError, match=f"cannot take PFLOW_CACHE_SIZE='{text}'"):
        directory.size_limit()


def test_a_cache_that_others_may_write_to_is_refused(results):
    assert in_child(lambda: keep(key(a=1), "one")) == 0  # another process: this one has not looked at the cache yet
    for folder, mode in ((results, 0o777), (results.parent, 0o777), (results, 0o720), (results, 0o702)):
        folder.chmod(mode)
        with pytest.raises(PflowError, match="others may write to it"):
            find(key(a=1), print)
        folder.chmod(0o700)
    assert look_up(key(a=1))[0] == "one"


@only_root
def test_a_cache_of_another_user_is_refused(results, tmp_path):
    assert in_child(lambda: keep(key(a=1), "one")) == 0
    results.rename(tmp_path / "elsewhere")
    results.symlink_to(tmp_path / "elsewhere")
    assert in_child(lambda: find(key(a=1), pytest.fail)) == 0
    os.lchown(results, 65534, 65534)
    with pytest.raises(PflowError, match="it belongs to another user"):
        find(key(a=1), print)


def test_without_a_place_there_is_no_cache(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "")
    with pytest.raises(PflowError) as caught:
        keep(key(a=1), "one")
    assert (caught.value.exit, caught.value.message) == (78, "cannot use the cache: its directory is unknown")
