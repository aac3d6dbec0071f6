"""The list of models that TAB offers. Runs that load the llm library keep it, so that TAB need not load llm."""

from __future__ import annotations

import os

from pflow import Iterable, Iterator
from pflow.files.directories import cache_directory, make_private, read_cached


def models_file() -> str | None:
    """Return the file of the list, lines of ID<TAB>DESCRIPTION; None if the environment names no cache."""
    cache = cache_directory()
    return os.path.join(cache, "completion", "models") if cache else None


def keep_models(models: Iterable[tuple[str, str]]) -> None:
    """Keep the list of models, each with its description; do nothing if it cannot be written."""
    from pflow.files.atomic import replace

    path = models_file()
    lines = [f"{model}\t{' '.join(about.split())}\n" for model, about in models if model.isprintable()]
    data = "".join(lines).encode("utf-8", "replace")
    try:
        if path is not None and read_cached(path) != data:
            make_private(os.path.dirname(path))
            replace(path, data, mode=0o600)
    except OSError:
        pass


def read_models() -> Iterator[tuple[str, str]]:
    """Yield the models of the list, each with its description."""
    path = models_file()
    for line in str((read_cached(path) if path else None) or b"", "utf-8", "replace").splitlines():
        model, _, about = line.partition("\t")
        yield model, about
