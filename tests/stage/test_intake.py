"""Reading stdin, and what is loaded meanwhile."""

import signal
import subprocess
import sys

import pytest

WARMED = """
import os, signal
from pflow.process.signals import end_in_order
from pflow.stage.document import take_in

def warm():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except BaseException:  # as a library in C or Rust may do
        pass

end_in_order(lambda: take_in(warm=warm) and 0, lambda error: error.exit)
"""


VISITED = (
    WARMED.replace(
        "take_in(warm=warm) and 0",
        "NodeRunner().try_node(Loading(), {}, Visit(), retries=0, wait=0) and 0",
    )
    .replace(
        "\ndef warm():",
        """
from pflow.node import Node
from pflow.stage.visit import Visit, NodeRunner

def warm():""",
    )
    .replace(
        "\nend_in_order",
        """
class Loading(Node):
    warm = staticmethod(warm)

end_in_order""",
    )
)


@pytest.mark.parametrize("script", [WARMED, VISITED], ids=["stdin", "visit"])
def test_a_signal_ends_a_stage_whatever_its_libraries_do_with_exceptions_while_they_are_loaded(script):
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as process:
        try:
            assert process.wait(10) == -signal.SIGTERM
        finally:
            process.kill()
