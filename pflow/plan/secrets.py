"""What looks like a secret: the name of a variable or an input that holds one, and somebody's key itself."""

from __future__ import annotations

import re

_WORDS = {"secret", "secrets", "password", "passwd", "passphrase", "token", "credential", "credentials", "apikey"}
_KEYS = re.compile(r"(^|_)(api|access|auth|private|secret|signing|encryption|ssh)_?key(_|$)")
_VALUES = re.compile(
    r"\bsk-[\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}"
    r"|\bAIza[\w-]{30,}|\bglpat-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)|\b(?:printenv|getenv|environ)\W{1,4}(\w+)")


def is_secret_name(name: str) -> bool:
    """Whether a variable or an input of this name most likely holds a secret."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    return bool(_WORDS & set(words.split("_"))) or _KEYS.search(words) is not None


def is_secret_value(text: str) -> bool:
    """Whether a text holds what looks like somebody's key."""
    return _VALUES.search(text) is not None


def secret_variables(text: str) -> list[str]:
    """The variables that a text asks the environment for, `$NAME` or `printenv NAME`, and that may well be secrets."""
    names = [match[1] or match[2] for match in _VARIABLE.finditer(text)]
    return [name for name in names if name.isupper() and is_secret_name(name)]
