"""What the kernel forbids a confined process: writes outside, signals, sockets, the terminal's input."""

import os
import signal
import socket
import struct
import subprocess
import sys

import pytest

from pflow.process import confine
from pflow.process.confine import has_landlock, open_for_writing, restrict_to, shut_files
from tests.nodes.child import in_child

needs_landlock = pytest.mark.skipif(not has_landlock(), reason="the kernel has no Landlock")
ALLOWED, REFUSED = 0x7FFF0000, 0x50000 | 13
IOCTL, SOCKET, URING = 16, 41, 425


def verdict(program, number, *, mark=0xC000003E, arguments=(0, 0)):
    """Run a program of seccomp's, as bpf(4) has it, on a system call with its first two arguments."""
    data = struct.pack("iIQ6Q", number, mark, 0, *arguments, 0, 0, 0, 0)
    at = loaded = 0
    while True:
        code, then, other, value = program[at]
        if code == 0x06:
            return value
        if code == 0x20:
            (loaded,) = struct.unpack_from("I", data, value)
            at += 1
        else:
            assert code in (0x15, 0x35)
            at += 1 + (then if (loaded == value if code == 0x15 else loaded >= value) else other)


@pytest.mark.parametrize("has_network", [True, False])
def test_a_stranger_types_nothing_into_the_terminal_and_without_the_network_has_only_unix_sockets(has_network):
    program = confine._call_rules(0xC000003E, IOCTL, SOCKET, has_network=has_network)

    def result(number, *arguments, **about):
        found = verdict(program, number, arguments=(*arguments, 0, 0)[:2], **about)
        assert found in (ALLOWED, REFUSED)
        return found == ALLOWED

    assert [result(IOCTL, 0, request) for request in (0x5412, 0x541C)] == [False, False]
    assert [result(IOCTL, 0, request) for request in (0x5411, 0x5413, 0x541B, 0, 1)] == [True] * 5
    assert [result(SOCKET, family) for family in (1, 2, 10, 0)] == [True] + [has_network] * 3
    assert [result(number) for number in (URING, URING - 1, 0, 59, IOCTL + 1, SOCKET - 1)] == [has_network] + [True] * 5
    assert not result(0, mark=0x40000003)  # another kind of processor has other numbers
    assert [result(number) for number in (1 << 30, (1 << 30) + SOCKET, (1 << 30) - 1)] == [False, False, True]


def test_each_kind_of_processor_has_its_numbers():
    assert confine._CALLS == {
        "x86_64": (0xC000003E, 16, 41),
        "aarch64": (0xC00000B7, 29, 198),
        "riscv64": (0xC00000F3, 29, 198),
    }


@pytest.mark.parametrize(("version", "known"), [(3, 1), (4, 2), (5, 2), (6, 3), (7, 3)])
def test_the_kernel_is_asked_to_forbid_what_its_version_knows(monkeypatch, version, known):
    calls = []
    monkeypatch.setattr(confine, "_landlock_version", lambda: version)
    monkeypatch.setattr(confine, "_call", lambda *words: calls.append(words) or 5)
    assert confine._new_ruleset(7, 3, 2) == 5
    assert calls == [(444, struct.pack("3Q", 7, 3, 2)[: 8 * known], 8 * known, 0)]
    assert has_landlock()
    monkeypatch.setattr(confine, "_landlock_version", lambda: 2)
    assert not has_landlock()


def attempts(folder):
    """What each kind of change in a folder, with files in it, does: the name of those that succeed."""
    acts = {
        "write": lambda: open(f"{folder}/a", "r+").close(),
        "truncate": lambda: os.truncate(f"{folder}/a", 0),
        "append": lambda: open(f"{folder}/a", "a").close(),
        "make": lambda: open(f"{folder}/new", "x").close(),
        "folder": lambda: os.mkdir(f"{folder}/folder"),
        "link": lambda: os.symlink("a", f"{folder}/link"),
        "pipe": lambda: os.mkfifo(f"{folder}/pipe"),
        "socket": lambda: socket.socket(socket.AF_UNIX).bind(f"{folder}/socket"),
        "rename": lambda: os.rename(f"{folder}/a", f"{folder}/b"),
        "remove": lambda: os.unlink(f"{folder}/c"),
        "remove folder": lambda: os.rmdir(f"{folder}/d"),
    }
    done = set()
    for name, act in acts.items():
        try:
            act()
            done.add(name)
        except PermissionError:
            pass
    return done == set(acts), not done


@needs_landlock
def test_a_confined_process_changes_nothing_outside_of_its_folders_and_reads_all(tmp_path):
    for name in ("in/d", "out/d"):
        (tmp_path / name).mkdir(parents=True)
        for file in "ac":
            (tmp_path / name).with_name(file).write_text("x")

    def check():
        restrict_to([str(tmp_path / "in")], has_network=False)
        assert attempts(tmp_path / "in") == (True, False)
        assert attempts(tmp_path / "out") == (False, True)
        assert (tmp_path / "out" / "a").read_text() == "x"
        for device in ("/dev/null", "/dev/zero", "/dev/full"):
            os.close(os.open(device, os.O_WRONLY))
        os._exit(7)

    assert in_child(check) == 7


@needs_landlock
@pytest.mark.parametrize("has_network", [True, False])
def test_a_confined_process_reaches_no_server_without_the_network_and_signals_nobody(tmp_path, has_network):
    def tries(act):
        try:
            act()
        except PermissionError:
            return False
        return True

    def check():
        restrict_to([], has_network=has_network)
        assert tries(lambda: socket.create_connection(server.getsockname())) == has_network
        assert tries(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) == has_network
        assert tries(lambda: socket.socket(socket.AF_UNIX))
        if confine._landlock_version() >= 6:
            assert not tries(lambda: os.kill(other.pid, signal.SIGTERM))
        os.kill(os.getpid(), 0)
        with open("/proc/self/status") as status:
            held = {line.split(":")[0]: line.split()[1] for line in status if line.startswith(("Cap", "NoNew"))}
        assert held["NoNewPrivs"] == "1"
        # Only who may change it can narrow the bounding set; without rights of its own, a process gains none from it.
        for name in ("CapEff", "CapPrm", "CapInh", *["CapBnd"] * (os.geteuid() == 0)):
            assert not int(held[name], 16) & (1 << 19 | 1 << 21 | 1 << 38)
        before = int(kept["CapEff"], 16) & ~(1 << 19 | 1 << 21 | 1 << 38)
        assert int(held["CapEff"], 16) == before
        os._exit(7)

    with open("/proc/self/status") as status:
        kept = {line.split(":")[0]: line.split()[1] for line in status if line.startswith("Cap")}
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(["sleep", "100"]) as other:
        assert in_child(check) == 7
        other.kill()


def test_a_variable_that_is_removed_is_nowhere_in_the_process():
    code = """
import os
from pflow.process.confine import set_environment
set_environment({"KEPT": "new", "PATH": os.environ["PATH"]})
assert dict(os.environ) == {"KEPT": "new", "PATH": os.environ["PATH"]}, os.environ
print(open("/proc/self/environ").read().replace("\\0", "|"))
"""
    env = {
        "PATH": os.environ["PATH"],
        "TOKEN": "s3cret",
        "KEPT": "old",
        "PYTHONPATH": ":".join(sys.path),
        "LAST": "l4st",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert "s3cret" not in done.stdout
    assert "l4st" not in done.stdout
    assert f"PATH={os.environ['PATH']}|" in done.stdout
    assert "KEPT=old|" in done.stdout


def test_what_is_open_for_writing_is_shut_but_not_what_a_stage_opened_itself(tmp_path):
    def check():
        os.closerange(3, 256)
        fds = [os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in "abc"]
        reads = os.open(tmp_path / "a", os.O_RDONLY)
        for fd in (fds[0], reads):
            os.set_inheritable(fd, True)
        assert open_for_writing() == [fds[0]]
        assert sorted(open_for_writing(are_inherited=False)) == fds
        shut_files()
        assert [os.path.samefile(f"/proc/self/fd/{fd}", "/dev/null") for fd in (*fds, reads)] == [True] + [False] * 3
        shut_files(fds[1])
        shut = [os.path.samefile(f"/proc/self/fd/{fd}", "/dev/null") for fd in (*fds, reads)]
        assert shut == [True, False, True, False]
        os._exit(7)

    assert in_child(check) == 7
