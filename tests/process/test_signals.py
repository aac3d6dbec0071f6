"""Signals and time limits: which one a process ends of, and what it still does then."""

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pocketflow
import pytest

from pflow.errors import PflowError
from pflow.process import signals
from pflow.process.signals import (
    ClosedPipe,
    Deadline,
    HeldSignals,
    Interrupted,
    Paused,
    TimedOut,
    catch_signals,
    die_of,
    die_of_closed_pipe,
    die_quietly_of_interrupt,
    end_in_order,
    forget_deadlines,
    heed_parent,
    sleep,
    stop_timer,
    time_left,
    warm_up,
)
from tests.process.test_worker import until
from tests.stage.ends import end_of
from tests.stage.running import run_node


def wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.fixture(autouse=True)
def caught_signals():
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM)
    before, hook = {signum: signal.getsignal(signum) for signum in numbers}, sys.unraisablehook
    for signum in numbers:
        signal.signal(signum, signal.SIG_DFL)  # nohup and background jobs ignore some, which then stay ignored
    catch_signals()
    yield
    signals._holders.clear()  # else a test that fails would keep all signals from the tests behind it
    stop_timer()
    sys.unraisablehook = hook
    for signum, handler in before.items():
        signal.signal(signum, handler)


class Drops:
    """Gets a signal where Python drops what is raised."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_that_python_drops_is_raised_again_soon():
    def act() -> None:
        Drops()
        time.sleep(30)

    with pytest.raises(Interrupted) as interrupted:
        act()
    assert interrupted.value.exit == 130


def test_a_dropped_signal_comes_again_past_a_time_limit():
    def act() -> None:
        Drops()
        with Deadline(1000):
            pass
        time.sleep(30)

    with pytest.raises(Interrupted) as interrupted:
        act()
    assert interrupted.value.exit == 130


@pytest.mark.parametrize(("seconds", "signum", "exit"), [(None, signal.SIGTERM, 143), (0.1, 0, 124)])
def test_what_comes_in_the_middle_of_an_event_loop_ends_an_async_node(seconds, signum, exit):
    class Waits(pocketflow.AsyncNode):
        async def exec_async(self, prepared):
            loop = asyncio.get_running_loop()
            loop.call_soon(time.sleep, 0.2)  # asyncio drops what is raised in a callback
            loop.call_soon(os.kill, os.getpid(), signum)
            await asyncio.sleep(30)

    with pytest.raises(Interrupted) as interrupted:
        run_node(Waits(), {}, timeout=seconds)
    assert interrupted.value.exit == exit


def test_a_signal_ends_an_async_node_that_blocks_its_loop():
    class Blocks(pocketflow.AsyncNode):
        async def exec_async(self, prepared):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)

    with pytest.raises(Interrupted):
        run_node(Blocks(), {})


def test_a_signal_ends_the_time_limit_too():
    def act() -> None:
        with Deadline(1000):
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                timers.append(signal.getitimer(signal.ITIMER_REAL))

    timers: list[tuple[float, float]] = []
    with pytest.raises(Interrupted) as interrupted:
        act()
    assert (interrupted.value.exit, timers) == (130, [(0, 0)])


@pytest.mark.parametrize(("outer", "inner"), [(1000, 0.01), (0.01, 1000), (None, 0.01), (0.01, None)])
def test_the_nearest_of_two_time_limits_passes_and_is_named(outer, inner):
    limits = Deadline(outer, "the outer"), Deadline(inner, "the inner")
    with pytest.raises(TimedOut) as caught, limits[0], limits[1]:
        time.sleep(30)
    assert caught.value.deadline.seconds == 0.01
    assert (caught.value.exit, caught.value.signal) == (124, 0)
    assert caught.value.message == f"it took longer than the 0.01 s of {'the outer' if outer == 0.01 else 'the inner'}"


def test_a_time_limit_that_passes_within_another_passes_after_it():
    def act() -> None:
        with Deadline(0.01):
            with Deadline(1000):
                stop_timer()  # as while another one passes
                wait(0.02)
            time.sleep(30)

    with pytest.raises(TimedOut) as caught:
        act()
    assert caught.value.deadline.seconds == 0.01


def raise_another() -> None:
    try:
        time.sleep(30)
    except TimedOut:
        raise ValueError from None


def drop() -> None:
    with contextlib.suppress(TimedOut):
        time.sleep(30)


def drop_and_go_on() -> None:
    drop()
    time.sleep(30)


@pytest.mark.parametrize("work", [raise_another, drop, drop_and_go_on])
def test_a_time_limit_ends_its_block_though_the_work_drops_or_changes_the_exception(work, monkeypatch):
    monkeypatch.setattr(signals, "_AGAIN", 0.05)
    with pytest.raises(TimedOut), Deadline(1000), Deadline(0.01):
        work()
    with pytest.raises(PflowError) as raised, Deadline(0.01, act="cannot ask"):
        work()
    assert raised.value.exit == 124
    assert raised.value.message == "cannot ask: it took longer than the 0.01 s of its timeout"


@pytest.mark.parametrize("act", [lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: signal.setitimer(0, 0.001)])
def test_what_comes_while_signals_are_held_is_raised_at_release(act):
    with Deadline(1000):
        held = HeldSignals()
        came = []
        held.notify(lambda: came.append("one"))
        act()
        until(lambda: came)
        with pytest.raises(Interrupted):
            held.release()


@pytest.mark.parametrize(
    ("end", "signum"),
    [
        (lambda: die_of(signal.SIGTERM), signal.SIGTERM),
        (lambda: die_of(signal.SIGINT), signal.SIGINT),
        (die_of_closed_pipe, signal.SIGPIPE),
    ],
)
def test_who_asked_to_be_called_at_exit_is_called_before_a_process_dies_of_a_signal(end, signum):
    assert end_of(end) == (-signum, b"called")


def test_who_cannot_die_of_a_signal_as_the_first_process_of_a_container_exits_with_its_code():
    def act() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        die_of(signal.SIGTERM)

    assert end_of(act) == (143, b"called")


def test_a_second_signal_ends_at_once_what_is_called_at_exit():
    def act() -> None:
        atexit._clear()
        atexit.register(os._exit, 98)
        atexit.register(os.kill, os.getpid(), signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
        catch_signals()
        die_of(signal.SIGTERM)

    assert end_of(act) == (-signal.SIGHUP, b"")


def test_what_is_paused_counts_for_no_time_limit():
    with Deadline(0.2) as outer, Deadline(1000):
        at = outer.at
        with Paused():
            wait(0.3)
        assert 0.3 <= outer.at - at < 1
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2


def fail_late():
    wait(0.02)
    with contextlib.suppress(TimedOut):
        time_left()
    raise ValueError("cut off")


def in_thread(act):
    """What it returns, or raises, in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result()


def test_in_a_thread_a_block_ends_by_the_time_that_is_left():
    def act():
        assert (time_left(), time_left(5)) == (None, 5)
        with Deadline(1000), Deadline(100) as nearest, Deadline(500):
            assert 99 < time_left() <= 100
            assert time_left(5) == 5
            assert 99 < time_left(200) <= 100
            before = nearest.at
            with Paused():
                wait(0.01)
            assert nearest.at > before
        assert time_left() is None
        with pytest.raises(TimedOut), Deadline(0.01):
            sleep(30)
        with pytest.raises(PflowError, match=r"cannot ask: it took longer"), Deadline(0.01, act="cannot ask"):
            fail_late()
        with pytest.raises(TimedOut), Deadline(0.01):
            fail_late()
        with pytest.raises(ValueError, match="at once"), Deadline(1000):
            raise ValueError("at once")
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)

    in_thread(act)
    with Deadline(5):
        assert (time_left(), time_left(7)) == (None, 7)  # the main thread is interrupted


def test_a_child_has_no_time_limit_of_its_parent():
    with Deadline(0.05):
        forget_deadlines()
        wait(0.1)
    with Deadline(1000):
        pass
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_who_holds_signals_is_told_of_each():
    told = []
    in_thread(HeldSignals)  # where nothing comes
    held = HeldSignals()
    os.kill(os.getpid(), signal.SIGTERM)
    held.notify(lambda: told.append("held"))
    os.kill(os.getpid(), signal.SIGHUP)
    assert told == ["held", "held"]
    held.notify(None)
    for message in ("it was ended by SIGTERM", "it was ended by SIGHUP"):
        with pytest.raises(Interrupted, match=message):
            held.release()
    held.release()


def test_the_second_signal_ends_the_cleanup_and_the_third_the_process():
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    with pytest.raises(Interrupted):
        os.kill(os.getpid(), signal.SIGHUP)
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    assert [signal.getsignal(signum) for signum in numbers] == [signal.SIG_DFL] * 4


def test_a_signal_that_our_parent_ignores_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    catch_signals()
    os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_an_interrupt_is_quiet_until_signals_are_caught():
    for before, after in ((signal.default_int_handler, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)):
        signal.signal(signal.SIGINT, before)
        die_quietly_of_interrupt()
        assert signal.getsignal(signal.SIGINT) == after


@pytest.mark.parametrize(
    ("work", "end"),
    [
        (lambda: 5, 5),
        (lambda: int("x"), 70),
        (lambda: fail(PflowError("no", exit=66)), 66),
        (lambda: fail(Interrupted(0, "late")), 124),
        (lambda: fail(Interrupted(signal.SIGTERM, "ended")), -signal.SIGTERM),
        (lambda: fail(ClosedPipe()), -signal.SIGPIPE),
        (lambda: os.kill(os.getpid(), signal.SIGINT) or 5, -signal.SIGINT),
    ],
)
def test_work_ends_with_its_code_or_by_its_signal(work, end):
    def act():
        os._exit(end_in_order(work, lambda error: error.exit))

    assert end_of(act)[0] == end


def fail(error):
    raise error


@pytest.mark.parametrize(
    ("comes_first", "is_held", "exit"), [(False, False, 143), (True, False, 130), (False, True, 143)]
)
def test_the_word_of_a_parent_says_nothing_new_after_a_signal_and_ends_us_in_the_end(comes_first, is_held, exit):
    def act():
        heed_parent(0.3)
        held = HeldSignals() if is_held else None
        try:
            if comes_first:
                os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            if held:
                held.release()
        except Interrupted as caught:
            try:
                os.kill(os.getpid(), signal.SIGTERM)  # which it repeats
            except Interrupted:
                os._exit(1)
            if exit != caught.exit:
                os._exit(2)
            if comes_first:
                time.sleep(30)  # and drops the exception
            os._exit(caught.exit)
        os._exit(3)

    assert end_of(act)[0] == (143 if comes_first else exit)


def test_what_a_library_raises_while_it_is_loaded_is_left_to_the_node():
    warm_up(lambda: int("x"))
    with pytest.raises(Interrupted):
        warm_up(lambda: os.kill(os.getpid(), signal.SIGTERM))
