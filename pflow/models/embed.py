"""Texts as vectors, by the embedding model that is configured for llm, which is imported when one is asked."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pflow.errors import BAD_CONFIG, BAD_DATA, TRY_AGAIN, PflowError

VARIABLE = "PFLOW_EMBEDDING_MODEL"

_TOGETHER = 64
"""Texts of one request at most."""
_PATIENCE = 30.0
"""Seconds for one request: what is only a help must not make anybody wait for long."""


def configured() -> str | None:
    """The name of the embedding model: PFLOW_EMBEDDING_MODEL, else llm's default, of which llm itself has none."""
    name = os.environ.get(VARIABLE)
    if name:
        return name
    try:
        with open(os.path.join(_settings(), "default_embedding_model.txt"), encoding="utf-8") as file:
            return file.read(1000).strip() or None
    except (OSError, ValueError):
        return None


def _settings() -> str:
    """llm's directory of settings, as llm itself finds it, without the time that importing it takes."""
    if path := os.environ.get("LLM_USER_PATH"):
        return path
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/io.datasette.llm")
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "io.datasette.llm")


def embed(name: str, texts: Sequence[str], done: Callable[[list[list[float]]], None]) -> None:
    """Have each text made a vector; `done` gets them as they come, in the order of the texts.

    Raises PflowError: 78 for a model that is not there, what asking it raises, 75 where it takes too long, 65 where
    what comes is no vectors.
    """
    model = _model(name)
    for at in range(0, len(texts), _TOGETHER):
        done(_checked(name, _in_time(model, texts[at : at + _TOGETHER]), len(texts[at : at + _TOGETHER])))


def _model(name: str) -> Any:
    import llm

    from pflow.models.errors import one_line

    try:
        return llm.get_embedding_model(name)  # type: ignore[no-untyped-call]
    except llm.UnknownModelError:
        raise PflowError(
            f"cannot find the embedding model '{name}'",
            hint="`llm embed-models` lists what there is",
            exit=BAD_CONFIG,
        ) from None
    except Exception as error:
        words = one_line(f"{type(error).__name__}: {error}")
        raise PflowError(f"cannot load llm's embedding models: {words}", exit=BAD_CONFIG) from error


def _in_time(model: Any, texts: Sequence[str]) -> list[Any]:
    """What the model answers. A request that takes too long is left alone: it ends with this process."""
    from pflow.models.errors import explain

    answers: list[list[Any]] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(list(model.embed_multi(list(texts))))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if errors:
        raise explain(errors[0], model)
    if not answers:
        raise PflowError(f"cannot get an answer from '{model.model_id}': it takes too long", exit=TRY_AGAIN)
    return answers[0]


def _checked(name: str, vectors: list[Any], count: int) -> list[list[float]]:
    try:
        found = [[float(number) for number in vector] for vector in vectors]
    except (TypeError, ValueError):
        found = []
    sizes = {len(vector) for vector in found}
    is_finite = all(abs(number) < float("inf") for vector in found for number in vector)
    if len(found) != count or len(sizes) != 1 or 0 in sizes or not is_finite:
        raise PflowError(f"cannot take the answer of '{name}': it is not a vector for each text", exit=BAD_DATA)
    return found
