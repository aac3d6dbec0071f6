"""A process of its own for what a test does, with fewer rights where it is to have them."""

import os
from collections.abc import Callable

from pflow.errors import PflowError


def in_child(act: Callable[[], object]) -> int:
    """Do it in a process of its own: 0, the exit code that pflow gives what it raised, or -n for signal n."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
            os._exit(0)
        except PflowError as error:
            os._exit(error.exit)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def as_nobody(act: Callable[[], object]) -> int:
    """Do it in a process without root's rights."""

    def without_rights() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        act()

    return in_child(without_rights)
