"""Reading stdin, and what is loaded meanwhile."""

import signal
import subprocess
import sys

WARMED = """
import os, signal
from pflow.process.signals import end_in_order
from pflow.stage.intake import take_in

def warm():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:  # as a library in C or Rust may do
        pass

end_in_order(lambda: take_in(warm=warm) and 0, lambda error: error.exit)
"""


def test_a_signal_ends_a_stage_whatever_its_libraries_do_with_exceptions_while_they_are_loaded():
    with subprocess.Popen([sys.executable, "-c", WARMED], stdin=subprocess.PIPE) as process:
        try:
            assert process.wait(10) == -signal.SIGTERM
        finally:
            process.kill()
