"""A stranger's node is tried where it can do no harm, and one that does more than it declares is found."""

import os
import re
import socket
import subprocess

import pytest

from pflow.conformance.conduct import FAILED, try_node
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
    - Effects: @effects@
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
NODES = {"copy.py": PYTHON, "pflow-copy": SHELL}


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


@pytest.mark.parametrize(
    ("name", "act", "effects", "broken"),
    [
        ("copy.py", "os.listdir('.')", "reads files", ""),
        ("copy.py", "os.rename('@outside@/nodes', '@outside@/x')", "none", "effects"),
        ("copy.py", "subprocess.run(['/usr/bin/env', 'date'], capture_output=True)", "none", "effects"),
        ("copy.py", "socket.create_connection(('127.0.0.1', @port@))", "none", "network"),
        ("copy.py", "self.shared.get('secret_key') and open('evil', 'w')", "none", "isolation"),
        ("pflow-copy", ":", "reads files", "effects"),
        ("pflow-copy", "echo x >evil", "writes files, runs commands", ""),
        ("pflow-copy", "echo x >~/evil; exit 3", "runs commands", "effects"),
        ("pflow-copy", "echo x >../evil", "runs commands", "effects"),
        ("pflow-copy", "echo x >/dev/udp/127.0.0.1/9", "runs commands", "network"),
        ("pflow-copy", "echo $SECRET_KEY $LLM_USER_PATH | cat - /proc/$PPID/environ | grep -qa . && echo x >evil",
         "runs commands", ""),
        ("pflow-copy", "setsid sleep 6@port@ &", "runs commands", "leftovers"),
        ("pflow-copy", "exit 3", "runs commands", ""),
    ],
)  # fmt: skip
def test_a_node_that_does_more_than_it_declares_breaks_its_word(outside, name, act, effects, broken):
    need("strace", "bash", "jq", "pgrep")
    folder, port = outside
    node = folder / "nodes" / name
    node.parent.mkdir()
    text = NODES[name].replace("@act@", act).replace("@effects@", effects)
    node.write_text(text.replace("@outside@", str(folder)).replace("@port@", str(port)))
    node.chmod(0o755)
    verdicts = try_node(str(node))
    assert {each.check.id for each in verdicts if each.result == FAILED} == {*broken.split()}
    came = " ".join(each.failed.came for each in verdicts if each.failed)
    assert ("it started jq" in came) == (act == ":")
    assert "exit" in act or "with sample values" not in " ".join(each.why for each in verdicts)
    # Nothing beside it has changed, and no process is left.
    assert [os.listdir(folder), os.listdir(node.parent)] == [["nodes"], [name]]
    assert subprocess.run(["pgrep", "-f", f"^sleep 6{port}$"], check=False).returncode == 1
