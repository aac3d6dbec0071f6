"""Where GitHub's REST interface is, and the key for it."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from pflow.errors import BAD_CONFIG, PflowError

NO_KEY = "put one into GITHUB_TOKEN (https://github.com/settings/tokens), or: gh auth login"

_PUBLIC = "https://api.github.com"


def api_url() -> str:
    """GITHUB_API_URL, else GitHub's own. Raises PflowError (78) for one to which a key cannot be sent."""
    url = (os.environ.get("GITHUB_API_URL") or _PUBLIC).rstrip("/")
    host = _host_of(url)
    if not host or not url.startswith(("https://", "http://") if is_local(host) else "https://"):
        hint = "https://HOST/api/v3, or unset it for github.com"
        raise PflowError("cannot ask GitHub: GITHUB_API_URL is no https URL", hint=hint, exit=BAD_CONFIG)
    return url


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_local(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


def web_host() -> str:
    """The host of the repositories behind the interface: github.com for api.github.com."""
    return _host_of(api_url()).removeprefix("api.")


def find_key() -> str:
    """GITHUB_TOKEN, else GH_TOKEN, else what gh was given for this host; empty where there is none."""
    key = (os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip() or _key_of_gh()
    if not (key.isascii() and key.isprintable()):
        what = "cannot ask GitHub: its key holds what is no printable ASCII character"
        raise PflowError(what, hint=NO_KEY, exit=BAD_CONFIG)
    return key


def _key_of_gh() -> str:
    from shutil import which

    from pflow.process.children import run

    gh = None if is_local(web_host()) else which("gh")
    if not gh:
        return ""
    said = bytearray()
    code = run([gh, "auth", "token", "--hostname", web_host()], on_stdout=said.extend, on_stderr=lambda part: None)
    return "" if code else said.decode(errors="replace").strip()
