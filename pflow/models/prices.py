"""Prices of answers: the user's own, else those of the list genai-prices, without the network; limits for a budget."""

import os
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from llm import Attachment, Model, Prompt
from pydantic import BaseModel, ConfigDict, NonNegativeFloat

from pflow.errors import BAD_CONFIG, Attempt, PflowError
from pflow.files.directories import pflow_directory
from pflow.files.reading import read_regular
from pflow.files.schema import read_as
from pflow.models.known import runs_here
from pflow.values.jsontext import text_of
from pflow.values.usage import BYTES, Call, Calls

T = TypeVar("T")

MAX_TOKENS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict", "max_new_tokens")
"""The names of options that limit the tokens of an answer; a model takes the first that it has."""

LONGEST = 4096
"""The tokens that a budget reserves for an answer if neither the options nor the model limit them."""

_PICTURE = 50_000
"""The most tokens that providers count for a picture, whatever its size in bytes."""

_MILLION = 1_000_000
"""The tokens that a price is for."""


class Price(BaseModel):
    """What a model costs, in dollars for a million tokens."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    input: NonNegativeFloat
    output: NonNegativeFloat


def no_price(model: Model, calls: Calls) -> PflowError:
    """Return the error for a model that --max-cost cannot limit."""
    what = f"cannot ask '{model.model_id}' under --max-cost: its price is not known"
    hint = f"{_file() or 'prices.toml'} can give it, in dollars for a million tokens: {_example(model.model_id)}"
    error = PflowError(what, hint=hint, exit=BAD_CONFIG)
    error.ends_run = calls.in_map  # every other item of the map would fail too
    return error


def no_tokens(model: Model) -> PflowError:
    """Return the error for a model whose answers do not state their tokens, which --max-cost cannot limit."""
    what = f"cannot hold '{model.model_id}' to --max-cost: its answer does not say how many tokens it took"
    error = PflowError(what, hint="limit it with --max-calls", exit=BAD_CONFIG, is_permanent=True)
    error.ends_run = True
    return error


def limit_of(options: Mapping[str, Any]) -> int | None:
    """Return the number of tokens to which the options limit an answer; None without a limit."""
    return next((limit for name in MAX_TOKENS if isinstance(limit := options.get(name), int) and limit > 0), None)


def longest_answer(model: Model, options: Mapping[str, Any]) -> int:
    """Return the most tokens of an answer: as the options say, else the model's own limit, else LONGEST."""
    return limit_of(options) or getattr(model, "default_max_tokens", None) or LONGEST


def call_of(calls: Calls, model: Model, prompt: Prompt) -> Call:
    """Return the call that sends a prompt. Raises PflowError (78) for a model that --max-cost cannot limit."""
    size = size_of(prompt)
    most = most_of(model, size, vars(prompt.options), is_priced=calls.is_priced)
    if calls.is_priced and "cost" not in most:
        raise no_price(model, calls)
    return Call(calls, model.model_id, size, most)


def most_of(model: Model, size: float, options: Mapping[str, Any], *, is_priced: bool) -> dict[str, float]:
    """Return the tokens that a call with a question of `size` bytes may take, and the dollars if money is limited."""
    question, answer = -(-size // BYTES), longest_answer(model, options)
    cost = cost_of(model, round(question), answer, {}) if is_priced else None
    return {"tokens": question + answer} | ({} if cost is None else {"cost": cost})


def size_of(prompt: Prompt) -> int:
    """Return the number of bytes that a question sends: its text, earlier turns, the schema and attachments."""
    parts: list[Any] = [part for message in prompt.messages for part in message.parts]
    texts = [getattr(part, "text", "") for part in parts] + [text_of(prompt.schema)] * bool(prompt.schema)
    found = [part.attachment for part in parts if getattr(part, "attachment", None)]
    return sum(len(text.encode("utf-8", "replace")) for text in texts) + sum(map(_size_of, found))


def _size_of(attachment: Attachment) -> int:
    most = _PICTURE * BYTES
    if attachment.url:  # the provider fetches it, so its size is unknown here
        return most
    path = attachment.path or ""
    # The file that an earlier turn of a conversation attached may be gone by now.
    size = os.path.getsize(path) if os.path.exists(path) else len(attachment.content or b"")
    return min(size, most) if (attachment.type or "").startswith("image/") else size


def cost_of(model: Model, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """Return the price of an answer in dollars; None if the price or a number of tokens is unknown.

    `details` are the provider's own counts, which tell cached tokens apart. Raises PflowError (78) for a malformed
    file of prices.
    """
    prices, name = own_prices(), model.model_id
    price = prices.get(name) or prices.get(name.partition("#")[2] if "://" in name else name)
    if price is None and (known := _own_cost(model)) is not None:
        return float(known)
    if input is None or output is None:
        return None
    if price is not None:
        return float(round((price.input * input + price.output * output) / _MILLION, 12))
    return _listed(model, input, output, details)


def _own_cost(model: Any) -> float | None:
    """Return the cost of an answer by a model on this machine, which is 0; None for any other model."""
    if ollama := getattr(model, "ollama_name", None):
        return 0 if runs_here(ollama, os.environ.get("OLLAMA_HOST", "")) else None
    return getattr(model, "cost", None)


def _file() -> str | None:
    folder = pflow_directory("XDG_CONFIG_HOME", ".config")
    return folder and os.path.join(folder, "prices.toml")


def _example(model: str) -> str:
    return f'"{model}" = {{ input = 1.5, output = 6.0 }}'


def own_prices() -> dict[str, Price]:
    """Read the user's prices by model. Raises PflowError (78) for a malformed file."""
    file, hint = _file() or "", _example("MODEL")
    act = f"cannot read '{file}'"
    reading = Attempt(act, of=(OSError, ValueError), hint=hint, exit=BAD_CONFIG)
    with reading, suppress(FileNotFoundError, NotADirectoryError):
        prices = tomllib.loads(str(read_regular(file), "utf-8"))
        act += ": a model needs two prices, input and output"
        return read_as(dict[str, Price], prices, act, hint=hint, exit=BAD_CONFIG)
    return {}


def _listed(model: Any, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """Return the price by the list of genai-prices; None for a model that it does not know."""
    said = details if "prompt_tokens" in details else {"input_tokens": input, "output_tokens": output, **details}

    def price(name: str, place: dict[str, Any]) -> float:
        from genai_prices import calc_price

        usage = _list_usage({"model": name, "usage": said}, place, input, output)
        return round(float(calc_price(usage, name, **place).total_price), 12)

    return find_listed(model, price)


def find_listed(model: Any, find: Callable[[str, dict[str, Any]], T]) -> T | None:
    """Return the result of `find` for the first of the model's names that the list of prices knows, else None.

    The provider follows from the model's address, else from the name of its key.
    """
    name = str(getattr(model, "model_name", None) or model.model_id)
    key = getattr(model, "needs_key", None) or ""
    address = getattr(model, "api_base", None) or os.environ.get(f"{key.upper()}_BASE_URL")
    place = {"provider_api_url": address} if address else {"provider_id": key}
    for each in (name, name.partition("/")[2]):  # llm's plugins put the provider's name before the model's
        try:
            return find(each, place)
        except Exception:  # the list is not ours: it may not know the model, or stumble over it
            continue
    return None


def _list_usage(answer: dict[str, Any], place: Any, input: int, output: int) -> Any:
    """Return the usage in the form of genai-prices, with the tokens of the provider's cache if their shape is known.

    Raises LookupError for an unknown provider or model.
    """
    from genai_prices import Usage, extract_usage

    for flavor in ("responses", "chat", "default"):
        try:
            return extract_usage(answer, **place, api_flavor=flavor).usage
        except ValueError:
            continue
    return Usage(input_tokens=input, output_tokens=output)
