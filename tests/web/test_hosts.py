"""Which hosts are this machine, and which are near it."""

import socket
import threading

import pytest

from pflow.errors import PflowError
from pflow.process.signals import Deadline
from pflow.web import hosts
from pflow.web.hosts import is_here, is_near

HERE = ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")
NEAR = ("10.1.2.3", "192.168.1.5", "172.16.0.1", "169.254.1.1", "fd00::1", "nas", "a.local", "NAS.LAN.")
FAR = ("example.com", "8.8.8.8", "128.0.0.1", "2606:4700::1111", "local.example.com", "127.example.com", "")


def test_a_host_is_this_machine_or_near_or_far():
    assert [(is_here(host), is_near(host)) for host in HERE] == [(True, True)] * len(HERE)
    assert [(is_here(host), is_near(host)) for host in NEAR] == [(False, True)] * len(NEAR)
    assert [(is_here(host), is_near(host)) for host in FAR] == [(False, False)] * len(FAR)


def test_a_lookup_runs_where_a_time_limit_can_leave_it(monkeypatch):
    looked_up, is_over = [], threading.Event()

    def look_up(*about, **more):
        looked_up.append(threading.current_thread())
        is_over.wait()

    monkeypatch.setattr(hosts, "look_up", look_up)
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
    hosts.let_signals_end_lookups()
    with pytest.raises(PflowError) as caught, Deadline(0.05, act="cannot look up"):
        socket.create_connection(("a.example", 80))
    is_over.set()
    assert caught.value.exit == 124
    assert looked_up != [threading.main_thread()]
    monkeypatch.setattr(hosts, "look_up", lambda host, *more, **flags: int(host))
    with pytest.raises(ValueError, match="invalid literal"):
        socket.getaddrinfo("a.example", 80)
