"""What README and the nodes' docstrings show, run as it is written, by the installed executables."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.registry import bundled_names
from pflow.source import read_interface
from tests.peers.openai_server import OpenAIServer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
OWN_NODE = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
NODES = {name: ROOT / "nodes" / (name.replace("-", "_") + ".py") for name in bundled_names()}
EXAMPLES = [(name, line) for name, file in NODES.items() for line in read_interface(str(file)).examples]


@pytest.fixture
def shell(tmp_path):
    """Runs a script with sh, in a directory with examples/, with a model that answers at once."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "count_words.py").write_text(OWN_NODE[1])
    (tmp_path / "server").mkdir()
    with OpenAIServer(tmp_path / "server") as server:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LLM_USER_PATH": str(server.llm_user_path),
            "NO_PROXY": "127.0.0.1",
            "PFLOW_NODES": str(tmp_path / "nodes"),
        }

        def run(script: str) -> subprocess.CompletedProcess[str]:
            model = {"PFLOW_MODEL": "json" if "--schema" in script else "reply"}
            return subprocess.run(
                ["sh", "-c", script],
                cwd=tmp_path,
                env=environment | model,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        yield run


PRINTED = {
    "wc -w": '"stdout":"4\\n"',
    "pflow-get 'tags[0]' name": "a\nAda\n",
    "cat Oslo.txt": "Oslo, 1931\n",
    "/nope | pflow-llm": "exit code 66\n",
    "pflow-catch": "nothing to read",
    "xargs": "job 1\njob 2\njob 3\n",
    "six words' | pflow trace": "[1] llm (llm)",
    "title.txt": "Oak, ash and elm.",
    "good.txt": "a long draft\n",
    "report.pflow.json": "317",
    "bad.pflow.json": "did you mean read-file?",
    "words.pflow.json": "[2] count (shell)",
    "lines.sh": "28\n",
    "pflow-shout": "THE TIDE MILL",
    "count-words": "1",
}
"""A part of each block of the README that prints, and what it prints at least."""


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_what_readme_shows_works(shell, block):
    ran = shell(block)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    for part, printed in PRINTED.items():
        if part in block:
            assert printed in ran.stdout, ran.stdout


def test_each_block_that_prints_is_in_readme():
    assert all(any(part in block for block in BLOCKS) for part in PRINTED)


@pytest.mark.parametrize(("node", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_the_examples_of_a_node_work(shell, node, line):
    ran = shell(line)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr


def test_every_node_has_examples():
    assert {node for node, _ in EXAMPLES} == set(NODES)
