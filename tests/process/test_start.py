"""What the system executes to start a program, and how a guard ends one after kill -9 of us, or two signals at once."""

import errno
import os
import select
import signal
import struct
import sys

import pytest

from pflow.errors import PflowError
from pflow.process import start
from pflow.process.children import run
from pflow.process.signals import end_in_order
from pflow.process.start import environment, mark_as_body, programs_of, refuse_itself, spawn, start_program
from tests.stage.ends import end_of

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


def test_a_script_has_its_interpreter_and_what_env_finds_on_path(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("tool", "other"):
        (tmp_path / "bin" / name).write_text("\0")
    (tmp_path / "bin" / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/none:{tmp_path}/bin:/usr/bin")
    shell, env = os.path.realpath("/bin/sh"), os.path.realpath("/usr/bin/env")
    found = {
        "#!/bin/sh -e\n": [shell],
        "echo\n": [shell],
        "#!/usr/bin/env -S A=1 tool\n": [f"{tmp_path}/bin/tool", env],
        "#!/usr/bin/env other\n": [env],
        "#!/usr/bin/env -S A=1\n": [env],
        "#!\n": [],
    }
    for text, programs in found.items():
        (tmp_path / "script").write_text(text)
        there = [each for each in programs_of(str(tmp_path / "script")) if "/ld" not in each]
        assert sorted(there) == sorted([str(tmp_path / "script"), *programs])


def failing(*numbers):
    """A start that fails so many times, and the words that it got."""
    words, left = [], list(numbers)

    def begin(argv):
        words.append(argv)
        if left:
            raise OSError(left[0], os.strerror(left.pop(0)))
        return 5

    return begin, words


@pytest.mark.parametrize(
    ("content", "errors", "ran", "exit", "why"),
    [
        (b"echo\n", [], [[]], 0, ""),
        (b"echo\n", [errno.ENOEXEC], [[], ["/bin/sh"]], 0, ""),
        (b"\0", [errno.ENOEXEC], [[]], 78, "it is not a program for this machine"),
        (b"echo\n", [errno.ENOEXEC] * 2, [[], ["/bin/sh"]], 78, "it is not a program for this machine"),
        (b"#! /none/it \nx", [errno.ENOENT], [[]], 78, "its interpreter '/none/it' is missing"),
        (None, [errno.ENOENT], [[]], 66, "no such file or directory"),
        (b"x", [errno.EACCES], [[]], 77, "permission denied"),
        (b"x", [errno.E2BIG], [[]], 65, "its flags are too long"),
    ],
)
def test_a_program_starts_or_says_why_not(tmp_path, content, errors, ran, exit, why):
    file = tmp_path / "it"
    if content is not None:
        file.write_bytes(content)
    begin, words = failing(*errors)
    if exit:
        with pytest.raises(PflowError) as caught:
            start_program(str(file), begin)
        assert (caught.value.exit, caught.value.message) == (exit, f"cannot run '{file}': {why}")
        assert bool(caught.value.hint) == (why.startswith("its ") or exit == 77)
    else:
        assert start_program(str(file), begin) == 5
    assert words == [[*first, str(file)] for first in ran]


def test_the_locale_that_python_sets_for_itself_is_not_handed_on(monkeypatch):
    monkeypatch.setenv("OTHER", "C.UTF-8")
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    with open("/proc/self/environ", "rb") as file:
        was_set = b"\0LC_CTYPE=" in b"\0" + file.read()
    assert ("LC_CTYPE" in environment(), environment()["OTHER"]) == (was_set, "C.UTF-8")
    monkeypatch.setenv("LC_CTYPE", "de_DE")
    assert environment()["LC_CTYPE"] == "de_DE"


def test_a_program_with_a_guard_knows_that_it_runs_as_a_nodes_body(tmp_path, monkeypatch):
    monkeypatch.delenv("PFLOW_NODE", raising=False)
    (tmp_path / "plain").write_text("echo\n")
    (tmp_path / "guarded").write_bytes(b"\0" * 300 + b'[ "$PFLOW_NODE" ]')
    mark_as_body(str(tmp_path / "plain"), "shout")
    assert "PFLOW_NODE" not in os.environ
    mark_as_body(str(tmp_path / "guarded"), "shout")
    assert os.environ["PFLOW_NODE"] == "shout"
    refuse_itself("other")
    with pytest.raises(PflowError, match="cannot run shout inside itself") as caught:
        mark_as_body(str(tmp_path / "guarded"), "shout")
    assert caught.value.exit == 78


def test_a_program_has_the_files_that_it_is_given_and_a_session_of_its_own(tmp_path):
    out, into = os.pipe()
    command = 'cat; echo no >&2; echo "$A $(pwd -P) $(cut -d" " -f6 /proc/$$/stat) $$"'
    pid = spawn(["/bin/sh", "-c", command], [-1, into, -1], {"A": "é", "PATH": os.defpath}, str(tmp_path))
    os.close(into)
    assert os.waitpid(pid, 0)[1] == 0
    assert os.read(out, 1000).decode() == f"é {os.path.realpath(tmp_path)} {pid} {pid}\n"
    os.close(out)


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
    def act():  # in a fork, since this process may have children
        before = os.listdir("/proc/self/fd")
        run(["/bin/sh", "-c", ":"], on_stdout=print, on_stderr=print)
        with pytest.raises(FileNotFoundError):
            run(["/no/such/program"], on_stdout=print, on_stderr=print)
        assert os.listdir("/proc/self/fd") == before
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        os._exit(0)

    assert end_of(act)[0] == 0


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
