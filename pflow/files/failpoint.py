"""Places where a test ends this process, or fills its disk, as chance would.

PFLOW_FAILPOINT=NAME[:N] kills it (kill -9) where the point NAME is passed for the Nth time, NAME[:N]:enospc makes its
disk full there; a NAME that ends in `*` is any point that begins so. It takes PFLOW_TESTING=1, too.
"""

from __future__ import annotations

import errno
import os

_NAME, *_HOW = os.environ.get("PFLOW_FAILPOINT", "").split(":")
_is_armed = bool(_NAME) and os.environ.get("PFLOW_TESTING") == "1"
_left = next((int(word) for word in _HOW if word.isdecimal()), 1)


def failpoint(name: str) -> None:
    """Pass the point of this name. Raises OSError (ENOSPC) where the test asks for that."""
    if _is_armed:
        _pass(name)


def _pass(name: str) -> None:
    global _left
    if name != _NAME and not (_NAME.endswith("*") and name.startswith(_NAME[:-1])):
        return
    _left -= 1
    if _left == 0 and "enospc" not in _HOW:
        os.kill(os.getpid(), 9)
    if _left <= 0:  # a full disk stays full
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
