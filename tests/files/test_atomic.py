"""Writing files, and the places where tests end a process."""

import os
import subprocess
import sys

import pytest

PASS = """
from pflow.files.atomic import failpoint
for name in ("a.x", "b", "a.y", "b"):
    print(name, flush=True)
    failpoint(name)
"""


@pytest.mark.parametrize(
    ("point", "testing", "passed", "code"),
    [
        ("b", "1", 2, -9),
        ("b:2", "1", 4, -9),
        ("a.*:2", "1", 3, -9),
        ("b:3", "1", 4, 0),
        ("b", "", 4, 0),
        ("", "1", 4, 0),
        ("b:1:enospc", "1", 2, 1),
    ],
)
def test_a_failpoint_ends_the_process_where_a_test_says(point, testing, passed, code):
    environment = {**os.environ, "PFLOW_FAILPOINT": point, "PFLOW_TESTING": testing}
    done = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (len(done.stdout.split()), done.returncode) == (passed, code)
