"""The options of a call: those a person gives, as the model takes them, and llm's defaults for the model."""

from collections.abc import Mapping
from typing import Any

from llm import Model
from pydantic import TypeAdapter, ValidationError

from pflow.errors import USAGE, PflowError
from pflow.models.prices import MAX_TOKENS
from pflow.models.request_form import refused_by
from pflow.models.settings import default_options
from pflow.models.small import is_small
from pflow.text.naming import read_pairs
from pflow.text.printable import clause
from pflow.values.jsontext import decode

BRIEF = 200
"""The most tokens of a text by the small local model, if no limit is set: a longer one only repeats and invents."""


def parse_options(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options in the param `option`, of which the last of a name counts, and these params, if set."""
    pairs = read_pairs("--option", params["option"] or [])
    options: dict[str, Any] = {name.strip().replace("-", "_"): value for name, value in pairs}
    return options | {name: params[name] for name in names if params[name] is not None}


def fit_options(model: Model, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return `wanted` as this model takes it. Raises PflowError (2) for an unknown option or a value it refuses."""
    return {_name(model, name): _fit(model, _name(model, name), value) for name, value in wanted.items()}


def options_for(model: Model, wanted: Mapping[str, Any], *, has_schema: bool = False) -> dict[str, Any]:
    """Return all options of a call: those that are `wanted`, llm's defaults for the model, a small one's limit."""
    usual = {"max_tokens": BRIEF} if is_small(model) and not has_schema else {}
    return fit_options(model, {**usual, **default_options(model), **wanted})


def _name(model: Model, name: str) -> str:
    known = model.Options.model_fields
    if name == "max_tokens":
        name = next((other for other in MAX_TOKENS if other in known), name)
    if name == "max_completion_tokens" and "max_tokens" in known and hasattr(model, "get_client"):
        refused_by(model).add(name := "max_tokens")  # so it is sent under the other name
    if name in known or name == "stream":
        return name
    hint = f"it has {', '.join(sorted(known)) or 'no options'}"
    raise PflowError(f"cannot set '{name}': the model '{model.model_id}' has no such option", hint=hint, exit=USAGE)


def _fit(model: Model, name: str, value: Any) -> Any:
    """Return the value as text if the option takes text, else decoded from JSON."""
    if name in MAX_TOKENS and isinstance(value, int) and value < 1:
        raise PflowError(f"cannot set '{name}' to '{value}': it must be at least 1", exit=USAGE)
    try:
        if name == "stream" and name not in model.Options.model_fields:  # of the call: pflow.models.ask
            return TypeAdapter(bool).validate_python(value)
        return getattr(model.Options(**{name: value}), name)
    except ValueError as error:
        said = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)
    try:
        return getattr(model.Options(**{name: decode(value.encode()) if isinstance(value, str) else value}), name)
    except ValueError:
        shown, why = " ".join(str(value).split())[:80], said.removeprefix("Value error, ")
        raise PflowError(f"cannot set '{name}' to '{shown}': {clause(why)}", exit=USAGE) from None
