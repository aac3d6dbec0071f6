"""Signals and the time limit: which one a stage ends of, and what it still does then."""

import atexit
import os
import signal

import pytest

from pflow.process.signals import Interrupted, catch_signals, die_of, die_of_closed_pipe, start_timer, stop_timer
from tests.stage.ends import end_of

NEVER = 1000


@pytest.fixture
def caught_signals():
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM)
    before = {signum: signal.getsignal(signum) for signum in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    catch_signals()
    yield
    stop_timer()
    for signum, handler in before.items():
        signal.signal(signum, handler)


def test_a_signal_ends_the_time_limit_too(caught_signals):
    start_timer(NEVER)
    with pytest.raises(Interrupted) as interrupted:
        os.kill(os.getpid(), signal.SIGINT)
    assert interrupted.value.exit == 130
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


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
        catch_signals()
        die_of(signal.SIGTERM)

    assert end_of(act) == (-signal.SIGHUP, b"")
