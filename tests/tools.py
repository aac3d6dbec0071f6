"""What tests need beside Python: programs, and root's rights."""

from __future__ import annotations

import os
import shutil

import pytest

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is another user's")


def need(*tools: str) -> None:
    """Skip the test where a tool is missing; fail it in CI, where all are there."""
    for tool in tools:
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")
