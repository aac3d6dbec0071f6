"""A process of its own for what a test does, with fewer rights where it is to have them."""

import os
from collections.abc import Callable

from pflow.errors import PflowError

HOOKED = ("open", "write", "fsync", "link", "rename", "fchmod", "fchown")
NEVER = 98


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


def strike(
    number: int, what: Callable[[str], object], act: Callable[[], object], hooked: tuple[str, ...] = HOOKED
) -> int:
    """Do it in a child; `what` happens just before the number-th call that changes something. NEVER: it did not."""

    def hook(name: str) -> None:
        real = getattr(os, name)

        def noted(*args: object, **kwargs: object) -> object:
            calls.append(name)
            if len(calls) == number:
                what(name)
            return real(*args, **kwargs)

        setattr(os, name, noted)

    def act_hooked() -> None:
        for name in hooked:
            hook(name)
        act()
        if len(calls) < number:
            os._exit(NEVER)

    calls: list[str] = []
    return in_child(act_hooked)
