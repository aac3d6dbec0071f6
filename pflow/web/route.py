"""The route to a server, as the environment sets it: the proxy, and the certificates to trust."""

import os
import ssl
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.request import getproxies

import httpx2

from pflow.errors import BAD_CONFIG, Attempt, PflowError, causes, reason_of, result_of
from pflow.web.hosts import is_here

_CLASSES = {"ImportError", "OSError", "ValueError", "InvalidURL"}
_WORDS = ("proxy", "socks", "scheme", "port", "ssl", "x509", "certificate", "no such file", "directory")
"""The classes and the words of errors by which clients refuse a proxy or certificates."""

_SCHEMES = ("http", "https", "socks5", "socks5h")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_THIS_MACHINE = "localhost,.localhost,127.0.0.0/8,127.0.0.1,0.0.0.0,::1"
"""The hosts of `is_here`, for NO_PROXY: as a network, and as addresses for the libraries that read no network."""


def route(url: str) -> dict[str, Any]:
    """Return the arguments of a client of httpx2 for this URL.

    Raises PflowError (78) for a proxy or certificates that cannot be used.
    """
    parts, (variable, proxy) = httpx2.URL(url), _proxy_of(url)
    # Plain HTTP to this machine gets an empty set of certificates, which takes no time to load.
    needs_trust = parts.scheme == "https" or bool(proxy) or not is_here(parts.host) or any(map(_value, _CERTIFICATES))
    verify = _trusted(*map(_value, _CERTIFICATES)) if needs_trust else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return {"proxy": _checked(variable, proxy) if proxy else None, "verify": verify, "trust_env": False}


def _proxy_of(url: str) -> tuple[str, str]:
    """Return the variable that names the proxy for a URL, and the proxy; both are empty without a proxy.

    This machine is reached without one, unless NO_PROXY is set and does not list it.
    """
    parts, proxies = httpx2.URL(url), getproxies()
    name = next((each for each in (parts.scheme, "all") if proxies.get(each)), "")
    if not name or (_is_listed(parts, proxies["no"]) if proxies.get("no") else is_here(parts.host)):
        return "", ""
    variable = next((each for each in os.environ if each.lower() == f"{name}_proxy" and os.environ[each]), name)
    return variable, proxies[name] if "://" in proxies[name] else f"http://{proxies[name]}"


def via(url: str | None) -> str:
    """Return words for the proxy through which a URL is reached, without its password; "" without a proxy."""
    try:
        variable, proxy = _proxy_of(url) if url else ("", "")
        return f", through the proxy '{_shown(httpx2.URL(proxy))}' of {variable}" if proxy else ""
    except (ValueError, httpx2.InvalidURL):
        return ""


def bypass_proxies_here() -> None:
    """Make libraries with clients of their own reach this machine without a proxy, as `route` does."""
    proxies = getproxies()
    listed = proxies.get("no", "")
    is_in_network = "/" in listed and _is_listed(httpx2.URL("http://127.0.0.1"), listed)
    if proxies and (is_in_network or not listed) and _THIS_MACHINE not in listed:
        os.environ.pop("no_proxy", None)  # even an empty one hides NO_PROXY
        os.environ["NO_PROXY"] = ",".join(filter(None, (listed, _THIS_MACHINE)))


def fault_behind(error: BaseException) -> PflowError | None:
    """Return what is wrong with the environment's proxies or certificates, if that is why a library's client failed."""
    chain = [each for each in causes(error) if not _CLASSES.isdisjoint(kind.__name__ for kind in type(each).__mro__)]
    if not any(word in str(each).lower() for each in chain for word in _WORDS):
        return None
    try:
        check_bundle()
        _trusted(*map(_value, _CERTIFICATES))
        for variable in [each for each in os.environ if each.lower() in ("http_proxy", "https_proxy", "all_proxy")]:
            _checked(variable, os.environ[variable] or "http://x")
    except PflowError as fault:
        return fault
    return None


def _checked(variable: str, proxy: str) -> httpx2.Proxy:
    """Return a proxy that can be used. Raises PflowError (78), whose message leaves out the password."""
    try:
        found = httpx2.Proxy(proxy)
        why = "" if found.url.host else "it has no host"
        if found.url.scheme.startswith("socks"):
            import socksio  # noqa: F401
    except ImportError:
        why = "the library socksio is missing: pip install socksio"
    except (ValueError, httpx2.InvalidURL):
        scheme, mark, _ = proxy.partition("://")
        is_known = not mark or scheme.lower() in _SCHEMES
        why = "it is not a URL" if is_known else f"'{scheme}' is none of {', '.join(_SCHEMES)}"
    if why:
        raise PflowError(f"cannot use the proxy of {variable}: {why}", hint="http://HOST:PORT", exit=BAD_CONFIG)
    return found


def _shown(proxy: httpx2.URL) -> str:
    return f"{proxy.scheme}://{proxy.netloc.decode()}"


def _value(variable: str) -> str | None:
    return os.environ.get(variable) or None


@cache
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Load the certificates of this machine, or those of SSL_CERT_FILE or SSL_CERT_DIR. Cached: it takes 45 ms."""
    with _certificates(*((_CERTIFICATES[0], file) if file else (_CERTIFICATES[1], folder))):
        if folder and not file:
            os.listdir(folder.split(os.pathsep)[0])
        return httpx2.create_ssl_context()


def check_bundle() -> None:
    """Check the certificates that the library requests would trust. Raises PflowError (78)."""
    variable = next(filter(_value, ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")), "")
    path = os.environ.get(variable)
    with _certificates(variable, path):
        if path and not os.path.isdir(path):
            ssl.create_default_context(cafile=path)


def _certificates(variable: str, path: str | None) -> Attempt:
    """Return a context for reading certificates; its PflowError (78) names the variable and the path."""

    def failed(act: str, error: OSError) -> PflowError:
        why = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else reason_of(error)
        return PflowError(f"{act}: {why}", hint=f"unset {variable}, or correct it", exit=BAD_CONFIG)

    return Attempt(f"cannot read the trusted certificates of {variable}, '{path}'", failed)


def _is_listed(url: httpx2.URL, listed: str) -> bool:
    """Return True if NO_PROXY lists a URL's host: as a name, domain, address or network, with or without its port."""
    host = url.host.lower().rstrip(".")
    ports = {"", str(url.port or {"http": 80, "https": 443}.get(url.scheme))}
    for each in listed.lower().replace(",", " ").split():
        name, port = each.rpartition("://")[2], ""
        if name.count(":") == 1 or "]:" in name:
            name, _, port = name.rpartition(":")
        name = name.strip("[]").lstrip("*.").rstrip(".")
        if each == "*" or (port in ports and (host == name or host.endswith(f".{name}") or _is_in(host, name))):
            return True
    return False


def _is_in(host: str, network: str) -> bool:
    return result_of(lambda: ip_address(host) in ip_network(network, strict=False), of=ValueError, otherwise=False)
