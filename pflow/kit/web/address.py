"""URLs: which may be asked for, and how messages show them."""

import re

import httpx2

from pflow.errors import BAD_DATA, DENIED, MISSING, PflowError, shorten
from pflow.words.printable import clause

_NO_KEYS = "a header takes them from the environment: --header='Authorization: Basic env:NAME'"


def parse_url(text: str, base: httpx2.URL | None = None, act: str = "") -> httpx2.URL:
    """An http or https URL, as it is or from where `base` is. Raises PflowError, which begins with `act`.

    66 where it is empty, 65 where it is no such URL, 77 where a password stands in it.
    """
    act = act or f"cannot ask for '{show(text)}'"
    if not text.strip():
        raise PflowError(f"{act}: the URL is empty", exit=MISSING)
    try:
        url = httpx2.URL(text.strip()) if base is None else base.join(text.strip())
    except httpx2.InvalidURL as error:
        raise PflowError(f"{act}: {clause(str(error))}", exit=BAD_DATA, is_permanent=True) from None
    if url.scheme not in ("http", "https") or not url.host:
        hint = f"https://{shorten(text)}" if not url.scheme and not text.startswith("/") else "https://HOST/PATH"
        it = f"'{show(text)}'" if base else "it"
        raise PflowError(f"{act}: {it} is no http or https URL", hint=hint, exit=BAD_DATA, is_permanent=True)
    if not 0 < (url.port or 80) < 1 << 16:
        raise PflowError(f"{act}: there is no port {url.port}", exit=BAD_DATA, is_permanent=True)
    if url.userinfo:
        raise PflowError(f"{act}: a URL holds no user and no password", hint=_NO_KEYS, exit=DENIED)
    return url


def show(url: str) -> str:
    """A URL for a message: without user and password, and without its query, which may hold keys."""
    bare, query, _ = re.sub(r"(?<=//)[^/?#]*@", "***@", url.partition("#")[0]).partition("?")
    return (bare if len(bare) <= 200 else bare[:199] + "…") + ("?…" if query else "")
