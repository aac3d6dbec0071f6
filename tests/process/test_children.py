"""A program that is started: where, what it says, and that all that it has started ends with it."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest

from pflow.process import children
from pflow.process.children import (
    Program,
    adopt_orphans,
    children_of,
    collect_children,
    end,
    end_orphans,
    feeds_pflow,
    holder,
    output_of,
    run,
    running_groups,
    writers,
)
from pflow.process.pool import Pool
from pflow.process.signals import Deadline, TimedOut
from pflow.process.worker import end_with_parent
from tests.nodes.child import in_child
from tests.process.test_worker import is_running, pids_in, until
from tests.process.test_worker import marks as marks


def test_a_program_begins_in_its_directory(tmp_path):
    said = bytearray()
    assert run(["/bin/sh", "-c", "pwd -P; exit 3"], on_stdout=said.extend, on_stderr=-1, directory=str(tmp_path)) == 3
    assert said.decode() == f"{os.path.realpath(tmp_path)}\n"


def test_a_program_says_what_it_prints_and_has_no_stdin():
    assert output_of(["/bin/sh", "-c", "cat; echo $WORD; echo no >&2; exit 4"], {"WORD": "é"}) == (4, "é\n", "no\n")


def test_a_program_that_does_not_start_holds_no_signals(monkeypatch):
    monkeypatch.setattr(children, "Guard", Mock(side_effect=OSError(errno.EMFILE, "too many open files")))
    with pytest.raises(OSError, match="too many"):
        run(["true"], on_stdout=print, on_stderr=print)
    with pytest.raises(TimedOut), Deadline(0.01):
        time.sleep(30)


def test_several_programs_end_with_all_that_they_started_stopped_or_not(marks):
    commands = ("sleep 600 & touch $! $$; wait", "touch $$; kill -STOP $$", "trap '' TERM; touch $$; read line")
    stdin, ours = os.pipe()
    begun = [
        Program(["/bin/sh", "-c", command], input=stdin, on_stdout=-1, on_stderr=-1, directory=str(marks)).__enter__()
        for command in commands
    ]
    try:
        until(lambda: len(os.listdir(marks)) == 4)
        end(begun, 0.1)
        assert not any(map(is_running, pids_in(marks)))
        assert sorted(program.code for program in begun) == [-15, -15, -9]
    finally:
        for program in begun:
            program.__exit__(None)
        os.close(stdin)
        os.close(ours)


SERVING = """
import os, subprocess, sys
from pflow.process.worker import serve_parent
from pflow.process.signals import HeldSignals
from pflow.process.signals import catch_signals

def serve(folder, parent):
    child = subprocess.Popen(["sleep", "600"])
    for pid in (child.pid, os.getpid()):
        open(os.path.join(folder, str(pid)), "w").close()
    return parent.ask("it", folder)

catch_signals()
serve_parent(serve, os.dup(0), int(sys.argv[1]), HeldSignals())
"""


def test_a_pool_of_programs_works_as_one_of_forks_and_ends_what_they_started(marks):
    words = [sys.executable, "-c", SERVING, str(os.getpid())]
    pool = Pool(words, jobs=1, ask=lambda name, question, reply: reply(name == "it" and question))
    try:
        pool.submit(7, str(marks))
        found = []
        while not found:
            found = pool.wait(None)
        assert found == [(7, str(marks))]
    finally:
        pool.close()
    assert len(pids_in(marks)) == 2
    assert not any(map(is_running, pids_in(marks)))


@pytest.mark.parametrize("lack", ["pidfd_open", None])
def test_a_program_is_fed_and_read_however_much_it_is(monkeypatch, lack):
    if lack:
        monkeypatch.delattr(os, lack)
    data, out, err = os.urandom(3 << 20), bytearray(), bytearray()
    assert run(["/bin/sh", "-c", "tee /dev/stderr"], on_stdout=out.extend, on_stderr=err.extend, input=data) == 0
    assert bytes(out) == bytes(err) == data
    assert run(["/bin/sh", "-c", "exec <&-; kill -9 $$"], on_stdout=print, on_stderr=print, input=data) == -9


def test_nobody_waits_for_what_a_program_leaves_behind(tmp_path):
    out, begun = bytearray(), time.monotonic()
    assert (
        run(["/bin/sh", "-c", "sleep 30 & echo $!; head -c 300000 /dev/zero"], on_stdout=out.extend, on_stderr=-1) == 0
    )
    os.kill(int(out.partition(b"\n")[0]), 9)
    assert (len(out.partition(b"\n")[2]), time.monotonic() - begun < 20) == (300_000, True)


def test_orphans_are_ended_in_time_and_who_ends_late_is_told():
    def check():
        adopt_orphans(is_on=True)
        known = children_of(os.getpid())
        output_of(["/bin/sh", "-c", "sleep 0.1 >/dev/null 2>&1 &"])
        assert len(children_of(os.getpid())) == 1
        assert not end_orphans(known, 20)
        output_of(["/bin/sh", "-c", "sleep 100 >/dev/null 2>&1 &"])
        begun = time.monotonic()
        assert end_orphans(known, 0.2)
        assert 0.2 <= time.monotonic() - begun < 10
        assert children_of(os.getpid()) == known
        output_of(["/bin/sh", "-c", "sleep 100 >/dev/null 2>&1 &"])
        assert not end_orphans(children_of(os.getpid()), 0.2)
        adopt_orphans(is_on=False)
        end_orphans(set(), 0)
        output_of(["/bin/sh", "-c", "sleep 0.3 >/dev/null 2>&1 &"])
        assert children_of(os.getpid()) == set()
        os._exit(7)

    assert in_child(check) == 7


def test_a_child_ends_when_its_parent_does():
    def begin():
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            end_with_parent(parent)
            os.write(into, b"%d" % os.getpid())
            time.sleep(100)
        os.read(out, 1)
        os._exit(0)

    out, into = os.pipe()
    assert in_child(begin) == 0
    os.close(into)
    assert os.read(out, 100) == b"" or os.read(out, 1) == b""  # the end comes when the child is gone
    os.close(out)
    assert in_child(lambda: end_with_parent(1)) == 143


def test_exit_codes_come_though_our_parent_ignores_the_end_of_children():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert output_of(["/bin/sh", "-c", "exit 3"])[0] == 3
        signal.signal(signal.SIGCHLD, print)
        collect_children()
        assert signal.getsignal(signal.SIGCHLD) is print
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_the_groups_of_a_session_are_those_that_run():
    out, into = os.pipe()
    pid = subprocess.Popen(["sleep", "100"], start_new_session=True, stdin=out).pid
    assert (running_groups(pid), running_groups(out + (1 << 21))) == ({pid}, set())
    os.kill(pid, signal.SIGSTOP)
    assert running_groups(pid) == {pid}
    os.kill(pid, signal.SIGKILL)
    until(lambda: running_groups(pid) == set())  # though nobody has asked for its code
    os.waitpid(pid, 0)
    os.close(into)
    os.close(out)


def test_who_opened_a_file_first_and_who_can_write_to_a_pipe_is_named(tmp_path):
    file = tmp_path / "log"
    file.touch()
    assert holder(str(file)) == ""
    out, into = os.pipe()
    with file.open() as log, subprocess.Popen(["sleep", "100"], stdin=log, stdout=into) as first:
        time.sleep(0.05)
        with subprocess.Popen(["sleep", "100"], stdin=log, stdout=into) as second:
            said = [f"{each.pid} (sleep)" for each in (first, second)]
            until(lambda: holder(str(file)) == said[0])
            until(lambda: writers(out) == said[::-1])
            for each in (first, second):
                each.kill()
    assert writers(out) == []
    os.close(out)
    os.close(into)


@pytest.mark.parametrize(
    ("name", "words", "feeds"),
    [
        ("pflow-x", [], True),
        ("pflow-x", ["--json"], True),
        ("pflow-x", ["-n"], False),
        ("pflow-x", ["-qn"], False),
        ("pflow-x", ["--no-stdin"], False),
        ("pflow-x", ["--nothing"], True),
        ("pflow", ["x"], True),
        ("pflow.exe", ["x"], True),
        ("pflowers", ["x"], False),
        ("other", ["x"], False),
    ],
)
def test_a_pipe_feeds_pflow_if_only_its_stages_read_it(tmp_path, monkeypatch, name, words, feeds):
    monkeypatch.setattr(children.time, "sleep", lambda seconds: None)
    out, into = os.pipe()
    assert not feeds_pflow(into)
    program = shutil.copy(shutil.which("sh"), tmp_path / name)
    (tmp_path / "wait").write_text("read line")
    with subprocess.Popen([program, str(tmp_path / "wait"), *words], stdin=out) as reader:
        until(lambda: os.path.basename(os.readlink(f"/proc/{reader.pid}/exe")) == name)
        assert feeds_pflow(into) == feeds
        with subprocess.Popen(["sleep", "100"], stdin=out) as other:
            until(lambda: os.path.basename(os.readlink(f"/proc/{other.pid}/exe")) != name)
            until(lambda: not feeds_pflow(into))
            other.kill()
        reader.kill()
    os.close(out)
    os.close(into)
