"""Host names: those of this machine and its network, and lookups that a signal or a time limit can end."""

import socket
from ipaddress import ip_address
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any

_NEAR = (".local", ".localhost", ".internal", ".lan", ".home.arpa")
"""The ends of names that mean something only inside one network."""


def is_here(host: str) -> bool:
    """Return True for a host that is this machine itself."""
    name = host.lower().rstrip(".")
    try:
        address = ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified or name.startswith("::ffff:127.")


def is_near(host: str) -> bool:
    """Return True for this machine and for a host of its network, which a provider of models cannot reach."""
    name = host.lower().rstrip(".")
    try:
        return not ip_address(name).is_global
    except ValueError:
        return bool(name) and ("." not in name or name.endswith(_NEAR))


look_up: Any = socket.getaddrinfo
"""The C library's lookup, kept here because `let_signals_end_lookups` puts another function in its place."""


def let_signals_end_lookups() -> None:
    """Let signals and time limits end every lookup of this process from now on.

    Each runs in a thread: while the C library waits for an answer, Python handles no signal.
    """
    socket.getaddrinfo = _in_thread


def _in_thread(*about: Any, **more: Any) -> Any:
    if current_thread() is not main_thread():
        return look_up(*about, **more)
    answers: SimpleQueue[Any] = SimpleQueue()
    Thread(target=lambda: answers.put(_outcome(*about, **more)), daemon=True).start()
    answer = answers.get()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _outcome(*about: Any, **more: Any) -> Any:
    try:
        return look_up(*about, **more)
    except Exception as error:
        return error
