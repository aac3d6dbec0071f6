"""What is sealed with the user's key: the secrets in the first record of a journal, and what its run may touch."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Iterator, Mapping
from pflow.binding.sources import assign
from pflow.errors import Ignoring, result_of
from pflow.files.state_key import state_key
from pflow.record.journal import raw
from pflow.values.digest import keyed_digest
from pflow.values.jsontext import decode
from pflow.values.secrets import Secrets

UNSEALED = "the list of files that it may touch has changed, or belongs to another run"
ANEW = "pflow run, or pflow map, begins another one"

if TYPE_CHECKING:
    Begin = dict[str, Any]


def bounds_seal(run: str, about: Mapping[str, Any]) -> str:
    """Return the seal of the bounds that a record says a run has: it fits no other run, and no other bounds.

    Raises PflowError (73, 78) without a key.
    """
    return keyed_digest(state_key(), ["bounds", run, about.get("confined") or ""])


def seal(begin: Begin, secrets: Secrets, key: bytes) -> None:
    """Put a digest in place of each value that has a secret in it, the first time."""
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
    """Decode the texts that have a secret in them, so that it can be put back.

    Of a text that cannot be decoded, only a digest is kept: yield it with its name.
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
    """Return JSON that pflow refuses (NaN, a number that is too large) as a text without escapes; else the bytes."""
    import json

    refused = (ValueError, RecursionError)
    return result_of(lambda: json.dumps(json.loads(data), ensure_ascii=False), of=refused, otherwise=data)


def unseal(begin: Begin, find: Callable[[str], str], key: bytes) -> list[str]:
    """Put back the secrets that `find` returns by name; return the names of those that have changed."""
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
    """Yield the values that a text may have been: itself, with a newline, decoded JSON."""
    yield from (text, f"{text}\n")
    with Ignoring(ValueError):
        yield decode(text.encode())
