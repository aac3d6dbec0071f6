"""What a program that we started does after kill -9 of us: it ends, with all of its session."""

import os
import select
import signal

import pytest

from pflow.process import guard
from pflow.process.children import run

LIMIT = 20
"""Seconds after which a process that should have ended counts as left over."""


def killed(command):
    """Run a shell command in a process of its own, which is killed once the command has printed something.

    A descriptor that can be read once all that it had started has ended.
    """
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    pid = os.fork()
    if pid == 0:
        run(["/bin/sh", "-c", command], on_stdout=lambda part: os.kill(os.getpid(), signal.SIGKILL), on_stderr=print)
        os._exit(1)
    os.close(writer)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    return reader


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
    monkeypatch.setattr(guard, "_SCRIPT", guard._SCRIPT.replace("-le 100", "-le 5"))
    reader = killed(command)
    try:
        assert select.select([reader], [], [], LIMIT)[0], "a process is left"
    finally:
        os.close(reader)


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

    really_spawn = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", spawn)
    argv = ["/bin/sh", "-c", "echo; exit 3"]
    end_guard = lambda part: [os.kill(pid, signal.SIGKILL) for pid in guards]  # noqa: E731
    assert run(argv, on_stdout=end_guard, on_stderr=print) == 3
