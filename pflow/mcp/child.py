"""A child of the server: pflow with the words of a call; it ends with the server, however that ends."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Do what pflow does with `PARENT WORD…`. Only what that needs is imported: a call waits for it."""
    parent, *words = sys.argv[1:]
    _end_with(int(parent))
    if words[0] in ("check", "plan"):  # a stranger's text: no file that it names is opened
        from pflow.flow.subflow import FlowCatalog

        FlowCatalog.opens_files = False
    from pflow.commands.main import main as pflow

    sys.argv = ["pflow", *words]
    pflow()


def _end_with(parent: int) -> None:
    """Get SIGTERM when the parent is gone, however it went; where it is gone already, end."""
    if sys.platform == "linux":
        import ctypes
        import signal

        set_parent_death_signal = 1  # prctl(2)
        ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGTERM))
    if os.getppid() != parent:
        os._exit(143)


if __name__ == "__main__":
    main()
