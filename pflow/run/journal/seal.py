"""The secrets in what a run began with: digests in their place, until each is given again."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.binding.sources import assign
from pflow.digest import keyed_digest
from pflow.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.masks import Secrets

    Begin = dict[str, Any]


def seal(begin: Begin, secrets: Secrets, key: bytes) -> None:
    """Put a digest in place of each value in which a secret stands, once: it tells nobody of it."""
    if "sealed" in begin:
        return
    sealed = begin["sealed"] = []

    def without(value: Any, path: list[str]) -> Any:
        if isinstance(value, dict) and not secrets.are_in([*value]):
            return {name: without(member, [*path, name]) for name, member in value.items()}
        if value is None or isinstance(value, bool) or not secrets.are_in(value):
            return value
        sealed.append([path, keyed_digest(key, value)])
        return None

    if secrets:
        _find_in_texts(begin["store"], secrets)
        begin |= {name: without(begin[name], [name]) for name in ("store", "inputs")}
    set_ones = {name: os.environ[name] for name in begin["secrets"] if os.environ.get(name)}
    begin["secrets"] = {name: keyed_digest(key, value) for name, value in set_ones.items()}
    begin["key"] = keyed_digest(key, "")


def _find_in_texts(store: dict[str, Any], secrets: Secrets) -> None:
    """Make values of those texts in which there is one, so that it can be put back."""
    for key, text in list(store["texts"].items()):
        try:
            value = decode(text if isinstance(text, bytes) else text.encode())
        except ValueError:
            continue
        if secrets.are_in(value):
            store["values"][key] = value
            del store["texts"][key]


def unseal(begin: Begin, find: Callable[[str], Any], key: bytes) -> list[str]:
    """Put the secrets back, each as `find` gives it by its name; the names of those that are others by now."""
    found: dict[str, Any] = {}
    others = []
    for path, digest in begin.get("sealed", ()):
        name = ".".join(map(str, path[2:]))
        value = found[name] = found[name] if name in found else find(name)
        assign(begin, path, value)
        if keyed_digest(key, value) != digest:
            others.append(name)
    return list(dict.fromkeys(others))
