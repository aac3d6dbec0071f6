"""Items in warm processes and threads: what comes back, what hangs, what dies, and that nothing is left."""

import itertools
import os
import signal
import sqlite3
import time

import pytest

from pflow.errors import PflowError
from pflow.many.executor import Lost
from pflow.many.pool import LocalExecutor
from tests.process.test_workers import in_a_process, is_running, pids_in, until
from tests.process.test_workers import marks as marks

HOW = pytest.mark.parametrize("threads", [False, True])


@pytest.fixture
def executor():
    """Makes executors, and closes them: then no child is left."""
    made = []

    def make(work, *, jobs=2, threads=False, ask=lambda name, question, reply: reply(None), memory=None):
        made.append(LocalExecutor(work, jobs=jobs, threads=threads, ask=ask, memory=memory))
        return made[-1]

    yield make
    for each in made:
        pids = [worker.pid for worker in each.workers]
        each.close()
        assert not any(map(is_running, pids))
        assert not each.workers


def results(executor, items, *, alone=False, first=0):
    """Feed all items as there is room; return what comes, by number."""
    found, rest = {}, list(enumerate(items, first))
    count = len(rest)
    while len(found) < count:
        while rest and executor.has_room(alone=alone):
            number, item = rest.pop(0)
            executor.submit(number, f"id{number}", item, alone=alone)
        found.update(executor.wait(10))
    return found


@HOW
def test_items_of_a_stream_come_back_from_few_processes_and_an_open_database_is_not_touched(executor, threads, tmp_path):
    base = sqlite3.connect(tmp_path / "ledger")
    base.executescript("PRAGMA journal_mode = WAL; CREATE TABLE items (id); BEGIN; INSERT INTO items VALUES (1)")
    pool = executor(lambda id, item, parent: {"is": [id, item], "pid": os.getpid()}, jobs=4, threads=threads)
    found = results(pool, range(200))
    assert [found[number]["is"] for number in range(200)] == [[f"id{number}", number] for number in range(200)]
    assert len({each["pid"] for each in found.values()} - {os.getpid()}) <= (os.cpu_count() if threads else 4)
    pool.close()
    base.commit()
    assert base.execute("SELECT count(*) FROM items").fetchone() == (1,)


@HOW
def test_large_messages_go_both_ways_at_once_and_nobody_waits_forever(executor, threads):
    large = "é" * 3_000_000

    def work(id, item, parent):
        return {"item": item, "answer": parent.ask("it", item)}

    pool = executor(work, jobs=6, threads=threads, ask=lambda name, question, reply: reply(question))
    assert list(results(pool, [large] * 12).values()) == [{"item": large, "answer": large}] * 12


@HOW
def test_answers_may_come_later_and_in_any_order_and_may_be_failures(executor, threads):
    asked = []

    def work(id, item, parent):
        try:
            return {"answer": parent.ask("it", item)}
        except PflowError as error:
            return {"failure": (error.message, error.exit)}

    pool = executor(work, jobs=4, threads=threads, ask=lambda name, question, reply: asked.append((question, reply)))
    for number in range(4):
        pool.submit(number, "id", number)
    while len(asked) < 4:
        assert pool.wait(None) == []
    for question, reply in sorted(asked, key=lambda each: each[0], reverse=True):
        reply(PflowError("no", exit=79) if question == 3 else question * 10)
    found = dict(itertools.chain.from_iterable(iter(lambda: pool.wait(None), [])))
    assert found == {0: {"answer": 0}, 1: {"answer": 10}, 2: {"answer": 20}, 3: {"failure": ("no", 79)}}


@HOW
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_process_that_only_hangs_is_killed_and_replaced(executor, marks, threads, is_stopped):
    def work(id, item, parent):
        if item == "hangs":
            if not threads:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            (marks / str(os.getpid())).touch()
            if is_stopped:
                os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(600)
        return {"pid": os.getpid()}

    pool = executor(work, jobs=1, threads=threads)
    pool.submit(0, "id", "hangs")
    until(lambda: pids_in(marks))
    pool.abandon(0)
    (hanging,) = pids_in(marks)
    assert results(pool, ["works"], first=1)[1]["pid"] != hanging
    until(lambda: pool.wait(0.01) == [] and not is_running(hanging))


def asking(executor, count, **flags):
    """An executor with threads in one process, and the replies to its `count` items, which all wait for an answer."""
    asked = {}
    pool = executor(
        lambda id, item, parent: {"pid": os.getpid(), "answer": parent.ask("it", id)},
        threads=True, ask=lambda name, question, reply: asked.update({question: reply}), **flags,
    )  # fmt: skip
    for number in range(count):
        pool.submit(number, number, None)
    while len(asked) < count:
        pool.wait(None)
    return pool, asked


def test_a_late_answer_is_dropped_and_a_process_most_of_whose_threads_hang_gets_no_more_work(executor, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    pool, asked = asking(executor, 4, jobs=4)
    (worker,) = pool.workers
    pool.abandon(0)
    assert not pool.has_room()  # its thread is busy
    asked[0]("too late")
    asked[1]("in time")
    assert [(number, found["answer"]) for number, found in results_of(pool, 1)] == [(1, "in time")]
    for number in (2, 3):
        assert pool.has_room()
        pool.abandon(number)
    pool.submit(4, 4, None)
    assert 4 in worker.numbers
    pool.abandon(4)
    pool.submit(5, 5, None)
    assert 5 not in worker.numbers
    until(lambda: pool.wait(0.01) == [] and not is_running(worker.pid))


def results_of(pool, count):
    found = []
    while len(found) < count:
        found += pool.wait(None)
    return found


def test_all_items_of_a_process_that_dies_are_lost_and_the_guilty_one_is_found_alone(executor, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    pool, asked = asking(executor, 3, jobs=20)
    os.kill(pool.workers[0].pid, signal.SIGKILL)
    lost = dict(results_of(pool, 3))
    assert {(type(each), each.is_guilty, each.exit, each.message) for each in lost.values()} == {
        (Lost, False, 137, "cannot finish: its process is gone: signal 9 killed it")
    }
    asked[0]("to one that is gone")
    for number in range(3, 11):
        assert pool.has_room(alone=True)
        pool.submit(number, number, None, alone=True)
    assert not pool.has_room(alone=True)
    assert pool.has_room()
    while len(asked) < 11:
        pool.wait(None)
    os.kill(pool.places[3].pid, signal.SIGKILL)
    for number in range(4, 11):
        asked[number](None)
    found = dict(results_of(pool, 8))
    assert found.pop(3).is_guilty
    assert len({each["pid"] for each in found.values()}) == 7
    assert pool.has_room(alone=True)


def test_a_process_that_grows_is_killed_when_it_works_and_replaced_when_it_does_not(executor):
    kept = []

    def work(id, item, parent):
        kept.append(b"x" * item)
        if item == 300 << 20:
            time.sleep(600)
        return {"pid": os.getpid()}

    own = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
    pool = executor(work, jobs=1, memory=own + (200 << 20))
    lost = results(pool, [300 << 20])[0]
    assert (lost.exit, lost.message) == (71, f"cannot finish: its process grew over {pool.memory >> 20} MB")
    idle = results(pool, [250 << 20], first=1)[1]["pid"]
    until(lambda: pool.wait(0.01) == [] and not is_running(idle))
    assert results(pool, [1], first=2)[2]["pid"] != idle


@HOW
def test_nothing_is_left_of_an_executor_whose_process_is_killed(marks, threads):
    def work(id, item, parent):
        (marks / str(os.getpid())).touch()
        time.sleep(600)

    def drive():
        pool = LocalExecutor(work, jobs=4, threads=threads, ask=lambda name, question, reply: None)
        for number in range(4):
            pool.submit(number, "id", None)
        until(lambda: len(pids_in(marks)) == len(pool.workers))
        os.kill(os.getpid(), signal.SIGKILL)

    in_a_process(drive)
    assert pids_in(marks)
    until(lambda: not any(map(is_running, pids_in(marks))))


def test_closing_ends_what_ignores_signals(executor, marks):
    def work(id, item, parent):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (marks / str(os.getpid())).touch()
        time.sleep(600)

    pool = executor(work)
    pool.submit(0, "id", None)
    until(lambda: pids_in(marks))
    pool.close()
    assert not any(map(is_running, pids_in(marks)))
