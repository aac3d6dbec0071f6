"""Which hosts are this machine, and which are near it."""

from pflow.web.hosts import is_here, is_near

HERE = ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")
NEAR = ("10.1.2.3", "192.168.1.5", "172.16.0.1", "169.254.1.1", "fd00::1", "nas", "a.local", "NAS.LAN.")
FAR = ("example.com", "8.8.8.8", "128.0.0.1", "2606:4700::1111", "local.example.com", "127.example.com", "")


def test_a_host_is_this_machine_or_near_or_far():
    assert [(is_here(host), is_near(host)) for host in HERE] == [(True, True)] * len(HERE)
    assert [(is_here(host), is_near(host)) for host in NEAR] == [(False, True)] * len(NEAR)
    assert [(is_here(host), is_near(host)) for host in FAR] == [(False, False)] * len(FAR)
