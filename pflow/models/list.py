"""The models that TAB offers. What loads the llm library, or asks servers, keeps them, so that TAB need not."""

from __future__ import annotations

import os

from pflow import Iterable, Iterator
from pflow.files.directories import cache_directory, read_cached

MODELS, SERVED = "models", "served"
"""The lists: the models of llm, and those that servers on this machine offered when they were last asked."""


def models_file(name: str) -> str | None:
    """Return the file of a list, lines of ID<TAB>DESCRIPTION; None if the environment names no cache."""
    cache = cache_directory()
    return os.path.join(cache, "completion", name) if cache else None


def keep_models(models: Iterable[tuple[str, str]], name: str = MODELS) -> None:
    """Keep a list of models, each with its description; do nothing if it cannot be written."""
    from pflow.files.atomic import write_cached

    path = models_file(name)
    lines = [f"{model}\t{' '.join(about.split())}\n" for model, about in models if model.isprintable()]
    data = "".join(lines).encode("utf-8", "replace")
    if path is not None and read_cached(path) != data:
        write_cached(path, data)


def read_models(*names: str) -> Iterator[tuple[str, str]]:
    """Yield the models of these lists, or of all, each with its description."""
    for path in map(models_file, names or (MODELS, SERVED)):
        for line in str((read_cached(path) if path else None) or b"", "utf-8", "replace").splitlines():
            model, _, about = line.partition("\t")
            yield model, about
