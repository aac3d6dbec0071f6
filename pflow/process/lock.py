"""Signals held back for a moment that no exception may interrupt."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from typing import Any
else:
    import _signal  # signal's C part, as in pflow.process.signals


class HeldSignals:
    """Keeps every signal handler from running until `release`.

    To block the signals would not do: with another thread about, the system gives them to that one, and Python still
    calls the handler in ours.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Any] = {}
        self.noted: list[tuple[int, Any]] = []
        threading = sys.modules.get("threading")  # nobody has another thread where it is not loaded
        if threading and threading.current_thread() is not threading.main_thread():  # no handler is called in another
            return
        try:
            for signum in _signal.valid_signals():
                if callable(handler := _signal.getsignal(signum)):
                    self.handlers[signum] = handler
                    _signal.signal(signum, self._note)
        except BaseException:  # of a handler that was not yet taken
            self.noted.clear()
            self.release()
            raise

    def _note(self, signum: int, frame: object) -> None:
        self.noted.append((signum, self.handlers[signum]))

    def release(self) -> None:
        """Put the handlers back, and call those whose signals came meanwhile."""
        for signum in list(self.handlers):
            _signal.signal(signum, self.handlers[signum])
            self.handlers.pop(signum, None)
        while self.noted:
            signum, handler = self.noted.pop(0)
            handler(signum, None)
