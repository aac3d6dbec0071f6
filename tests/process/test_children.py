"""A program that is started: where, what it says, and that all that it has started ends with it."""

import os
import sys

from pflow.process.children import Program, end, output_of, run
from pflow.process.pool import Pool
from tests.process.test_worker import is_running, pids_in, until
from tests.process.test_worker import marks as marks


def test_a_program_begins_in_its_directory(tmp_path):
    said = bytearray()
    assert run(["/bin/sh", "-c", "pwd -P; exit 3"], on_stdout=said.extend, on_stderr=-1, directory=str(tmp_path)) == 3
    assert said.decode() == f"{os.path.realpath(tmp_path)}\n"


def test_a_program_says_what_it_prints_and_has_no_stdin():
    assert output_of(["/bin/sh", "-c", "cat; echo $WORD; echo no >&2; exit 4"], {"WORD": "é"}) == (4, "é\n", "no\n")


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
