"""What an answer costs: by the user's own prices, else by the list of genai-prices, which asks no network."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from llm import Model

from pflow.errors import BAD_CONFIG, PflowError
from pflow.files.xdg import pflow_directory

_ONE = 1_000_000
"""Prices are in dollars for so many tokens."""


def is_priced(model: Model) -> bool:
    """Whether the price of its answers is known before it is asked. Raises PflowError (78) for a malformed file."""
    return cost_of(model, 0, 0, {}) is not None


def no_price(model: Model) -> PflowError:
    """What to say of a model that --max-cost cannot hold."""
    return PflowError(
        f"cannot ask '{model.model_id}' under --max-cost: its price is not known",
        hint=f"{_file() or 'prices.toml'} can say it, in dollars for a million tokens: {_example(model.model_id)}",
        exit=BAD_CONFIG,
    )


def no_tokens(model: Model) -> PflowError:
    """What to say where an answer does not tell its cost, and so will no other of this model."""
    what = f"cannot hold '{model.model_id}' to --max-cost: its answer does not say how many tokens it took"
    error = PflowError(what, hint="--max-calls holds it", exit=BAD_CONFIG, is_permanent=True)
    error.ends_run = True
    return error


def cost_of(model: Model, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """The dollars that an answer of so many tokens costs; None where a price, or a number of tokens, is unknown.

    `details` is what the provider said of them, in its own shape. Raises PflowError (78) for a malformed file.
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
    """The prices of the user's file by model: input and output, in dollars a million tokens."""
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
            what = f"cannot read '{file}': '{name}' has no two prices"
            raise PflowError(what, hint=_example(name), exit=BAD_CONFIG)
    return prices


def _listed(model: Any, input: Any, output: Any, details: dict[str, Any]) -> float | None:
    """By the list."""
    names, place = listed_names(model)
    said = details if "prompt_tokens" in details else {"input_tokens": input, "output_tokens": output, **details}
    for each in names:
        try:
            from genai_prices import calc_price

            usage = _list_usage({"model": each, "usage": said}, place, input, output)
            return round(float(calc_price(usage, each, **place).total_price), 12)
        except Exception:  # whatever a list of others does not know, or stumbles over
            continue
    return None


def listed_names(model: Any) -> tuple[list[str], dict[str, Any]]:
    """What the list may call a model, and its provider there: the one at its address, else the one of its key."""
    name = str(getattr(model, "model_name", None) or model.model_id)
    key = getattr(model, "needs_key", None) or ""
    address = getattr(model, "api_base", None) or os.environ.get(f"{key.upper()}_BASE_URL")
    place = {"provider_api_url": address} if address else {"provider_id": key}
    return [name, name.partition("/")[2]], place  # llm's plugins put the provider's name before the model's


def _list_usage(answer: dict[str, Any], place: Any, input: int, output: int) -> Any:
    """The usage as the list has it, with what came from a provider's cache where it said so in a shape that is known.

    Raises LookupError for an unknown provider or model.
    """
    from genai_prices import Usage, extract_usage

    for flavor in ("responses", "chat", "default"):
        try:
            return extract_usage(answer, **place, api_flavor=flavor).usage
        except ValueError:
            continue
    return Usage(input_tokens=input, output_tokens=output)
