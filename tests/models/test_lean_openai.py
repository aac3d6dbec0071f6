"""The types of the openai library that no chat uses are loaded by those who use them, and by nobody else."""

import subprocess
import sys

PROGRAM = """
import sys
from pflow.models.choose import warm
warm()
assert not {"openai.types.batch", "openai.types.responses.response"} & {*sys.modules}
import openai
assert openai.types.responses.Response.__module__ == "openai.types.responses.response"
from openai.types import Batch, responses
assert responses.ResponseUsage and Batch.model_validate and openai.types.FileObject
try:
    openai.types.nothing
except AttributeError as error:
    print(error)
"""


def test_types_that_no_chat_uses_are_loaded_when_one_is_used():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.stdout == "module 'openai.types' has no attribute 'nothing'\n", ran.stderr
