"""How long a server of these tests lives as a program: until nobody needs it."""

import os
import select
import stat
import time
from pathlib import Path

LONGEST_LIFE = 600


def serve_until_left(directory: Path, port: int) -> None:
    """Write DIR/port; return when the parent is gone, a piped stdin closes, or LONGEST_LIFE is over."""
    parent, ends = os.getppid(), time.monotonic() + LONGEST_LIFE
    temporary = directory / ".port"
    temporary.write_text(f"{port}\n")
    temporary.rename(directory / "port")
    while os.getppid() == parent and time.monotonic() < ends and not _stdin_closed():
        continue


def _stdin_closed() -> bool:
    """Whether a piped stdin has come to its end; waits a moment. A shell gives its background jobs /dev/null."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        mode = 0
    if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode):
        time.sleep(0.1)
        return False
    readable, _, _ = select.select([0], [], [], 0.1)
    return bool(readable) and not os.read(0, 1024)
