"""Work in child processes: order, failures, and that none is left."""

import os
import signal
import sys
import time
from contextlib import suppress

import pytest

from pflow.engine.context import StepFailed
from pflow.errors import PflowError
from pflow.process.children import run
from pflow.process.loop import run_all
from pflow.process.pool import Died
from pflow.process.signals import Deadline, TimedOut, catch_signals


@pytest.fixture
def marks(tmp_path):
    """A folder in which processes show that they are there, by their ids."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def nothing(line):
    raise AssertionError(line)


def by(answer):
    """Answer at once by a function, but for what is lost."""
    return lambda name, question, reply: reply(answer(name, question)) if name != "lost" else None


def test_results_come_in_order_from_processes_that_are_used_again_or_not():
    def work(number, parent):
        return number, os.getpid()

    for is_reused in (True, False):
        found = run_all(9, work, jobs=2, is_reused=is_reused, take=nothing)
        pids = {pid for _, pid in found}
        assert [number for number, _ in found] == list(range(9))
        assert len(pids) <= 2 if is_reused else len(pids) == 9
        assert os.getpid() not in pids
    assert run_all(0, work, jobs=3, is_reused=True, take=nothing) == []


def test_large_results_and_lines_arrive_whole():
    lines = []

    def work(number, parent):
        parent.take(b"x" * 300_000)
        return "é" * 1_000_000

    assert run_all(3, work, jobs=None, is_reused=False, take=lines.append) == ["é" * 1_000_000] * 3
    assert lines == [b"x" * 300_000] * 3


@pytest.mark.parametrize(
    ("error", "kind", "exit", "message"),
    [
        (PflowError("cannot", hint="do", exit=66), PflowError, 66, "cannot"),
        (StepFailed("a", "n", PflowError("cannot", exit=77)), StepFailed, 77, "cannot"),
        (ValueError("odd"), PflowError, 70, "a bug in pflow: ValueError: odd"),
        (SystemExit(3), PflowError, 1, "it raised SystemExit"),
        (KeyboardInterrupt(), PflowError, 1, "it raised KeyboardInterrupt"),
    ],
)
def test_a_failure_is_raised_here(error, kind, exit, message):
    def work(number, parent):
        raise error

    with pytest.raises(kind) as caught:
        run_all(2, work, jobs=1, is_reused=True, take=nothing)
    assert (caught.value.exit, caught.value.message) == (exit, message)
    assert getattr(caught.value, "step", "") == getattr(error, "step", "")


@pytest.mark.parametrize(
    ("end", "exit", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 137, "signal 9 killed it"),
        (lambda: os._exit(5), 5, "it exited with 5"),
        (lambda: os._exit(0), 1, "it exited with 0"),
    ],
)
def test_a_process_that_is_gone_is_a_failure(end, exit, how):
    with pytest.raises(PflowError) as caught:
        run_all(2, lambda number, parent: end(), jobs=2, is_reused=True, take=nothing)
    assert (caught.value.exit, caught.value.message) == (exit, f"cannot finish: its process is gone: {how}")


def pids_in(folder):
    return [int(name) for name in os.listdir(folder)]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize("fails_here", [False, True])
def test_the_first_failure_there_or_here_ends_them_all(marks, fails_here):
    def work(number, parent):
        (marks / str(os.getpid())).touch()
        if number == 2:
            until(lambda: len(os.listdir(marks)) == 3)
            if not fails_here:
                raise PflowError("all are there")
            parent.take(b"all are there")
        time.sleep(60)

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with pytest.raises((PflowError, AssertionError), match="all are there"):
        run_all(3, work, jobs=None, is_reused=False, take=nothing)
    assert not any(map(is_running, pids_in(marks)))


def test_a_child_of_a_killed_parent_ends_and_what_it_had_started_too(marks):
    from pflow.process.children import run

    def work(number, parent):
        command = f'sleep 60 & touch "{marks}/$!" "{marks}/{os.getpid()}"; wait'
        run(["/bin/sh", "-c", command], on_stdout=parent.take, on_stderr=parent.take)

    parent = os.fork()
    if parent == 0:
        try:
            catch_signals()
            run_all(2, work, jobs=2, is_reused=True, take=nothing)
        finally:
            os._exit(0)
    until(lambda: len(os.listdir(marks)) == 4)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    until(lambda: not any(map(is_running, pids_in(marks))))


def in_a_process(work):
    """What a process that catches signals says at the end of its work, and each that comes so far: what was raised."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(signum, signal.SIG_DFL)  # nohup, for one, has them ignored
        try:
            catch_signals()
            work()
            said = "nothing"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(theirs, f"{said}\n".encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with open(ours) as said:
        return said.read()


def test_a_worker_that_a_second_signal_meets_at_its_end_ends_there():
    def work():
        top = os.getpid()

        class Out:
            def flush(self):
                if os.getpid() != top:
                    os.kill(os.getpid(), signal.SIGHUP)

        sys.stdout = Out()
        run_all(2, lambda number, parent: os.kill(os.getpid(), signal.SIGINT), jobs=2, is_reused=True, take=nothing)

    assert in_a_process(work) == "Died: cannot finish: its process is gone: it exited with 129\n"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_the_whole_group_leaves_a_command_time_to_clean_up(tmp_path, signum):
    """As ^C in a terminal does: the worker gets it too, and then SIGTERM from the process that forked it."""
    command = f"trap 'sleep 0.3; echo >{tmp_path}/$1; exit' TERM; echo; while :; do sleep 0.05; done"
    lines = []

    def serve(number, parent):
        run(["/bin/sh", "-c", command, "sh", str(number)], on_stdout=parent.take, on_stderr=-1)

    def take(line):
        lines.append(line)
        if len(lines) == 2:
            os.killpg(0, signum)

    def work():
        os.setpgid(0, 0)
        run_all(2, serve, jobs=2, is_reused=True, take=take)

    assert in_a_process(work) == f"Interrupted: it was ended by {signum.name}\n"
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}


def test_a_worker_whose_code_drops_every_signal_ends_after_its_parent(monkeypatch):
    monkeypatch.setattr("pflow.process.worker.GRACE", 0.1)
    ours, theirs = os.pipe()

    def serve(number, parent):
        parent.take(b"begun")
        while True:
            with suppress(BaseException):
                time.sleep(60)

    def take(line):
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_process(lambda: run_all(1, serve, jobs=1, is_reused=True, take=take)) == ""
    os.close(theirs)
    assert os.read(ours, 1) == b""  # the worker has its other end
    os.close(ours)


@pytest.mark.parametrize("end", [lambda: os._exit(5), lambda: time.sleep(60)])
def test_a_signal_that_comes_as_a_worker_is_collected_is_what_ends_it_all(monkeypatch, end):
    collect = os.waitpid

    def waitpid(pid, options):
        found = collect(pid, options)
        if found[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return found

    def take(line):
        raise PflowError("enough")

    def serve(number, parent):
        if number:
            parent.take(b"line")
        end()

    def work():
        monkeypatch.setattr(os, "waitpid", waitpid)
        run_all(2, serve, jobs=2, is_reused=True, take=take)

    assert in_a_process(work) == "Interrupted: it was ended by SIGINT\n"


def test_a_parent_that_ignores_its_children_gets_their_answers_too():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as a parent of ours may leave it
    try:
        assert run_all(2, lambda number, parent: number, jobs=1, is_reused=False, take=nothing) == [0, 1]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_what_a_process_asks_goes_up_to_who_answers_however_deep_it_is():
    asked = []

    def answer(name, question):
        asked.append((name, question))
        if question == 2:
            raise PflowError("cannot say", hint="ask another", exit=79)
        return "é" * 200_000 + str(question)

    def ask(number, parent):
        try:
            return parent.ask("it", number)[-2:]
        except PflowError as error:
            return error.message, error.hint, error.exit

    def nested(number, parent):
        return run_all(4, ask, jobs=2, is_reused=True, take=nothing, ask=parent.ask_later)

    expected = ["é0", "é1", ("cannot say", "ask another", 79), "é3"]
    assert run_all(2, nested, jobs=2, is_reused=False, take=nothing, ask=by(answer)) == [expected] * 2
    assert sorted(asked) == [("it", number) for number in range(4) for _ in range(2)]


def test_threads_of_one_process_ask_in_turn():
    def work(number, parent):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda each: parent.ask("it", each), range(50)))

    answers = run_all(1, work, jobs=1, is_reused=False, take=nothing, ask=by(lambda name, question: question))
    assert answers == [list(range(50))]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_processes_that_wait_for_an_answer_end_with_whom_they_asked(marks, end):
    def work(number, parent):
        try:
            (marks / str(os.getpid())).touch()
            parent.ask("it", number)
        finally:
            (marks / f"{os.getpid()}.ended").touch()  # in order, not by SIGKILL

    def answer(name, question):
        until(lambda: len(os.listdir(marks)) == 2)
        os.kill(os.getpid(), end)

    said = in_a_process(lambda: run_all(2, work, jobs=2, is_reused=True, take=nothing, ask=by(answer)))
    assert said == ("Interrupted: it was ended by SIGTERM\n" if end == signal.SIGTERM else "")
    if end == signal.SIGKILL:
        until(lambda: not any(is_running(int(path.stem)) for path in marks.iterdir()))
    else:
        assert len(list(marks.glob("*.ended"))) == 2


def test_one_that_is_killed_as_it_waits_for_an_answer_is_a_failure():
    pids = []

    def answer(name, question):
        os.kill(question, signal.SIGKILL)
        pids.append(question)
        return "x" * 1_000_000

    with pytest.raises(Died, match="signal 9 killed it"):
        run_all(
            2, lambda _, parent: parent.ask("it", os.getpid()), jobs=1, is_reused=True, take=nothing, ask=by(answer)
        )
    assert len(pids) == 1


def test_a_time_limit_that_passes_as_a_process_asks_cuts_no_message():
    def work(number, parent):
        try:
            with Deadline(0.001):
                while True:
                    assert parent.ask("it", "x" * 100_000) == "y" * 100_000
        except TimedOut:
            return parent.ask("it", number)

    def answer(name, question):
        return question if isinstance(question, int) else "y" * 100_000

    assert run_all(20, work, jobs=1, is_reused=True, take=nothing, ask=by(answer)) == list(range(20))


def test_a_process_is_heard_while_another_waits_for_its_answer_however_deep_they_are():
    waiting = []

    def answer(name, question, reply):
        if name == "wait":
            waiting.append(reply)
        elif name == "go":
            reply(bool(waiting))
            while waiting:
                waiting.pop()("gone")

    def ask(number, parent):
        while number and not parent.ask("go", None):
            pass
        return parent.ask("wait", None) if not number else "on"

    def deep(number, parent):
        return run_all(2, ask, jobs=2, is_reused=False, take=nothing, ask=parent.ask_later)

    def nested(number, parent):
        return run_all(1, deep, jobs=1, is_reused=False, take=nothing, ask=parent.ask_later)

    with Deadline(60, act="cannot finish"):
        assert run_all(1, nested, jobs=1, is_reused=False, take=nothing, ask=answer) == [[["gone", "on"]]]
