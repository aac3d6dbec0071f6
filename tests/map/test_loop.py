"""The loop of a map, with engines that lose, repeat and reorder what they are given."""

import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.driver.budget import Budget
from pflow.map.items import BadItem
from pflow.map.ledger import DONE, FAILED, Ledger
from pflow.map.limiter import Limiter
from pflow.map.loop import TRIES, Halt, ItemPolicy, MapLoop
from pflow.map.report import MapProgress
from pflow.process.pool import Lost


class Engine:
    """Answers in any order, twice, or never; `loses` says how often it loses an item before it answers."""

    def __init__(self, seed=0, room=5, loses=None, fails=(), begins=None, writes=None):
        self.random = random.Random(seed)
        self.room = room
        self.loses = loses or {}
        self.fails = fails
        self.begins = begins
        self.writes = writes or {}
        self.waiting, self.ran, self.alone = [], [], []

    def has_room(self, *, alone=False):
        return len(self.waiting) < self.room

    def submit(self, number, id, item, *, alone=False):
        self.waiting.append((number, id, item))
        self.alone += [item] * alone

    def wait(self, seconds):
        self.random.shuffle(self.waiting)
        count = self.random.randint(1, len(self.waiting))
        now, self.waiting = self.waiting[:count], self.waiting[count:]
        answers = [(number, self._answer(id, item)) for number, id, item in now]
        return answers + self.random.sample(answers, self.random.randint(0, len(answers)))  # again

    def _answer(self, id, item):
        if self.begins:
            self.begins(id)
        if self.loses and self.loses.get(item):
            self.loses[item] -= 1
            return Lost("its process is gone", exit=137)
        self.ran.append(item)
        about = {"usage": {}, "ms": 1.0, "claims": self.writes.get(str(item), [])}
        if item in self.fails:
            return {"status": "failed", "exit": 1, "outputs": None, "carried": "", "error": "no", **about}
        return {"status": "done", "exit": 0, "outputs": {"text": str(item)}, "carried": "text", "error": "", **about}

    def abandon(self, number):
        pass

    def close(self):
        self.waiting = []


class Kept:
    """Rows as they are put."""

    def __init__(self):
        self.rows = {}

    def put(self, index, item, entry):
        assert index not in self.rows
        self.rows[index] = (item, entry.status, entry.outputs)

    def expect(self, index):
        pass

    def flush(self):
        pass


def mapped(path, items, engine, **policy):
    ledger, rows = Ledger(str(path)), Kept()
    ledger.begin({"flow": "f"})
    progress = MapProgress(str(path.parent), "", None)
    loop = MapLoop(enumerate(items), ledger, rows, ItemPolicy(**policy), Limiter(Budget({}), jobs=99), progress)
    engine.begins = engine.begins and loop.start
    try:
        loop.run(engine)
    finally:
        ledger.close()
    return loop, rows.rows


@given(st.integers(), st.lists(st.integers(0, 9), max_size=30), st.dictionaries(st.integers(0, 9), st.integers(1, 2)))
def test_an_engine_that_loses_repeats_and_reorders_gives_the_same_results(tmp_path_factory, seed, items, loses):
    path = tmp_path_factory.mktemp("map") / "l.db"
    engine = Engine(seed, loses=loses)
    loop, rows = mapped(path, items, engine)
    expected = {number: (item, "done", {"text": str(item)}) for number, item in enumerate(items)}
    assert (loop.stopped, loop.progress.failed, rows) == (None, 0, expected)
    assert sorted(engine.ran) == sorted(items)
    again = Engine(seed)
    assert mapped(path, items[::-1], again)[1].keys() == rows.keys()
    assert again.ran == []


def test_what_has_come_is_kept_before_more_is_begun(tmp_path):
    class Looking(Engine):
        def submit(self, number, id, item, *, alone=False):
            with closing(sqlite3.connect(tmp_path / "l.db")) as base:
                (done,) = base.execute("SELECT count(*) FROM items WHERE status = 'done'").fetchone()
            assert done == len(self.ran)
            super().submit(number, id, item)

    assert mapped(tmp_path / "l.db", range(20), Looking())[0].progress.failed == 0


def test_an_item_whose_process_dies_is_tried_alone_and_then_given_up(tmp_path):
    engine = Engine(loses={3: 9})
    loop, rows = mapped(tmp_path / "l.db", range(5), engine)
    assert (rows[3][1], loop.progress.failed, engine.loses[3]) == ("poison", 1, 9 - TRIES)
    assert engine.alone == [3] * (TRIES - 1)


def test_an_item_that_has_begun_what_does_not_repeat_is_left_until_it_is_redone(tmp_path):
    _, rows = mapped(tmp_path / "l.db", range(3), Engine(loses={1: 1}, begins=True))
    assert [rows[index][1] for index in range(3)] == ["done", "begun", "done"]
    again = Engine(begins=True)
    assert mapped(tmp_path / "l.db", range(3), again)[0].progress.failed == 1
    assert again.ran == []
    assert mapped(tmp_path / "l.db", range(3), again, redoes=True)[0].progress.failed == 0
    assert again.ran == [1]


def test_a_failed_item_has_three_tries_over_all_resumes_and_more_when_it_is_asked_for(tmp_path):
    engines = [Engine(fails=[1]) for _ in range(4)]
    for engine in engines:
        mapped(tmp_path / "l.db", range(3), engine)
    assert [engine.ran.count(1) for engine in engines] == [1, 1, 1, 0]
    last = Engine()
    assert mapped(tmp_path / "l.db", range(3), last, retries_failed=True)[0].progress.failed == 0


@pytest.mark.parametrize(("halt", "most"), [(Halt(1), 5), (Halt(3, is_now=True), 7), (Halt(50, is_share=True), 9)])
def test_failures_end_the_map_when_they_are_to(tmp_path, halt, most):
    engine = Engine(fails=range(100))
    loop, _ = mapped(tmp_path / "l.db", range(100), engine, halt=halt)
    assert loop.stopped is not None
    assert loop.progress.done <= most
    assert len(engine.ran) == loop.progress.done or halt.is_now


def test_of_two_items_that_wrote_one_file_on_a_cluster_the_second_fails(tmp_path):
    engine = Engine(room=1, writes={"a": ["f", "g"], "b": ["h"], "c": ["i", "g"]})
    _, rows = mapped(tmp_path / "l.db", "abc", engine)
    assert [rows[index][1] for index in range(3)] == ["done", "done", "failed"]
    with closing(Ledger(str(tmp_path / "l.db"), is_read=True)) as ledger:
        [first, _, third] = ledger.entries()
    assert (third.exit, third.error) == (73, f"cannot keep a file that it wrote: the item {first.id} writes it too")


def test_equal_items_wait_for_the_first_of_them(tmp_path):
    engine = Engine(room=9)
    most = []
    submit = engine.submit

    def watched(number, id, item, **more):
        submit(number, id, item, **more)
        most.append(len([each for each in engine.waiting if each[2] == item]))

    engine.submit = watched
    _, rows = mapped(tmp_path / "l.db", ["a", "a", "b", "a"], engine, shares_equals=True)
    assert len(rows) == 4
    assert engine.ran.count("a") == 3
    assert most[0] == 1


def test_a_named_item_is_known_wherever_it_stands_and_runs_again_when_it_differs(tmp_path):
    items = [{"id": 1, "a": 1}, {"id": "2", "a": 1}]
    engine = Engine()
    mapped(tmp_path / "l.db", items, engine, id_field="id")
    mapped(tmp_path / "l.db", [{"id": "2", "a": 1}, {"id": 1, "a": 2}], engine, id_field="id")
    assert engine.ran[2:] == [{"id": 1, "a": 2}]


def test_an_item_whose_field_gives_it_no_id_of_its_own_fails_and_the_others_run(tmp_path):
    named = [{"id": id} for id in (1, None, {"b": 1}, True, "", 1.5, "1", "1")]
    items = [*named, "x", BadItem("cannot read it", "{"), {"id": 2}]
    for _ in range(2):
        engine = Engine()
        loop, rows = mapped(tmp_path / "l.db", items, engine, id_field="id")
        assert [rows[index][1] for index in sorted(rows)] == [DONE, *[FAILED] * 9, DONE]
        assert loop.progress.failed == 9
    assert engine.ran == []
    with closing(Ledger(str(tmp_path / "l.db"), is_read=True)) as ledger:
        errors = {entry.index + 1: entry.error for entry in ledger.entries()}
        keys = [each for each in map(loop.policy.key, items) if each]
        assert [count for status, *_, count in ledger.states(keys) if status == DONE] == [2]
    named = {number: error for number, error in errors.items() if error.startswith("cannot name item")}
    assert [*named] == [2, 3, 4, 5, 6, 9]
    assert named[3] == "cannot name item 3: its 'id' is {\"b\":1} (--id takes a text or an integer)"
    assert errors[8] == "cannot map item 8: item 1 has the id '1' too"
    whole = [
        index
        for share in (0, 1)
        for index in mapped(tmp_path / f"{share}", items, Engine(), id_field="id", shard=(share, 2))[1]
    ]
    assert sorted(whole) == [*range(11)]
