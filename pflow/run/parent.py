"""A child process that ends when its parent is gone: a run that kill -9 has ended leaves no worker behind."""

from __future__ import annotations

import fcntl
import os
import select
import signal

from pflow.process.signals import Interrupted


class Parent:
    """The process at the other end of the pipe that a child's work comes through.

    The system sends SIGIO when there is news of that pipe, and when nobody can write to it any more. While the parent
    `is_needed`, the latter raises Interrupted, which unwinds the work and ends what it has started.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.is_needed = False

    def watch(self) -> None:
        if not hasattr(os, "O_ASYNC"):
            return
        signal.signal(signal.SIGIO, self._look)
        fcntl.fcntl(self.pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self.pipe, fcntl.F_SETFL, fcntl.fcntl(self.pipe, fcntl.F_GETFL) | os.O_ASYNC)

    def _look(self, signum: int, frame: object) -> None:
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        if self.is_needed and any(event & select.POLLHUP for _, event in poll.poll(0)):
            raise Interrupted(signal.SIGTERM, "its parent is gone")
