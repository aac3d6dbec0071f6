"""What README and the man pages show, run as it is written, by the installed executables.

The pages have the examples of the docstrings of nodes and commands.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands._usages import usages
from pflow.help.man import files
from tests.manual.source import COMMANDS, examples, fits
from tests.peers.openai_server import OpenAIServer

ROOT = Path(__file__).parent.parent
QUICK_LLM = ROOT / "tests" / "peers" / "quick_llm.py"
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
OWN_NODE, OWN_FLOW = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PAGES = {**files(usages()), **{path.name: path.read_text() for path in sorted(ROOT.glob("man/man[57]/*"))}}


@pytest.fixture
def shell(tmp_path):
    """Runs a script with sh, in a directory with examples/, with a model that answers at once; `quick` without llm."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "count_words.py").write_text(OWN_NODE)
    (tmp_path / "server").mkdir()
    (tmp_path / "quick").mkdir()
    quick_llm = tmp_path / "quick" / "pflow-llm"
    quick_llm.write_text(f"#!{sys.executable}\n{QUICK_LLM.read_text()}")
    quick_llm.chmod(0o755)
    with OpenAIServer(tmp_path / "server") as server:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LLM_USER_PATH": str(server.llm_user_path),
            "NO_PROXY": "127.0.0.1",
            "PFLOW_NODES": str(tmp_path / "nodes"),
            "PFLOW_PLAN_MODEL": "readme",
        }

        def run(script: str, *, stop: bool = False, quick: bool = True) -> subprocess.CompletedProcess[str]:
            model = {"PFLOW_MODEL": "json" if "--schema" in script else "reply"}
            if quick:
                model["PATH"] = f"{quick_llm.parent}:{environment['PATH']}"
            return subprocess.run(
                ["sh", *["-e"] * stop, "-c", script],
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
    "pflow setup": "man1/pflow-llm.1",
    "pflow-hello": "0 failed",
    "count-words": "1",
    "--search": "write-file",
    "--yes -q": "Oak, ash and elm.",
    "pflow find": "summarize",
    "reads files": "list-files\nread-file\n",
    "make -s": "notes/",
}
"""A part of each block of the README that prints, and what it prints at least."""


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_what_readme_shows_works(shell, block):
    ran = shell(block, quick=block != BLOCKS[0])
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    for part, printed in PRINTED.items():
        if part in block:
            assert printed in ran.stdout, ran.stdout


def test_the_flow_in_python_that_readme_shows_counts_as_its_node_does(shell, tmp_path):
    (tmp_path / "nodes" / "flow.py").write_text(OWN_FLOW)
    ran = shell(f"{sys.executable} nodes/flow.py -r; cat examples/notes.txt | pflow count-words --minimum=5 -r")
    by_flow, by_node = ran.stdout.split()
    assert by_flow == by_node, ran.stderr


def test_each_block_that_prints_is_in_readme():
    assert all(any(part in block for block in BLOCKS) for part in PRINTED)


PAGE_PRINTED = {
    "pflow.1": ["Oak, ash and elm.", "317\\n", "Usage: pflow-llm"],
    "pflow-catch.1": ["nothing to read"],
    "pflow-check.1": ["report.pflow.json: 4 steps", "words.pflow.json", "pipe: 2 steps"],
    "pflow-explain.1": ["[2] summary (llm", "read-file"],
    "pflow-export.1": ["flowchart"],
    "pflow-find.1": ["sum-up"],
    "pflow-get.1": ["a\nAda\n"],
    "pflow-list.1": ["summary  Sum up the notes", '"name":"summary"'],
    "pflow-list-files.1": ["examples/notes.txt"],
    "pflow-nodes.1": ["write-file"],
    "pflow-plan.1": ['"type": "llm"', "read-file:read --path=examples/notes.txt"],
    "pflow-read-file.1": ["grün", "1612\n"],
    "pflow-remove.1": ["flows/old/count.1.pflow.json"],
    "pflow-run.1": ["Oak, ash and elm.", "Linux"],
    "pflow-runs.1": ["done"],
    "pflow-save.1": ["flows/words.pflow.json"],
    "pflow-set.1": ['"year":1815', '{"title":"Notes"}'],
    "pflow-show.1": ["count: Count words", '"description": "Count words"'],
    "pflow-shell.1": ["Linux", "28\\n", "3\n"],
    "pflow-trace.1": ["[2] count (shell)", "[1] shell (shell)"],
}
"""What the examples of a page print at least; those of pages that are written by hand have it beside them."""


@pytest.mark.parametrize("name", PAGES)
def test_what_a_man_page_shows_works(shell, name):
    shown = examples(PAGES[name])
    for number, (kind, text) in enumerate(shown):
        if kind != COMMANDS:
            continue
        ran = shell(text, stop=True, quick=name != "pflow-llm.1")
        assert ran.returncode == 0, ran.stderr
        assert "Traceback" not in ran.stderr
        assert [part for part in PAGE_PRINTED.get(name, []) if part not in ran.stdout] == [], ran.stdout
        wanted = next((said for said_kind, said in shown[number + 1 : number + 2] if said_kind != COMMANDS), None)
        assert wanted is None or fits(wanted, ran.stdout), f"{text}\n{ran.stdout}"


def test_every_man_page_has_examples():
    assert [name for name in PAGES if not any(kind == COMMANDS for kind, _ in examples(PAGES[name]))] == []
