"""The directory of llm's settings, without a home."""

import os
import subprocess
import sys
from contextlib import nullcontext

import llm
import pytest

from pflow.errors import PflowError
from pflow.models import settings
from pflow.models.settings import load_models
from pflow.process.signals import Deadline

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


@pytest.mark.parametrize("name", ["keys.json", "model_options.json", "aliases.json", "extra-openai-models.yaml"])
def test_a_pipe_in_the_place_of_a_file_of_settings_hangs_nothing(tmp_path, monkeypatch, name):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    os.mkfifo(tmp_path / name)
    is_llms = name not in ("model_options.json", "aliases.json")
    with Deadline(60), pytest.raises(PflowError, match="not a regular file") if is_llms else nullcontext():
        assert load_models()


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_file_of_keys_that_llm_cannot_decode_is_named(tmp_path, monkeypatch, codec):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    (tmp_path / "keys.json").write_text('{"a": "hush"}', codec)
    with pytest.raises(ValueError) as caught:
        llm.get_key("", "a")
    message = settings.broken("cannot load llm's models", caught.value).message
    assert message.endswith(f"{tmp_path}/keys.json: llm wants UTF-8 without a byte order mark")


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
