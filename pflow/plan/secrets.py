"""Secrets: finding texts that look like one, and masking those that a flow holds."""

import os
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from pflow.errors import USAGE, PflowError
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.library.save import secrets_of
from pflow.values.masks import MASK, is_secret_name
from pflow.values.templates import TEMPLATE

_VALUES = re.compile(
    r"\bsk-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}"
    r"|\bAIza[\w-]{30,}|\bglpat-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY.*"
)
_VARIABLE = re.compile(
    r"\$\{?[!#]?([A-Za-z_]\w*)|\b(?:printenv|getenv|environ|ENVIRON|ENV|process\.env)(?:\.get)?\W{1,4}(\w+)"
)
_SHORTEST = 8
"""The least characters of a variable's value: a shorter one may stand in a text by chance."""


def is_secret_value(text: str) -> bool:
    """Return True if a text holds something like a key, or a secret of the environment."""
    return _VALUES.search(text) is not None or any(value in text for value in _of_environment())


def refuse_secrets(act: str, text: str, what: str) -> None:
    """Raise PflowError (2) for a text with a secret in it, before it is sent to a model."""
    if is_secret_value(text):
        message = f"cannot {act}: {what} holds something like a secret, which would be sent to a model"
        raise PflowError(message, hint="leave it out: nodes get their secrets by themselves", exit=USAGE)


def hider() -> Callable[[str], str]:
    """Return a function that masks keys and the environment's secrets in texts: it reads the environment once, now."""
    values = sorted(_of_environment(), key=len, reverse=True)

    def hide(text: str) -> str:
        for value in values:
            text = text.replace(value, MASK)
        return _VALUES.sub(MASK, text)

    return hide


def _of_environment() -> list[str]:
    """Return the values of variables whose names promise secrets, without words and paths."""
    values = [value for name, value in os.environ.items() if is_secret_name(name) and len(value) >= _SHORTEST]
    return [each for each in values if not each.isalpha() and not (os.path.isabs(each) and os.path.exists(each))]


def secret_variables(text: str) -> list[str]:
    """Return the variables in a text, `$NAME` or `printenv NAME`, whose names promise secrets."""
    names = [match[1] or match[2] for match in _VARIABLE.finditer(text)]
    return [name for name in names if name.isupper() and is_secret_name(name)]


def masked(wired: WiredFlow) -> dict[str, Any]:
    """Return the IR of a flow with every secret masked."""
    ir = deepcopy(flow_to_ir(wired.flow))
    for place, value, _ in secrets_of(wired):
        holder = _at(ir, place[:-1])
        if isinstance(holder, dict) and place[-1] in holder:
            holder[place[-1]] = TEMPLATE + MASK if str(value).startswith(TEMPLATE) else MASK
    return ir


def _at(ir: dict[str, Any], place: tuple[str, ...]) -> Any:
    value: Any = ir
    for name in place:
        if isinstance(value, list):
            value = next((each for each in value if (each.get("id") or each.get("type")) == name), None)
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value
