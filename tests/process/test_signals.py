"""Signals and time limits: which one a process ends of, and what it still does then."""

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import time

import pocketflow
import pytest

from pflow.errors import PflowError
from pflow.process import signals
from pflow.process.signals import (
    Deadline,
    HeldSignals,
    Interrupted,
    TimedOut,
    catch_signals,
    die_of,
    die_of_closed_pipe,
    stop_timer,
)
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
    catch_signals()
    yield
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
        act()
        wait(0.02)
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


def test_a_second_signal_ends_at_once_what_is_called_at_exit():
    def act() -> None:
        atexit._clear()
        atexit.register(os._exit, 98)
        atexit.register(os.kill, os.getpid(), signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
        catch_signals()
        die_of(signal.SIGTERM)

    assert end_of(act) == (-signal.SIGHUP, b"")
