"""What the system executes to start a program, and how a guard ends one after kill -9 of us, or two signals at once."""

import os
import select
import signal
import struct
import sys

import pytest

from pflow.process import start
from pflow.process.children import run
from pflow.process.signals import end_in_order
from pflow.process.start import programs_of

LOADER = "/none/ld-of-another-system.so"


def test_a_compiled_program_has_the_loader_that_its_headers_name_and_no_other(tmp_path):
    for folder, layout in {
        "wide": ("<16s16xQ14xHH6x", 64, "<IIQ16xQ"),
        "narrow": (">16s12xI10xHH6x", 52, ">II8xI"),
    }.items():
        form, size, header = layout
        ident = b"\x7fELF" + (b"\2\1" if folder == "wide" else b"\1\2")
        name = b"U" + LOADER.encode() + b"\0"  # some linkers put it behind other text
        place, length = size + 56 + 1, len(name) - 1
        fields = (3, 0, place, length) if folder == "wide" else (3, place, length)
        begin = struct.pack(form, ident, size, 56 if folder == "wide" else 32, 1).ljust(size, b"\0")
        file = tmp_path / folder
        file.write_bytes((begin + struct.pack(header, *fields)).ljust(size + 56, b"\0") + name + b"\0/bin/ld-none\0")
        assert programs_of(str(file)) == [str(file), LOADER]


LIMIT = 20
"""Seconds after which a process that should have ended counts as left over."""


def left(command, end):
    """Run a shell command in a process of its own, where `end` is called once the command has printed something.

    The signal that ended that process, and whether anything that it had started is left.
    """
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    pid = os.fork()
    if pid == 0:
        argv = ["/bin/sh", "-c", command]
        end_in_order(lambda: run(argv, on_stdout=lambda part: end(), on_stderr=print), lambda error: error.exit)
        os._exit(1)
    os.close(writer)
    try:
        signum = os.WTERMSIG(os.waitpid(pid, 0)[1])
        return signum, not select.select([reader], [], [], LIMIT)[0]
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    "command",
    [
        "echo; exec sleep 1000",
        "sleep 1000 | sleep 1000 & echo; sleep 1000; echo",
        "set -m; sleep 1000 & echo; wait",
        "echo; kill -STOP $$",
        "trap '' TERM; echo; while :; do sleep 1000; done",
        "timeout -k 1 1000 sh -c 'trap : TERM; echo; while :; do sleep 1000; done'",
    ],
)
def test_kill_9_ends_all_that_a_command_started(monkeypatch, command):
    monkeypatch.setattr(start, "_GUARD_SCRIPT", start._GUARD_SCRIPT.replace("-le 100", "-le 5"))
    assert left(command, lambda: os.kill(os.getpid(), signal.SIGKILL)) == (signal.SIGKILL, False)


@pytest.mark.parametrize("steps", range(10, 150, 7))
def test_a_second_signal_ends_all_too_however_soon_it_comes(steps):
    """As ^C does to a branch: the terminal signals it, and so does the run that it is of. `steps` are of bytecode."""
    to_go = steps

    def count(frame, event, arg):
        nonlocal to_go
        frame.f_trace_opcodes = True
        to_go -= event == "opcode"
        if not to_go:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGTERM)
        return count if to_go > 0 else None

    def interrupt():
        sys.settrace(count)
        frame = sys._getframe()
        while frame := frame.f_back:
            frame.f_trace, frame.f_trace_opcodes = count, True
        os.kill(os.getpid(), signal.SIGINT)

    signum, is_left = left("sleep 1000 & echo; wait", interrupt)
    assert signum in (signal.SIGINT, signal.SIGTERM)
    assert not is_left


def test_no_guard_and_no_descriptor_outlives_its_program():
    before = os.listdir("/proc/self/fd")
    run(["/bin/sh", "-c", ":"], on_stdout=print, on_stderr=print)
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], on_stdout=print, on_stderr=print)
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("is_started", [True, False])
def test_a_program_runs_where_its_guard_is_killed_or_does_not_start(monkeypatch, is_started):
    guards = []

    def spawn(*args, **options):
        if not is_started:
            raise PermissionError
        guards.append(really_spawn(*args, **options))
        return guards[-1]

    really_spawn = start.spawn
    monkeypatch.setattr(start, "spawn", spawn)
    argv = ["/bin/sh", "-c", "echo; exit 3"]
    end_guard = lambda part: [os.kill(pid, signal.SIGKILL) for pid in guards]  # noqa: E731
    assert run(argv, on_stdout=end_guard, on_stderr=print) == 3
