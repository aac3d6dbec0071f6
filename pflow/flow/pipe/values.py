"""A flag's value as a flow's JSON holds it, where every text is a template."""

from __future__ import annotations

import os

from pflow.binding.given import Given, as_written
from pflow.errors import USAGE, PflowError, shorten
from pflow.templates import parse_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.types import Type


def ir_value(flag: str, type: Type, texts: list[str | bool], *, verbatim: bool, is_plain: bool) -> Any:
    """The value of a flag: as it is written where it is a text or has a reference, else as its type.

    With `verbatim` a `$` in it is a `$`, which a template writes twice; not where `is_plain`, which is no template.
    Raises PflowError (2) where it does not fit the type.
    """
    written = as_written(flag, type, texts, verbatim)
    given = Given(flag, type, written, verbatim=verbatim)
    if given.references:
        return written
    if isinstance(given.value, str | bytes) and (is_plain or not verbatim):
        return _as_json(written)
    value = _as_json(given.value)
    return value if is_plain else _escaped(flag, value)


def _as_json(value: Any) -> Any:
    """Texts that are UTF-8 as texts and others as bytes, whatever their type made of them."""
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    try:
        if isinstance(value, bytes):
            return str(value, "utf-8")
        if isinstance(value, str):
            value.encode()
    except ValueError:
        return os.fsencode(value)
    return value


def _escaped(flag: str, value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, list):
        return [_escaped(flag, item) for item in value]
    if isinstance(value, dict):
        for key in value:
            _check_key(flag, key)
        return {key: _escaped(flag, item) for key, item in value.items()}
    return value


def _check_key(flag: str, key: str) -> None:
    if all(isinstance(part, str) for part in parse_template(key)):
        return
    why = f"what looks like a template cannot stand in the key of an object: '{shorten(key)}'"
    raise PflowError(f"cannot take {flag}: {why}", hint="another key", exit=USAGE)
