"""Templates of URLs: a value from the store is one part of a path or query, and never chooses the host."""

from __future__ import annotations

from pflow import Any
from pflow.errors import DENIED, PflowError, shorten
from pflow.values.paths import Path, write_path

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def join_url(written: str, parts: list[str | Path], texts: list[str]) -> str:
    """Join the parts of a URL, values as RFC 6570 encodes them. Raises PflowError (77) in its origin, and for `..`."""
    url = like = ""
    for at, (part, text) in enumerate(zip(parts, texts, strict=True)):
        if isinstance(part, str) or at == 0:
            url, like = url + text, like + text
            continue
        if _is_in_origin(url):
            why = f"{write_path(part)} is '{shorten(text)}', which would be a part of the scheme, user, host or port"
            hint = "a reference at the beginning brings in all of them, one behind the host a part of the path or query"
            raise PflowError(f"cannot fill '{shorten(written)}': {why}", hint=hint, exit=DENIED)
        url, like = url + _quoted(text), like + "x" * bool(text)
    if _dots(url) != _dots(like):
        why = "a value would make '.' or '..' of a part of the path"
        raise PflowError(f"cannot fill '{shorten(written)}': {why}", exit=DENIED)
    return url


def check_keyless(*names: Any) -> None:
    """Raise PflowError (77) for the address of a model with a user or a query in it: either may be a key."""
    places = [name.partition("#")[0] for name in names if str(name).lower().startswith(("http://", "https://"))]
    if not {"@", "?", "\\"}.isdisjoint("".join(places)):
        hint = "`llm keys set http://HOST/v1` keeps the key of such an address"
        raise PflowError("cannot ask a model at an address that has a user, key or query in it", hint=hint, exit=DENIED)


def _is_in_origin(begun: str) -> bool:
    """Return True if what follows this beginning of a URL is still in its scheme, user, host or port."""
    scheme, _, rest = begun.partition(":")
    rest = rest if rest.startswith("//") and "/" not in scheme else begun
    return not set("/?#\\") & set(rest.removeprefix("//"))


def _quoted(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def _dots(url: str) -> int:
    """Count the parts of a path that lead to its own directory or the one above."""
    path = url.partition("#")[0].partition("?")[0].replace("\\", "/")
    return sum(part.lower().replace("%2e", ".") in (".", "..") for part in path.split("/"))
