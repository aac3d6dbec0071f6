"""URLs: checking them, and showing them in messages."""

import re

import httpx2

from pflow.errors import BAD_DATA, DENIED, USAGE, PflowError, filled, shorten
from pflow.text.printable import clause

_NO_KEYS = "a header takes them from the environment: --header='Authorization: Basic env:NAME'"


def parse_url(text: str, base: httpx2.URL | None = None, act: str = "") -> httpx2.URL:
    """Parse an http or https URL, absolute or relative to `base`. Raises PflowError, which begins with `act`.

    66 if it is empty, 65 if it is not such a URL, 2 for a space that no server wrote, 77 if it has a password.
    """
    act = act or f"cannot ask for '{show(text)}'"
    text = filled(text, act, "URL").strip()
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
