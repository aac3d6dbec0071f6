"""Reading headers, pairs and proxies as people write them, with keys from the environment."""

import os
import re

from pflow.errors import BAD_CONFIG, DENIED, USAGE, PflowError
from pflow.values.secrets import everything, is_secret_header

_FROM_ENVIRONMENT = re.compile(r"(?<![\w:])env:([A-Za-z_]\w*)")


def read_headers(texts: list[str], *, are_private: bool = False) -> tuple[dict[str, str], list[str]]:
    """Read `NAME: VALUE` texts; return the headers and the secrets in them: each env:NAME is that variable's value.

    With `are_private`, other users cannot see the texts, so keys may be written out: the last word of each value.
    Raises PflowError: 2 for an invalid header, or for a key that is written out, 77 for an unset variable.
    """
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for text in texts:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon:
            raise PflowError(f"cannot read the header '{name}'", hint="it is written 'NAME: VALUE'", exit=USAGE)
        if is_secret_header(name) and not are_private and value and not _FROM_ENVIRONMENT.search(value):
            scheme = "Bearer " * (name.lower() == "authorization")
            hint = f"--header='{name}: {scheme}env:NAME' takes it from a variable"
            what = f"cannot send '{name}' with its value written out: other users can see it"
            raise PflowError(what, hint=hint, exit=USAGE)
        parts = _FROM_ENVIRONMENT.split(value)  # every second is a variable
        parts[1::2] = [_value_of(variable, f"cannot send '{name}'", DENIED) for variable in parts[1::2]]
        headers[name] = "".join(parts)
        secrets += [*parts[1::2], *(headers[name].split()[-1:] if are_private else [])]
    everything.add(secrets)
    return headers, secrets


def read_proxy(text: str | None) -> str | None:
    """Read the URL of a proxy; env:NAME is that variable's value.

    Raises PflowError: 2 for a password that is written out, 78 for an unset variable.
    """
    text = text or ""
    if variable := _FROM_ENVIRONMENT.fullmatch(text):
        return _value_of(variable[1], "cannot use the proxy", BAD_CONFIG)
    if "@" in text:
        hint = "put the URL into a variable: --proxy=env:NAME, or HTTPS_PROXY without the flag"
        raise PflowError("cannot use a password in --proxy: other users can see it", hint=hint, exit=USAGE)
    return text or None


def _value_of(variable: str, act: str, exit: int) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise PflowError(f"{act}: the variable {variable} is not set", exit=exit)
    return value
