"""Signals held back for a moment that no exception may interrupt."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class HeldSignals:
    """Keeps every signal handler from running until `release`.

    To block the signals would not do: with another thread about, the system gives them to that one, and Python still
    calls the handler in ours.
    """

    def __init__(self) -> None:
        import signal
        import threading

        self.handlers: dict[int, Any] = {}
        self.noted: list[tuple[int, Any]] = []
        if threading.current_thread() is not threading.main_thread():  # no handler is ever called in another
            return
        try:
            for signum in signal.valid_signals():
                if callable(handler := signal.getsignal(signum)):
                    self.handlers[signum] = handler
                    signal.signal(signum, self._note)
        except BaseException:  # of a handler that was not yet taken
            self.noted.clear()
            self.release()
            raise

    def _note(self, signum: int, frame: object) -> None:
        self.noted.append((signum, self.handlers[signum]))

    def release(self) -> None:
        """Put the handlers back, and call those whose signals came meanwhile."""
        import signal

        for signum in list(self.handlers):
            signal.signal(signum, self.handlers[signum])
            self.handlers.pop(signum, None)
        while self.noted:
            signum, handler = self.noted.pop(0)
            handler(signum, None)
