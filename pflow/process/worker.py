"""A worker process as the process sees it that forked it."""

from __future__ import annotations

import _socket  # socket's C part, as with signal
import os
import time

from pflow import TYPE_CHECKING
from pflow.process.children import Child
from pflow.process.parent import Inbox, serve_parent
from pflow.process.signals import HeldSignals
from pflow.process.start import spawn
from pflow.process.streams import flush_prints

if TYPE_CHECKING:
    from pflow.process.parent import Serve


class Worker(Child):
    """A child process, our end of the socket to it, and the numbers that it works on. It adds itself to `workers`."""

    is_alone = is_large = False
    is_retired = False  # it gets no more work, and is ended when it has none
    abandoned = 0  # how many of its numbers nobody waits for
    changed = 0.0  # when its work changed last

    def __init__(
        self, serve: Serve | list[str], workers: list[Worker], *, threads: int, is_foreign: bool = False
    ) -> None:  # fmt: skip
        self.workers = workers
        self.is_foreign = is_foreign
        self.numbers: set[int] = set()
        self.rest = bytearray()
        ours, theirs = _socket.socketpair()
        ours.setblocking(False)  # the child may not read before we do
        self.fd = ours.detach()
        self.read = Inbox(self.fd, is_foreign=is_foreign).read
        with HeldSignals() as held:  # an exception before the child is known would leave it running
            flush_prints()
            if isinstance(serve, list):
                super().__init__(spawn(serve, [theirs.fileno(), 2, 2]), leads_session=True)
            else:
                parent = os.getpid()
                super().__init__(os.fork())
                if self.pid == 0:
                    unused = [worker.fd for worker in [*workers, self]]
                    serve_parent(serve, theirs.fileno(), parent, held, unused=unused, threads=threads)
            workers.append(self)  # before a held signal can end us
            theirs.close()

    def send(self, message: bytes) -> None:
        """Send a message, or what the socket takes of it now: the pool sends the rest."""
        self.rest += message
        try:
            del self.rest[: os.write(self.fd, self.rest)]
        except BlockingIOError:
            pass
        except OSError:  # it has ended; `read` reports that
            self.rest.clear()

    def close(self) -> None:
        """Let it end and wait for that."""
        self.workers.remove(self)
        self.hang_up()
        if self.is_foreign:  # it need not heed that
            self.signal(9)
        while not self.has_ended():
            time.sleep(0.0005)

    def hang_up(self) -> None:
        """Close the socket."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def memory(self) -> int:
        """Return how many bytes of memory it has; 0 if the system does not say."""
        try:
            with open(f"/proc/{self.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except OSError:
            return 0
