"""The price of an answer: by the user's own prices, else by the list of genai-prices, without the network."""

import os
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar

from llm import Model

from pflow.errors import BAD_CONFIG, PflowError
from pflow.files.directories import pflow_directory

T = TypeVar("T")

_ONE = 1_000_000
"""Tokens that a price, in dollars, is for."""


def is_priced(model: Model) -> bool:
    """Return True if the model's price is known before it is asked. Raises PflowError (78) for a malformed file."""
    return cost_of(model, 0, 0, {}) is not None


def no_price(model: Model) -> PflowError:
    """Return the error for a model that --max-cost cannot limit."""
    what = f"cannot ask '{model.model_id}' under --max-cost: its price is not known"
    hint = f"{_file() or 'prices.toml'} can give it, in dollars for a million tokens: {_example(model.model_id)}"
    return PflowError(what, hint=hint, exit=BAD_CONFIG)


def no_tokens(model: Model) -> PflowError:
    """Return the error for a model whose answers do not tell their tokens; it ends the run."""
    what = f"cannot hold '{model.model_id}' to --max-cost: its answer does not say how many tokens it took"
    error = PflowError(what, hint="limit it with --max-calls", exit=BAD_CONFIG, is_permanent=True)
    error.ends_run = True
    return error


def cost_of(model: Model, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """Return the price of an answer in dollars; None if the price or a number of tokens is unknown.

    `details` is the provider's own account of the tokens. Raises PflowError (78) for a malformed file.
    """
    price = _own_prices().get(model.model_id)
    if price is None and (known := getattr(model, "cost", None)) is not None:
        return float(known)  # a model on this machine
    if input is None or output is None:
        return None
    if price is not None:
        return float(round((price["input"] * input + price["output"] * output) / _ONE, 12))
    return _listed(model, input, output, details)


def _file() -> str | None:
    folder = pflow_directory("XDG_CONFIG_HOME", ".config")
    return folder and os.path.join(folder, "prices.toml")


def _example(model: str) -> str:
    return f'"{model}" = {{ input = 1.5, output = 6.0 }}'


def _own_prices() -> dict[str, dict[str, float]]:
    """Read the user's prices by model: input and output, in dollars for a million tokens."""
    file = _file()
    try:
        with open(file or "", "rb") as opened:
            prices = tomllib.load(opened)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise PflowError(f"cannot read '{file}': {error}", exit=BAD_CONFIG) from error
    for name, price in prices.items():
        numbers: list[Any] = [price.get(side) for side in ("input", "output")] if isinstance(price, dict) else [None]
        if not all(type(each) in (int, float) and 0 <= each < _ONE for each in numbers):
            what = f"cannot read '{file}': '{name}' needs two prices, input and output"
            raise PflowError(what, hint=_example(name), exit=BAD_CONFIG)
    return prices


def _listed(model: Any, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """Return the price by the list of genai-prices; None if it does not know the model."""
    said = details if "prompt_tokens" in details else {"input_tokens": input, "output_tokens": output, **details}

    def price(name: str, place: dict[str, Any]) -> float:
        from genai_prices import calc_price

        usage = _list_usage({"model": name, "usage": said}, place, input, output)
        return round(float(calc_price(usage, name, **place).total_price), 12)

    return find_listed(model, price)


def find_listed(model: Any, find: Callable[[str, dict[str, Any]], T]) -> T | None:
    """Return what `find` finds in the list for a name of the model, and its provider: of its address, else its key."""
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
    """Return the usage in the list's form, with the tokens from a provider's cache if it says so in a known shape.

    Raises LookupError for an unknown provider or model.
    """
    from genai_prices import Usage, extract_usage

    for flavor in ("responses", "chat", "default"):
        try:
            return extract_usage(answer, **place, api_flavor=flavor).usage
        except ValueError:
            continue
    return Usage(input_tokens=input, output_tokens=output)
