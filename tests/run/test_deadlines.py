"""Deadlines that stand inside one another."""

import signal
import time

import pytest

from pflow.process.signals import TimedOut, forget_deadlines, set_deadline, take_away


@pytest.fixture(autouse=True)
def handler():
    before = signal.getsignal(signal.SIGALRM)
    yield
    forget_deadlines()
    signal.signal(signal.SIGALRM, before)


def armed():
    """Seconds until the timer rings; 0 where it is not set."""
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_who_set_it_is_told():
    outer = set_deadline(1000)
    inner = set_deadline(0.01)
    with pytest.raises(TimedOut) as caught:
        time.sleep(30)
    assert caught.value.deadline is inner
    assert (caught.value.exit, caught.value.signal) == (124, 0)
    assert caught.value.message == "it took longer than the 0.01 s of its timeout"
    take_away(inner)
    take_away(outer)


def test_the_nearest_one_rings_whichever_came_first():
    outer = set_deadline(0.01)
    set_deadline(1000)
    with pytest.raises(TimedOut) as caught:
        time.sleep(30)
    assert caught.value.deadline is outer


def test_one_that_has_passed_meanwhile_rings_at_once():
    outer = set_deadline(0.01)
    inner = set_deadline(1000)
    signal.setitimer(signal.ITIMER_REAL, 0)  # as while another one rings
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    with pytest.raises(TimedOut) as caught:
        _take_away_and_sleep(inner)
    assert caught.value.deadline is outer


def _take_away_and_sleep(deadline):
    take_away(deadline)
    time.sleep(30)
