"""pflow cache: what it tells of the cache, and what it removes."""

import errno
import json
import os

import pytest

from pflow.cache.entries import find, keep, paths
from pflow.cache.key import Key, KeyPart
from pflow.commands._command import run_command
from pflow.commands.cache import command
from pflow.errors import PflowError


def key(node, number):
    return Key(node, [KeyPart("read", "a", number)], {})


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two answers of llm, of which the second has the blob of read-file's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it
    for node, number, answer in (("llm", 1, "one"), ("llm", 2, "both"), ("read-file", 1, "both")):
        keep(key(node, number), answer)
    return tmp_path / "pflow" / "results"


@pytest.fixture
def cache(results, capfd):
    def run(*words):
        code = run_command(command, list(words))
        return code, *capfd.readouterr()

    return run


def answers():
    return sorted(found[0] for node in ("llm", "read-file") for n in (1, 2) if (found := find(key(node, n), print)))


def test_info_counts_what_is_kept(cache, results):
    code, out, err = cache()
    assert (code, err) == (0, "")
    llm, read, total = (line.split("  ") for line in out.splitlines())
    assert (llm[0], read[0], total[0]) == ("llm", "read-file", "in all")
    assert ("2 answers" in llm, "1 answer" in read, total[-1]) == (True, True, str(results))
    assert "KB of 1 GB" in out
    told = json.loads(cache("info", "--json")[1])
    assert [[each["node"], each["answers"]] for each in told["nodes"]] == [["llm", 2], ["read-file", 1]]
    assert told["limit"] == 1 << 30 > told["bytes"] >= 5 * 512


def test_clear_removes_what_a_node_answered_and_nothing_that_others_need(cache, results):
    assert cache("clear", "LLM") == (0, "", "pflow cache: removed 2 answers\n")
    assert answers() == ["both"]
    assert len(list((results / "blobs").iterdir())) == 1
    assert cache("clear") == (0, "", "pflow cache: removed 1 answer\n")
    assert [path.name for path in results.rglob("*") if path.is_file()] == ["grown"]


def test_verify_drops_what_is_damaged(cache, results):
    assert cache("verify") == (0, "", "pflow cache: 3 answers are whole; damaged: 0\n")
    next(blob for blob in (results / "blobs").iterdir() if blob.read_bytes() == b'"both"').write_bytes(b'"born"')
    (results / "entries" / "llm" / key("llm", 1).digest).write_bytes(b"{}")
    code, out, err = cache("verify")
    assert (code, out) == (1, "")
    assert "dropped an answer of 'llm': it is not an entry" in err
    assert "its bytes have changed" in err
    assert answers() == []
    assert list(paths()) == []


def test_prune_says_what_is_left(cache, monkeypatch):
    assert cache("prune")[2].startswith("pflow cache: removed 0 files; ")
    monkeypatch.setenv("PFLOW_CACHE_SIZE", "much")
    with pytest.raises(PflowError, match="cannot take PFLOW_CACHE_SIZE='much'"):
        cache("prune")


@pytest.mark.parametrize("words", [["verify", "llm"], ["prune", "--json"], ["info", "llm"]])
def test_what_goes_with_another_act_is_refused(cache, words):
    with pytest.raises(PflowError) as caught:
        cache(*words)
    assert caught.value.exit == 2


@pytest.mark.parametrize("act", ["clear", "verify"])
def test_a_disk_that_may_only_be_read_is_said(cache, results, monkeypatch, act):
    def refuse(path):
        raise OSError(errno.EROFS, "Read-only file system", path)

    for blob in (results / "blobs").iterdir():
        blob.write_bytes(b"damaged")
    monkeypatch.setattr(os, "unlink", refuse)
    said: list[str] = []
    assert find(key("llm", 1), said.append) is None
    assert "is damaged" in said[0]
    with pytest.raises(PflowError, match="read-only file system") as caught:
        cache(act)
    assert caught.value.exit == 73
