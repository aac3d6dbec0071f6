"""Names of hosts: a lookup that never ends is left to itself once the time is over."""

import socket
import threading

import pytest

from pflow.errors import PflowError
from pflow.process.signals import Deadline
from pflow.web import names


def test_a_lookup_runs_where_a_time_limit_can_leave_it(monkeypatch):
    looked_up, is_over = [], threading.Event()

    def look_up(*about, **more):
        looked_up.append(threading.current_thread())
        is_over.wait()

    monkeypatch.setattr(names, "look_up", look_up)
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    names.see_signals()
    with pytest.raises(PflowError) as caught, Deadline(0.05, act="cannot look up"):
        socket.create_connection(("a.example", 80))
    is_over.set()
    assert caught.value.exit == 124
    assert looked_up != [threading.main_thread()]
    monkeypatch.setattr(names, "look_up", lambda host, *more, **flags: int(host))
    with pytest.raises(ValueError, match="invalid literal"):
        socket.getaddrinfo("a.example", 80)
