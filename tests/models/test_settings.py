"""The directory of llm's settings, without a home."""

import os
import subprocess
import sys

INTERRUPTED = """
import os, signal, tempfile
from pflow.models import settings
from pflow.process.signals import catch_signals
catch_signals()
make = tempfile.mkdtemp
def made(**about):
    directory = make(**about)
    os.kill(os.getpid(), signal.SIGTERM)
    return directory
tempfile.mkdtemp = made
settings.directory()
"""


def test_a_signal_just_after_the_temporary_directory_is_made_leaves_none(tmp_path):
    variables = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], env=variables, capture_output=True, check=False)
    assert b"Interrupted" in ended.stderr
    assert [*tmp_path.iterdir()] == []
