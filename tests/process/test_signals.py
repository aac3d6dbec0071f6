"""Signals held back: none is lost, none is heard too early, and every handler comes back."""

import os
import signal

import pytest

from pflow.process import signals
from pflow.process.signals import HeldSignals


class Stop(BaseException):
    """What a handler raises."""


def stop(signum: int, frame: object) -> None:
    raise Stop


@pytest.fixture
def handlers():
    """SIGHUP and SIGTERM, and the handlers that they have here."""
    before = {signum: signal.signal(signum, stop) for signum in (signal.SIGHUP, signal.SIGTERM)}
    yield dict.fromkeys(before, stop)
    for signum, handler in before.items():
        signal.signal(signum, handler)


def present(handlers):
    return {signum: signal.getsignal(signum) for signum in handlers}


def test_a_signal_is_heard_at_release(handlers):
    held = HeldSignals()
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Stop):
        held.release()
    assert present(handlers) == handlers
    held.release()


def test_a_handler_that_raises_while_the_signals_are_being_taken_leaves_every_handler_in_place(handlers, monkeypatch):
    def take_over_and_be_struck(signum, handler):
        before = take_over(signum, handler)
        if signum == signal.SIGHUP and handler is not stop:
            os.kill(os.getpid(), signal.SIGTERM)
        return before

    others = signal.getsignal(signal.SIGINT)
    take_over = signals._signal.signal
    monkeypatch.setattr(signals._signal, "signal", take_over_and_be_struck)
    with pytest.raises(Stop):
        HeldSignals()
    assert present(handlers) == handlers
    assert signal.getsignal(signal.SIGINT) == others
