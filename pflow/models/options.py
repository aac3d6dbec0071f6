"""A model's own options: NAME=VALUE from a person, checked and converted by the model before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llm import Model

from pflow.errors import USAGE, PflowError
from pflow.jsontext import decode

MAX_TOKENS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict", "max_new_tokens")
"""What models call their limit; the first that a model has is meant."""


def parse_options(texts: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE texts by name; the last of a name counts. Raises PflowError (2)."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise PflowError(f"cannot read the option '{text}'", hint="it is written NAME=VALUE", exit=USAGE)
        options[name.strip().replace("-", "_")] = value
    return options


def fit_options(model: Model, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """`wanted` as this model takes it. Raises PflowError (2) for an option that it lacks or a value that it refuses."""
    return {_name(model, name): _fit(model, _name(model, name), value) for name, value in wanted.items()}


def _name(model: Model, name: str) -> str:
    known = model.Options.model_fields
    if name == "max_tokens":
        name = next((other for other in MAX_TOKENS if other in known), name)
    if name in known:
        return name
    raise PflowError(
        f"cannot set '{name}': the model '{model.model_id}' has no such option",
        hint=f"it has {', '.join(sorted(known))}" if known else "it has no options",
        exit=USAGE,
    )


def _fit(model: Model, name: str, value: Any) -> Any:
    """The value as text where the option takes text, else as the JSON that it is."""
    try:
        return _taken(model, name, value)
    except ValueError as error:
        why = _why(error)
    try:
        return _taken(model, name, decode(value.encode()) if isinstance(value, str) else value)
    except ValueError:
        shown = " ".join(str(value).split())[:80]
        raise PflowError(f"cannot set '{name}' to '{shown}': {why}", exit=USAGE) from None


def _taken(model: Model, name: str, value: Any) -> Any:
    return getattr(model.Options(**{name: value}), name)


def _why(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    said = str(errors()[0]["msg"] if callable(errors) else error).removeprefix("Value error, ")
    return said[:1].lower() + said[1:]
