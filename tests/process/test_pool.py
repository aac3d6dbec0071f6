"""Work in warm processes and threads: what comes back, what hangs, what dies, and that nothing is left."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pflow.process.pool import Died, Pool
from tests.process.test_worker import is_running, pids_in, until
from tests.process.test_worker import marks as marks

HOW = pytest.mark.parametrize("threads", [False, True])


@pytest.fixture
def hurried(monkeypatch):
    """A pool soon looks for what hangs, and gives it little time."""
    monkeypatch.setattr("pflow.process.pool.GRACE", 0.2)
    monkeypatch.setattr("pflow.process.pool._LOOK", 0.05)


@pytest.fixture
def executor(monkeypatch):  # what is replaced is replaced until the end
    """Makes executors, and closes them: then no child is left."""
    made = []

    def make(work, **about):
        made.append(Pool(work, **{"jobs": 2, "threads": False, "ask": print, **about}))
        return made[-1]

    yield make
    for each in made:
        pids = [worker.pid for worker in each.workers]
        each.close()
        assert not any(map(is_running, pids))


def collect(pool, count):
    found = {}
    while len(found) < count:
        found.update(pool.wait(None))
    return found


@HOW
def test_items_come_back_from_few_processes(executor, threads):
    pool = executor(lambda id, item, parent: {"is": [id, item], "pid": os.getpid()}, jobs=4, threads=threads)
    found = {}
    for number in range(200):
        while not pool.has_room():
            found.update(pool.wait(None))
        pool.submit(number, f"id{number}", number)
    found |= collect(pool, 200 - len(found))
    assert [found[number]["is"] for number in range(200)] == [[f"id{number}", number] for number in range(200)]
    assert len({each["pid"] for each in found.values()} - {os.getpid()}) <= (os.cpu_count() if threads else 4)


@HOW
def test_large_messages_go_both_ways_at_once_and_nobody_waits_forever(executor, threads):
    large = "é" * 3_000_000

    def work(id, item, parent):
        return {"item": item, "answer": parent.ask("it", item)}

    pool = executor(work, jobs=6, threads=threads, ask=lambda name, question, reply: reply(question))
    for number in range(6):
        pool.submit(number, "id", large)
    assert [*collect(pool, 6).values()] == [{"item": large, "answer": large}] * 6


def asking(executor, monkeypatch, count, *, jobs, threads=True):
    """An executor whose threads are in one process, and the replies to its items, each of which waits for one."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    asked = {}

    def work(id, item, parent):
        return {"answer": parent.ask("it", id), "pid": os.getpid()}

    pool = executor(work, jobs=jobs, threads=threads, ask=lambda name, question, reply: asked.update({question: reply}))
    for number in range(count):
        pool.submit(number, number, None)
    while len(asked) < count:
        assert pool.wait(None) == []
    return pool, asked


@HOW
def test_answers_may_come_later_and_in_any_order(executor, monkeypatch, threads):
    pool, asked = asking(executor, monkeypatch, 3, jobs=3, threads=threads)
    for number in (2, 0, 1):
        asked[number](number * 10)
    assert {number: found["answer"] for number, found in collect(pool, 3).items()} == {0: 0, 1: 10, 2: 20}


@HOW
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_process_that_only_hangs_is_killed_and_replaced(executor, hurried, marks, threads, is_stopped):
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
    (hanging,) = pids_in(marks)
    pool.abandon(0)
    pool.submit(1, "id", "works")
    assert collect(pool, 1)[1]["pid"] != hanging
    until(lambda: pool.wait(0.01) == [] and not is_running(hanging))
    pool.submit(2, "id", "hangs")  # closing ends it


def test_a_late_answer_is_dropped_and_a_process_most_of_whose_threads_hang_gets_no_more_work(
    executor, hurried, monkeypatch
):
    pool, asked = asking(executor, monkeypatch, 4, jobs=4)
    (worker,) = pool.workers
    pool.abandon(0)
    assert not pool.has_room()  # its thread is busy
    asked[0]("too late")
    until(lambda: pool.wait(0.01) == [] and pool.has_room())
    asked[1]("in time")
    assert collect(pool, 1)[1]["answer"] == "in time"
    pool.abandon(2)
    pool.abandon(3)
    for number, has_room in ((4, True), (5, False)):
        pool.submit(number, number, None)
        assert (number in worker.numbers) is has_room
        pool.abandon(number)
    until(lambda: pool.wait(0.01) == [] and not is_running(worker.pid))


def test_all_items_of_a_process_that_dies_are_lost_and_each_may_run_alone(executor, monkeypatch):
    pool, asked = asking(executor, monkeypatch, 3, jobs=20)
    os.kill(pid := pool.workers[0].pid, signal.SIGKILL)
    assert {(type(each), each.is_guilty, each.exit, each.message) for each in collect(pool, 3).values()} == {
        (Died, False, 137, "cannot finish: its process is gone: signal 9 killed it")
    }
    assert (pid in asked, asked[0]("to one that is gone")) == (True, None)
    for number in range(3, 11):
        pool.submit(number, number, None, alone=True)
    assert not pool.has_room(alone=True)
    while len(asked) < 12:
        pool.wait(None)
    os.kill(pool.places[3].pid, signal.SIGKILL)
    for number in range(4, 11):
        asked[number](None)
    found = collect(pool, 8)
    assert found.pop(3).is_guilty
    assert len({each["pid"] for each in found.values()}) == 7


def test_a_process_that_grows_is_killed_and_one_that_dies_is_missed_though_its_child_lives(executor, marks):
    def work(id, item, parent):
        kept = b"x" * item
        if not item and (child := os.fork()):
            (marks / str(child)).touch()
            os._exit(3)
        parent.ask("what nobody answers", len(kept))

    own = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    most = own + (400 << 20)  # what is forked has the memory of its parent
    pool = executor(work, memory=most)
    pool.submit(0, "id", 500 << 20)
    pool.submit(1, "id", 0)
    lost = {number: (lost.exit, lost.message.rpartition(": ")[2]) for number, lost in collect(pool, 2).items()}
    assert lost == {0: (71, f"it grew over {most >> 20} MB"), 1: (3, "it exited with 3")}
    with suppress(ProcessLookupError):  # it ends by itself, once it hears that nobody will answer
        os.kill(*pids_in(marks), signal.SIGKILL)
