"""Ledgers of shards become one, which is that of one local map."""

import os
from contextlib import closing

import pytest

from pflow.commands._dispatch import run as pflow
from pflow.errors import PflowError
from pflow.map.ledger import Ledger, item_digest, share_of
from pflow.map.merge import parse_shard
from tests.map.test_ledger import ABOUT, opened, result

ITEMS = [item_digest({"n": number % 90}) for number in range(100)]


def run(path, shard=0, count=1, failed=(), about=ABOUT):
    with opened(path, about, path) as ledger:
        for index, digest in enumerate(ITEMS):
            if share_of(digest, count) == shard:
                entry = ledger.claim(index, digest)
                ledger.end(entry.id, result("failed" if index in failed else "done", usage={"calls": 1}))
        ledger.note_used({"calls": len([*ledger.entries()]), "tokens": 0, "cost": 0.5}, {})


def items(path):
    with closing(Ledger(path, is_read=True)) as ledger:
        used = [sum(column) for column in zip(*(row[1:4] for row in ledger.runs()), strict=True)]
        return [{**vars(each), "time": 0} for each in ledger.entries()], used


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("local.db")
    for shard in range(4):
        run(f"{shard}.db", shard, 4)


def test_the_merged_ledger_of_all_shards_is_that_of_a_local_map(at, capfd):
    for _ in range(2):  # again, with the output among the ledgers: nothing counts twice
        names = [*(f"{shard}.db" for shard in range(4)), *(["all.db"] if os.path.exists("all.db") else [])]
        assert pflow(["merge", *names, "-o", "all.db"]) == 0
        assert capfd.readouterr().err == "pflow merge: 100 done\n"
    assert items("all.db") == (items("local.db")[0], [100, 0, 2.0])


def test_a_missing_shard_is_told_and_the_first_success_wins(at, capfd):
    run("failed.db", failed=(0, 1))
    assert pflow(["merge", "failed.db", "-o", "all.db"]) == 1
    assert pflow(["merge", "0.db", "1.db", "3.db", "-o", "three.db"]) == 1
    said = capfd.readouterr().err
    assert said.startswith("pflow merge: 98 done, 2 failed\n")
    assert said.endswith(" or more in none of the ledgers\n")
    assert pflow(["merge", "local.db", "-o", "all.db"]) == 0
    assert [each["status"] for each in items("all.db")[0][:2]] == ["done", "done"]


def test_a_run_that_is_merged_again_brings_what_its_answers_take_by_now(at):
    for cost in (1, 2):
        with opened("0.db", run="0.db") as ledger:
            ledger.note_used({"calls": 100, "tokens": 0, "cost": cost}, {"m": {"cost": cost}})
        assert pflow(["merge", "0.db", "-o", "all.db"]) == 1
        with closing(Ledger("all.db", is_read=True)) as united:
            assert [row[5] for row in united.runs()] == [f'{{"m":{{"cost":{cost}}}}}']


def test_ledgers_of_two_maps_and_other_files_are_refused_and_nothing_is_written(at, tmp_path):
    run("other.db", about={**ABOUT, "flow": "f2"})
    (tmp_path / "mine.txt").write_text("mine\n")
    for names, output, code in (
        (["0.db", "other.db"], "new.db", 78), (["0.db"], "other.db", 78), (["0.db", "mine.txt"], "new.db", 65),
        (["0.db", "none.db"], "new.db", 66), (["0.db"], "mine.txt", 65),
    ):  # fmt: skip
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        assert pflow(["merge", *names, "-o", output]) == code
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "", "-1/4", "1/4/2"])
def test_a_shard_is_one_of_1_to_n(text):
    assert (parse_shard("1/4"), parse_shard("4/4")) == ((0, 4), (3, 4))
    with pytest.raises(PflowError, match="--shard=") as refused:
        parse_shard(text)
    assert refused.value.exit == 2
    assert "$((I + 1))" in refused.value.hint
