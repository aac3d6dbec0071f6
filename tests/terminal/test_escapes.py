"""Text from outside never controls a terminal: not by stdout, not by stderr, whichever command prints it."""

import ast
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from pflow.text.printable import harmless
from tests.test_imports import SOURCES

EVIL = "\x1b]0;evil\x07\x1b[2J\x9b1A\x08\u202e"
HIDES = "\rover\x1b[2K"
"""What would hide the line before it, in data."""

NODE = '''from pocketflow import Node
class Odd(Node):
    """Odd {evil}.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what {evil}
    - Writes: shared["said"]: str [pipe]  # {evil}
    """
    def prep(self, shared): return shared["text"]
    def exec(self, text): raise ValueError(text)
'''
FLOW = {
    "name": f"a {EVIL}",
    "description": EVIL,
    "nodes": [{"type": "template", "params": {"template": EVIL}}, {"id": f"two{EVIL}", "type": f"no{EVIL}"}],
}  # fmt: skip
GOOD = {"description": EVIL, "nodes": [{"id": "one", "type": "template", "params": {"template": EVIL}}]}

SHOWN = {
    "a value": "pflow-read-file evil.txt",
    "a raw value": "pflow-read-file -r evil.txt",
    "a value of a store": "pflow-get t <store",
    "an item": "pflow-get --each -r list <store",
    "rows of a map": "for form in jsonl csv record; do pflow map 'template $item.name' evil.csv --format=$form; done",
    "values of a map": "pflow map 'template ${item.name}' evil.csv -r",
    "a document": "pflow-template -j evil@evil.txt 'x'; cat store | pflow-template -j x",
    "a file that is not there": "pflow-read-file \"no$EVIL\"",
    "a warning of a node": "pflow-shell \": $EVIL\" x",
    "what a program says": "pflow-shell 'printf %s \"$EVIL\" >&2; exit 3'",
    "what a node raises": "pflow odd --text@evil.txt",
    "a flag": "pflow-read-file \"--x$EVIL=1\"",
    "a dry run": "pflow-write-file --dry-run --path=\"p$EVIL\" --content=x",
    "help of a user's node": "pflow odd --help",
    "a list of nodes": "pflow nodes",
    "findings": "pflow check bad.json",
    "a finding of a run": "pflow run bad.json",
    "an explained flow": "pflow explain good.json",
    "an exported flow": "pflow export --to=python good.json",
    "a saved flow": "pflow save saved good.json && pflow list && pflow show saved && pflow saved --help",
    "a run": "pflow run good.json && pflow runs && pflow trace && pflow trace --store",
    "a failed run": "pflow 'read-file evil.txt => odd'; pflow runs; pflow trace",
    "no such command": "pflow \"no$EVIL\"",
}  # fmt: skip


@pytest.fixture
def room(tmp_path, monkeypatch):
    for name in ("nodes", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "nodes" / "odd.py").write_text(NODE.replace("{evil}", EVIL))
    (tmp_path / "evil.txt").write_text(EVIL + HIDES)
    (tmp_path / "evil.csv").write_text(f'name\n"{EVIL}{HIDES}"\n', newline="")
    for name, document in {"bad.json": FLOW, "good.json": GOOD}.items():
        (tmp_path / name).write_text(json.dumps(document))
    store = {"$pflow": {"v": 1, "last": "t"}, "t": EVIL + HIDES, "list": [EVIL + HIDES]}
    (tmp_path / "store").write_text(json.dumps(store, ensure_ascii=False))
    for name, value in {"EVIL": EVIL, "HOME": f"{tmp_path}/home", "PFLOW_NODES": f"{tmp_path}/nodes"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)


def on_terminal(script):
    ours, its = pty.openpty()
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=its, stderr=its):
        os.close(its)
        said = b""
        try:
            while part := os.read(ours, 1 << 16):
                said += part
        except OSError:
            pass  # the last one closed it
    os.close(ours)
    return said.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("what", SHOWN)
def test_no_data_controls_a_terminal(room, what):
    said = on_terminal(SHOWN[what])

    assert "evil" in said
    said = re.sub(r"\r\n|\r?\x1b\[K|\x1b\[[\d;:]*m", "", said)
    assert not re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udc9f\u202a-\u202e\u2066-\u2069]", said)


def test_colours_and_progress_stay():
    assert harmless("\x1b[1;31mred\x1b[0m\r\x1b[K\tx\n") == "\x1b[1;31mred\x1b[0m\r\x1b[K\tx\n"
    assert harmless("safe\r\x1b[2Kover\x1b[1m\r\n", is_data=True) == "safe\\r\\x1b[2Kover\x1b[1m\n"
    assert harmless("\x1b[2J\x1b\x1b[1A\x9bH\udc9b") == "\\x1b[2J\\x1b\\x1b[1A\\x9bH\\x9b"


def test_one_place_writes_to_a_terminal():
    """Modules that write to descriptor 1 or 2 by themselves, and what they write: nothing from outside."""
    allowed = {"pflow.terminal.messages", "pflow.stage.main", "pflow.files.listing", "pflow.commands._generate"}
    allowed |= {"pflow.mcp.client.broker"}  # one line of JSON into the pipe of who starts it
    found = set()
    for name, file in SOURCES.items():
        for node in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                is_raw = called == "os.write" and ast.unparse(node.args[0]) in ("1", "2")
                found |= {name} if is_raw or called in ("print", "click.echo", "sys.stderr.write") else set()
    assert found == allowed
