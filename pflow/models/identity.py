"""Which model a request would go to, told without the llm library as long as nothing has changed that decides it."""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING
from pflow.catalog.registry import data_directory
from pflow.digest import digest_of
from pflow.jsontext import decode, encode
from pflow.xdg import cache_directory, make_private, read_cached

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Identity = dict[str, Any]
    """Of a model: `id`; `entry`, the digest of what extra-openai-models.yaml says of it; `weights`, its file here; `key`,
    the variable that may hold its key, where the default was chosen by it.
    """

_SETTINGS = ("aliases.json", "default_model.txt", "extra-openai-models.yaml", "keys.json")
_VARIABLES = ("LLM_MODEL", "LLM_LOAD_PLUGINS", "XDG_DATA_HOME", "HOME")


def settings_directory() -> str:
    """llm's directory of settings, as llm itself finds it, without the time that importing it takes."""
    if path := os.environ.get("LLM_USER_PATH"):
        return path
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/io.datasette.llm")
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "io.datasette.llm")


def identify(name: str | None) -> Identity:
    """The identity of the model that would be asked by this name, or without one. Raises what `choose` raises."""
    file = _memo_file()
    known = decode(read_cached(file) or b"{}") if file else {}
    before = _what_decides()
    found = known.get("models", {}).get(name or "") if known.get("decided_by") == before else None
    if found is None or bool(os.environ.get(found.get("key", ""))) != found.get("has_key", False):
        from pflow.models.choose import identity_of

        found = identity_of(name)
        kept = known["models"] if known.get("decided_by") == before else {}
        if file and before == _what_decides():
            _keep(file, {"decided_by": before, "models": {**kept, name or "": found}})
    return found  # type: ignore[no-any-return]


def options_of(id: str) -> dict[str, Any]:
    """The options that `llm models options set` chose for a model; none where that is malformed."""
    try:
        with open(os.path.join(settings_directory(), "model_options.json"), "rb") as file:
            options = decode(file.read()).get(id)
    except (OSError, ValueError, AttributeError):
        return {}
    return options if isinstance(options, dict) else {}


def _memo_file() -> str | None:
    cache = cache_directory()
    return os.path.join(cache, "models.json") if cache else None


def _keep(file: str, memo: dict[str, Any]) -> None:
    from pflow.atomic import replace

    try:
        make_private(os.path.dirname(file))
        replace(file, encode(memo), mode=0o600)
    except OSError:
        pass  # it is found again the next time


def _what_decides() -> list[Any]:
    """A digest of what decides which models there are and which is the default: llm's settings, plugins, variables."""
    settings = settings_directory()
    places = [*(os.path.join(settings, name) for name in _SETTINGS), data_directory("models") or "", *sys.path]
    said = [os.environ.get(name) for name in _VARIABLES]
    return [settings, sys.executable, digest_of(said), digest_of(list(_states(places)))]


def _states(places: Iterable[str]) -> Iterable[Any]:
    for place in places:
        try:
            status = os.stat(place)
            yield [place, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        except OSError:
            yield [place]
