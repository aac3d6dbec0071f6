"""What a person writes to reach a server: a URL, headers with keys from the environment, and a proxy."""

import os
import re

import httpx2

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, USAGE, PflowError, nonblank, shorten
from pflow.text.printable import clause
from pflow.values.secrets import all_secrets, is_secret_header

_NO_KEYS = "a header takes them from the environment: --header='Authorization: Basic env:NAME'"


def parse_url(text: str, base: httpx2.URL | None = None, act: str = "") -> httpx2.URL:
    """Parse an http or https URL, absolute or relative to `base`.

    Raises PflowError, which begins with `act`: 66 if the text is empty, 65 if it is not such a URL, 2 for a space
    (unless a server sent it, with `base`), 77 for a user or password.
    """
    act = act or f"cannot ask for '{show(text)}'"
    text = nonblank(text, act, "URL").strip()
    if base is None and "\n" in text:
        raise PflowError(f"{act}: it has several lines", hint="--each in a flow takes one in each line", exit=BAD_DATA)
    if base is None and " " in text:
        raise PflowError(f"{act}: it has a space inside", hint="in a URL a space is written %20", exit=USAGE)
    try:
        url = httpx2.URL(text) if base is None else base.join(text)
    except httpx2.InvalidURL as error:
        raise PflowError(f"{act}: {clause(str(error))}", exit=BAD_DATA, is_permanent=True) from None
    if url.scheme not in ("http", "https") or not url.host:
        hint = f"https://{shorten(text)}" if not url.scheme and not text.startswith("/") else "https://HOST/PATH"
        it = f"'{show(text)}'" if base else "it"
        raise PflowError(f"{act}: {it} is not an http or https URL", hint=hint, exit=BAD_DATA, is_permanent=True)
    if not 0 < (url.port or 80) < 1 << 16:
        raise PflowError(f"{act}: {url.port} is not a valid port", exit=BAD_DATA, is_permanent=True)
    if url.userinfo:
        raise PflowError(f"{act}: a URL may not have a user or password", hint=_NO_KEYS, exit=DENIED)
    return url


def show(url: str) -> str:
    """Show a URL in a message without user, password and query, which may contain keys."""
    bare, query, _ = re.sub(r"(?<=//)[^/?#]*@", "***@", url.partition("#")[0]).partition("?")
    return shorten(bare, 200) + ("?…" if query else "")


_FROM_ENVIRONMENT = re.compile(r"(?<![\w:])env:([A-Za-z_]\w*)")


def read_headers(texts: list[str], *, are_private: bool = False) -> tuple[dict[str, str], list[str]]:
    """Read `NAME: VALUE` texts, in which env:NAME stands for a variable's value; return the headers and their secrets.

    With `are_private` a key may be written out: other users can see a command line, but not these texts. The last word
    of each value then counts as a secret. Raises PflowError: 2 for an invalid header or a key that is written out, 77
    for an unset variable.
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
        parts = _FROM_ENVIRONMENT.split(value)  # re.split puts the variables between the rest
        parts[1::2] = [_value_of(variable, f"cannot send '{name}'", DENIED) for variable in parts[1::2]]
        headers[name] = "".join(parts)
        secrets += [*parts[1::2], *(headers[name].split()[-1:] if are_private else [])]
    all_secrets.add(secrets)
    return headers, secrets


def read_proxy(text: str | None) -> str | None:
    """Read the URL of a proxy, for which env:NAME may stand; return None without one.

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
