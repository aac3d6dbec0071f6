"""A stranger's node is tried where it can do no harm, and one that does more than it declares is found."""

import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from pflow.conformance.conduct import FAILED
from pflow.packs.trial import try_node
from pflow.process.confine import has_landlock
from tests.tools import need

LINUX = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
pytestmark = pytest.mark.skipif(not has_landlock() or LINUX < (6, 7), reason="no Landlock that denies TCP")

PYTHON = '''
import os, socket, subprocess
from pflow.node import Node
class Copy(Node):
    """Copy a text.

    Interface:
    - Reads: shared["text"]: str [pipe]
    - Writes: shared["out"]: str [pipe]
    - Effects: reads files
    """
    def prep(self, shared):
        self.shared = shared
        return shared["text"]
    def exec(self, text):
        try:
            @act@
        except OSError:
            pass
        return text
    def post(self, shared, text, answer):
        shared["out"] = answer
'''
SHELL = """#!/bin/bash
# Copy a text.
#
# Interface:
# - Reads: shared["text"]: str [pipe]
# - Writes: shared["out"]: str [pipe]
# - Effects: @effects@
{
@act@
} 2>/dev/null
jq -c '.out = .text'
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A directory that is not the trial's, with a home, while a secret is set and a server listens on 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SECRET_KEY", "s3cret")
        yield tmp_path, server.getsockname()[1]
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()  # nobody came


def failed(folder: Path, port: int, name: str, text: str) -> set[str]:
    """The checks that a node fails, which has changed nothing beside it and has left no process."""
    need("strace", "bash", "jq", "pgrep")
    node = folder / "nodes" / name
    node.parent.mkdir()
    node.write_text(text.replace("@outside@", str(folder)).replace("@port@", str(port)))
    node.chmod(0o755)
    verdicts = try_node(str(node))
    assert [os.listdir(folder), os.listdir(node.parent)] == [["nodes"], [name]]
    assert subprocess.run(["pgrep", "-f", f"^sleep 6{port}$"], check=False).returncode == 1
    assert "exit" in text or "with sample values" not in " ".join(each.why for each in verdicts)
    return {each.check.id for each in verdicts if each.result == FAILED}


@pytest.mark.parametrize(
    ("act", "broken"),
    [
        ("os.listdir('.')", ""),
        ("open(os.path.expanduser('~/evil'), 'w')", "effects"),
        ("os.rename('@outside@/nodes', '@outside@/x')", "effects"),
        ("subprocess.run(['/usr/bin/env', 'date'], capture_output=True)", "effects"),
        ("socket.create_connection(('127.0.0.1', @port@))", "network"),
        ("self.shared.get('secret_key') and open('evil', 'w')", "isolation"),
        ("subprocess.Popen(['sleep', '6@port@'], start_new_session=True)", "leftovers"),
    ],
)
def test_a_node_in_python_that_does_more_than_it_declares_breaks_its_word(outside, act, broken):
    assert failed(*outside, "copy.py", PYTHON.replace("@act@", act)) == {*broken.split()}


@pytest.mark.parametrize(
    ("act", "effects", "broken"),
    [
        (":", "runs commands", ""),
        (":", "reads files", "effects"),
        ("echo x >evil", "writes files, runs commands", ""),
        ("echo x >~/evil; exit 3", "runs commands", "effects"),
        ("echo x >../evil", "runs commands", "effects"),
        ("mkdir @outside@/evil", "runs commands", "effects"),
        (": </dev/tcp/127.0.0.1/@port@", "runs commands", "network"),
        ("echo x >/dev/udp/127.0.0.1/9", "runs commands", "network"),
        ("echo $SECRET_KEY $LLM_USER_PATH | grep -q . && echo x >evil", "runs commands", ""),
        ("tr '\\0' '\\n' </proc/$PPID/environ | grep -q . && echo x >evil", "runs commands", ""),
        ("setsid sleep 6@port@ &", "runs commands", "leftovers"),
        ("exit 3", "runs commands", ""),
    ],
)
def test_a_script_that_does_more_than_it_declares_breaks_its_word(outside, act, effects, broken):
    assert failed(*outside, "pflow-copy", SHELL.replace("@act@", act).replace("@effects@", effects)) == {
        *broken.split()
    }
