"""The ledger of a map: the first success wins, kill -9 loses nothing committed, and ledgers of shards become one."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.commands._dispatch import run as pflow
from pflow.errors import PflowError
from pflow.files import directories
from pflow.map import ledger_file
from pflow.map.ledger import BEGUN, DONE, TODO, Ledger, item_digest, parse_shard, share_of

ABOUT = {"flow": "f1", "nodes": {}}


def result(status=DONE, **about):
    ended = {"exit": 0 if status == DONE else 1, "outputs": {"text": "ok"}, "carried": "text", "error": ""}
    return {"status": status, **ended, "usage": {}, "ms": 1.5, **about}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "new" / "map.db")


ASKED = {"model": None, "cost": 1.5, "calls": 3, "unpriced": 0}


def opened(path, about=ABOUT, run="R"):
    ledger = Ledger(path)
    ledger.begin(about, run)
    return closing(ledger)


@pytest.mark.parametrize("damaged", [b'"m\xe6mm"', b'"mm"m"'], ids=["UTF-8", "JSON"])
def test_a_damaged_text_in_a_ledger_is_bad_data(path, damaged):
    with opened(path) as ledger:
        ledger.end(ledger.claim(0, "digest").id, result(usage={"model": "mmmm"}))
    file = Path(path)
    file.write_bytes(file.read_bytes().replace(b'"mmmm"', damaged))
    with pytest.raises(PflowError, match="the ledger") as bad, closing(Ledger(path, is_read=True)) as ledger:
        _ = [*ledger.entries()]
    assert bad.value.exit == 65


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("items SET outputs = 'done'", "'digest.0' of 'items'"),
        ("items SET usage = '{\"cost\":1e999}'", "'digest.0' of 'items'"),
        ("map SET about = '{\"flow\":1e999}'", "of 'map'"),
        ("runs SET usage = '[{\"cost\":1e999}]'", "'R' of 'runs'"),
        ('runs SET seen = \'{"m":{"cost":[]}}\'', "'R' of 'runs'"),
    ],
)
def test_a_damaged_value_is_named_with_its_row_and_what_to_do(path, change, row):
    with opened(path) as ledger:
        ledger.end(ledger.claim(0, "digest").id, result())
    with closing(sqlite3.connect(path)) as base:
        base.execute(f"UPDATE {change}")
        base.commit()
    with pytest.raises(PflowError, match=f"cannot read the ledger .*{row} is damaged") as bad, opened(path) as ledger:
        ledger.usages("R"), [*ledger.entries()]
    assert (bad.value.exit, "its item runs again" in bad.value.hint) == (65, "items" in row)


OPS = st.tuples(st.sampled_from(["claim", "done", "failed", "start", "kill", "resume"]), st.sampled_from("abc"))


@settings(max_examples=40)
@given(st.lists(OPS, max_size=30))
def test_any_order_of_claims_ends_kills_and_resumes_is_that_of_a_model(tmp_path_factory, ops):
    path = str(tmp_path_factory.mktemp("model") / "map.db")
    ledger, seen, kept, model = Ledger(path), set(), {}, {}
    ledger.begin(ABOUT)
    for op, id in ops:
        if op in ("kill", "resume"):
            if op == "kill":
                ledger._base.rollback()
            else:
                kept = dict(model)
            ledger.close()
            ledger, seen, model = Ledger(path), set(), dict(kept)
            ledger.begin(ABOUT)
        elif op == "claim" and id in seen:
            with pytest.raises(PflowError, match=f"has the id '{id}' too"):
                ledger.claim(1, id, id)
        elif op == "claim":
            seen.add(id)
            entry = ledger.claim(1, id, id)
            assert (entry.status, entry.tries, entry.has_begun) == model.setdefault(id, (TODO, 0, False))
        else:
            status, tries, has_begun = model.get(id, (None, 0, False))
            may_change = status not in (None, DONE)
            if op == "start":
                ledger.start(id)
                if may_change:
                    model[id] = (BEGUN, tries, True)
                    kept = dict(model)
            elif may_change:
                assert ledger.end(id, result(op)).tries == tries + 1
                model[id] = (op, tries + 1, has_begun)
    assert {each.id: (each.status, each.tries, each.has_begun) for each in ledger.entries()} == model
    ledger.close()


WRITER = """
import sys
from pflow.map.ledger import Ledger
from tests.map.test_ledger import ABOUT, result
ledger = Ledger(sys.argv[1])
ledger.begin(ABOUT)
for number in range(10**9):
    ledger.claim(number, f"{number:032x}")
    ledger.end(f"{number:032x}.0", result())
    if number % 7 == 6:
        ledger.commit()
        print(number, flush=True)
"""


def test_what_is_committed_survives_kill_9_and_nothing_is_torn(path):
    for lines in (1, 200):
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as writer:
            last = [int(writer.stdout.readline()) for _ in range(lines)][-1]
            with pytest.raises(PflowError, match=f"another map has it: {writer.pid} ") as busy:
                Ledger(path)
            assert busy.value.exit == 75
            with closing(Ledger(path, is_read=True)) as reader:
                assert reader.counts()[DONE] > last
            writer.kill()
        with opened(path) as ledger:
            assert [each.index for each in ledger.entries()] == [*range(ledger.counts()[DONE])]
            assert ledger._base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            for end in ("", "-wal", "-shm"):
                assert os.stat(path + end).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(path)) == ["map.db"]
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_equals_are_counted_and_items_may_come_move_change_and_go(path):
    a, b, other = (item_digest({"n": n}) for n in (1, 2, 3))
    with opened(path) as ledger:
        names = [ledger.claim(at, each).id for at, each in enumerate([a, b, a, a])]
        assert names == [f"{a}.0", f"{b}.0", f"{a}.1", f"{a}.2"]
        assert ledger.claim(4, a, "named").status == TODO
        for id in (f"{a}.0", f"{a}.2", "named"):
            assert ledger.end(id, result(usage={"calls": 1, "cost": 0.5})).usage["cost"] == 0.5
        ledger.note_used({"calls": 3, "tokens": 9, "cost": 1.5}, {})
        assert (ledger.claim_file(f"{a}.0", "f"), ledger.claim_file(f"{b}.0", "f")) == (f"{a}.0", f"{a}.0")
    with opened(path) as ledger:
        assert (ledger.used(), ledger.usages("R")) == ({"calls": 3, "tokens": 9, "cost": 1.5}, [ASKED])
        assert [ledger.claim(at, a).status for at in (7, 8)] == [DONE, TODO]
        assert (ledger.claim(9, other, "named").status, ledger.changed) == (TODO, 1)
        assert ledger.counts() == {DONE: 2, TODO: 3}
        assert ledger.find(f"{a}.2").usage["cost"] == 0.5
        assert (ledger.find("8").id, ledger.find(b[:9]).index) == (f"{a}.0", 1)
        for word in (a[:9], "99", "x"):
            with pytest.raises(PflowError, match="cannot find the item"):
                ledger.find(word)
    with closing(sqlite3.connect(path)) as base:
        found = base.execute("SELECT status, outputs, cost FROM items WHERE position = 3").fetchone()
    assert found == (DONE, '{"text":"ok"}', 0.5)


def test_another_flow_is_refused_unless_it_is_accepted(path):
    with opened(path) as ledger:
        with pytest.raises(PflowError, match="its map had other 'flow'") as refused:
            ledger.begin({**ABOUT, "flow": "f2"})
        assert refused.value.exit == 78
        ledger.begin({**ABOUT, "flow": "f2"}, accepts_changes=True)


@pytest.mark.parametrize("kind", ["text", "sqlite", "directory", "fifo"])
def test_a_file_that_is_no_ledger_is_not_touched(tmp_path, kind):
    file = tmp_path / "mine"
    if kind in ("directory", "fifo"):
        file.mkdir(0o750) if kind == "directory" else os.mkfifo(file, 0o640)
    elif kind == "text":
        file.write_text("mine\n" * 200)
    else:
        with closing(sqlite3.connect(file)) as base:
            base.execute("CREATE TABLE items (id)")
    before = (os.stat(file).st_mode, file.read_bytes() if file.is_file() else b"")
    for is_read in (False, True):
        with pytest.raises(PflowError) as refused:
            Ledger(str(file), is_read=is_read)
        assert refused.value.exit == 65
    assert (os.stat(file).st_mode, file.read_bytes() if file.is_file() else b"") == before
    assert os.listdir(tmp_path) == ["mine"]


def test_a_full_disk_is_73_and_keeps_what_was_committed(path):
    kept = []

    def claim_all(ledger):
        for number in range(10_000):
            ledger.claim(number, item_digest(number))
            ledger.commit()
            kept.append(number)

    with opened(path) as ledger:
        ledger._base.execute("PRAGMA max_page_count = 20")
        with pytest.raises(PflowError, match="full") as full:
            claim_all(ledger)
        assert full.value.exit == 73
    with opened(path) as ledger:
        assert [each.index for each in ledger.entries()] == kept


def test_an_item_is_named_alike_on_every_machine_without_its_secrets():
    item = {"n": 1, "key": "s3cret"}
    assert item_digest(item, {"key"}) == item_digest({"n": 1}) == "d4d502f556707e282306f83504e260c0"
    assert [share_of(text, 4) for text in ("a", "b", "c")] == [2, 2, 2]
    assert {share_of(str(number), 3) for number in range(20)} == {0, 1, 2}


def test_on_a_network_file_system_one_process_has_it_without_shared_memory(path, monkeypatch):
    opened(path).__exit__(None, None, None)
    monkeypatch.setattr(ledger_file, "is_on_network", lambda path: True)
    with opened(path) as ledger:
        ledger.claim(0, "a")
        assert {*os.listdir(os.path.dirname(path))} <= {"map.db", "map.db-journal"}
        with pytest.raises(PflowError, match="another map has it") as busy:
            Ledger(path)
        assert busy.value.exit == 75
        ledger.start("a.0")
    with opened(path) as ledger:
        assert ledger.claim(0, "a").has_begun


@pytest.mark.parametrize(("kind", "is_remote"), [("ext4", False), ("nfs4", True), ("fuse.sshfs", True), (None, True)])
def test_the_type_of_the_nearest_mount_tells_a_network(tmp_path, monkeypatch, kind, is_remote):
    mounts = tmp_path / "mountinfo"
    lines = "1 0 8:1 / / rw - tmpfs t rw\n2 1 0:9 / /data\\040here rw - {} s rw\n3 1 0:3 / /dat rw - nfs s rw\n"
    if kind:
        mounts.write_text(lines.format(kind))
    monkeypatch.setattr(directories, "MOUNTS", str(mounts))
    assert directories.is_on_network("/data here/x/map.db") is is_remote


@pytest.mark.parametrize("way", ["DELETE", "WAL"])
def test_a_ledger_whose_writer_was_killed_is_read_whole_also_as_a_copy(path, tmp_path, way):
    with opened(path) as ledger:
        for number in range(300):
            ledger.end(ledger.claim(number, f"{number}").id, result(error="e" * 100))
    if (pid := os.fork()) == 0:
        base = sqlite3.connect(path)
        base.executescript(f"PRAGMA journal_mode = {way}; PRAGMA cache_size = 1; BEGIN")
        base.execute("UPDATE items SET error = 'x' || error, status = 'poison'")  # which spills into the file
        if way == "WAL":
            base.commit()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    copy = str(tmp_path / "copy.db")
    for end in ("", "-journal", "-wal"):
        if os.path.exists(path + end):
            shutil.copy(path + end, copy + end)
    for file in (copy, path):
        with closing(Ledger(file, is_read=True)) as ledger:
            assert ledger.counts() == {"done" if way == "DELETE" else "poison": 300}


def test_a_ledger_is_one_file_after_each_map_and_as_each_begins(path, tmp_path):
    def counts():
        shutil.copy(path, tmp_path / "copy.db")
        with closing(sqlite3.connect(tmp_path / "copy.db")) as base:
            return dict(base.execute("SELECT status, count(*) FROM items GROUP BY status"))

    with opened(path) as ledger:
        ledger.end(ledger.claim(0, "a").id, result())
        ledger.commit()
        reader = sqlite3.connect(path)
        reader.execute("SELECT * FROM items").fetchall()  # which leaves the file open
    assert counts() == {"done": 1}
    reader.close()
    with opened(path) as ledger:
        ledger.claim(1, "b")
        ledger.commit()
        shutil.copytree(os.path.dirname(path), tmp_path / "killed")
    path = str(tmp_path / "killed" / os.path.basename(path))
    with opened(path):
        assert counts() == {"done": 1, "todo": 1}


def test_a_ledger_without_one_of_its_tables_is_refused(path):
    with opened(path):
        pass
    with closing(sqlite3.connect(path)) as base:
        base.execute("DROP TABLE runs")
    with pytest.raises(PflowError, match="no such table: runs") as refused:
        Ledger(path, is_read=True)
    assert refused.value.exit == 65


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
