"""The secrets in what a run began with: digests in their place, until each is given again."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.binding.sources import assign
from pflow.record.lines import raw
from pflow.values.digest import keyed_digest
from pflow.values.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.values.masks import Secrets

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
        sealed += [[["texts", name], digest] for name, digest in _find_in_texts(begin, secrets, key)]
        begin |= {name: without(begin[name], [name]) for name in ("store", "inputs")}
    set_ones = {name: os.environ[name] for name in begin["secrets"] if os.environ.get(name)}
    begin["secrets"] = {name: keyed_digest(key, value) for name, value in set_ones.items()}
    begin["key"] = keyed_digest(key, "")


def _find_in_texts(begin: Begin, secrets: Secrets, key: bytes) -> Iterator[tuple[str, str]]:
    """Make values of those texts in which there is one, so that it can be put back.

    Of one that cannot be decoded nothing is kept: its name, and a digest of all of it.
    """
    for name, text in list(begin["texts"].items()):
        data = raw(text)
        try:
            value = decode(data)
        except ValueError:
            if secrets.are_in(_unescaped(data)):
                begin["texts"][name] = b""
                yield name, keyed_digest(key, str(data, "utf-8", "replace"))
            continue
        if secrets.are_in(value):
            begin["store"]["values"][name] = value
            del begin["texts"][name]


def _unescaped(data: bytes) -> str | bytes:
    """JSON that pflow refuses, NaN or a number that is too large, as a text without escapes; else the bytes."""
    import json

    try:
        return json.dumps(json.loads(data), ensure_ascii=False)
    except (ValueError, RecursionError):
        return data


def unseal(begin: Begin, find: Callable[[str], str], key: bytes) -> list[str]:
    """Put the secrets back, whose texts `find` gives by their names; the names of those that are others by now."""
    texts: dict[str, str] = {}
    others = []
    for path, digest in begin.get("sealed", ()):
        is_text = path[0] == "texts"
        name = ".".join(map(str, path[1 if is_text else 2 :]))
        text = texts[name] = texts[name] if name in texts else find(name)
        value = next((each for each in _values(text) if keyed_digest(key, each) == digest), None)
        others += [name] if value is None else []
        value = text if value is None else value
        assign(begin, path, value.encode() if is_text else value)
    return list(dict.fromkeys(others))


def _values(text: str) -> Iterator[Any]:
    """What a text may have been: itself, with the newline that a file's text is without, JSON."""
    yield from (text, f"{text}\n")
    try:
        yield decode(text.encode())
    except ValueError:
        pass
