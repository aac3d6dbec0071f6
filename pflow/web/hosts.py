"""Hosts that are this machine, and hosts of its network."""

from ipaddress import ip_address

_NEAR = (".local", ".localhost", ".internal", ".lan", ".home.arpa")
"""The ends of names that count in one network alone."""


def is_here(host: str) -> bool:
    """Return True for a host that is this machine itself."""
    name = host.lower().rstrip(".")
    try:
        address = ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified or name.startswith("::ffff:127.")


def is_near(host: str) -> bool:
    """Return True for this machine and for a host of its network, which no provider reaches."""
    name = host.lower().rstrip(".")
    try:
        return not ip_address(name).is_global
    except ValueError:
        return bool(name) and ("." not in name or name.endswith(_NEAR))
