"""What README, docs/ and the man pages show, run as it is written, by the installed executables.

The pages have the examples of the docstrings of nodes and commands.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.commands.help import specs
from pflow.help.man import files
from tests.help.source import COMMANDS, examples, fits
from tests.nodes.cases.github import github
from tests.peers.openai_server import OpenAIServer
from tests.peers.repository import IDENTITY, add_remote, git, make_repository
from tests.peers.web_server import CERTIFICATE, WebServer
from tests.peers.youtube import YouTube
from tests.tools import need, need_for

ROOT = Path(__file__).parent.parent
QUICK_LLM = ROOT / "tests" / "peers" / "quick_llm.py"
CLAUDE = ROOT / "tests" / "peers" / "claude"
DOCS = {path.name: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
BLOCKS_OF = {
    name: re.findall(r"^```sh\n((?!#!).*?)^```$", text, re.MULTILINE | re.DOTALL) for name, text in DOCS.items()
}
BLOCKS_OF["sharing.md"] = ["set -e\n" + "".join(BLOCKS_OF["sharing.md"])]  # they go on from one another
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name, blocks in BLOCKS_OF.items()
    for number, block in enumerate(blocks)
]
README_BLOCKS = [block for block in BLOCKS if block.id.startswith("README")]
SCRIPT = re.findall(r"^```sh\n(#!.*?)^```$", DOCS["nodes.md"], re.MULTILINE | re.DOTALL)[0]
OWN_NODE, OWN_FLOW, OWN_RUN = re.findall(r"^```python\n(.*?)^```$", DOCS["nodes.md"], re.MULTILINE | re.DOTALL)
RULE, JOB = (
    re.search(rf"^```{kind}\n(.*?)^```$", DOCS["README.md"], re.MULTILINE | re.DOTALL)[1]
    for kind in ("make", "crontab")
)
USES = {"pflow-shout": "jq", "pflow-hello": "jq", "make": "awk", "--to=sh": "sed"}
"""What is started by what the examples start."""
PAGES = {**files(specs()), **{path.name: path.read_text() for path in sorted(ROOT.glob("man/man[57]/*"))}}


@pytest.fixture(scope="module")
def tube():
    with YouTube() as tube:
        yield tube


@pytest.fixture
def shell(tmp_path):
    """Runs a script with sh, in a directory with examples/, with a model that answers at once; `quick` without llm.

    example.com is a server here, behind a proxy.
    """
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "count_words.py").write_text(OWN_NODE)
    (tmp_path / "nodes" / "pflow-shout").write_text(SCRIPT)
    (tmp_path / "nodes" / "pflow-shout").chmod(0o755)
    (tmp_path / "server").mkdir()
    (tmp_path / "quick").mkdir()
    quick_llm = tmp_path / "quick" / "pflow-llm"
    quick_llm.write_text(f"#!{sys.executable}\n{QUICK_LLM.read_text()}")
    quick_llm.chmod(0o755)
    with (
        OpenAIServer(tmp_path / "server") as server,
        github(tmp_path) as of_github,
        WebServer() as web,
    ):
        environment = {
            **os.environ,
            **of_github,
            **IDENTITY,
            "PATH": f"{Path(sys.executable).parent}:{CLAUDE}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LLM_USER_PATH": str(server.llm_user_path),
            "NO_PROXY": "127.0.0.1",
            "HTTPS_PROXY": web.url,
            "SSL_CERT_FILE": str(CERTIFICATE),
            "PFLOW_NODES": str(tmp_path / "nodes"),
            "PFLOW_PLAN_MODEL": "readme",
        }

        def run(script: str, *program: str, quick: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
            need_for(" ".join([script, *(uses for part, uses in USES.items() if part in script)]))
            model = {"PFLOW_MODEL": "reply" if quick else "form"}
            if quick:
                model["PATH"] = f"{quick_llm.parent}:{environment['PATH']}"
            return subprocess.run(
                [*(program or ("sh",)), "-c", script],
                cwd=tmp_path,
                env=environment | model | more,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )

        yield run


PRINTED = {
    "brown fox": '"stdout":"4\\n"',
    "pflow-get 'tags[0]' name": "a\nAda\n",
    "cat Oslo.txt": "Oslo, 1931\n",
    "/nope | pflow-llm": "it failed\n",
    "pflow-catch": "nothing to read",
    "xargs": "job 1\njob 2\njob 3\n",
    "six words' | pflow trace": "[1] llm (llm)",
    "title.txt": "Oak, ash and elm.",
    "good.txt": "a long draft\n",
    "report.pflow.json": "72",
    "bad.pflow.json": "did you mean read-file?",
    "words.pflow.json": "[2] count (shell)",
    "lines.sh": "6\n",
    "last-line.sh": "Zoë tells all customers",
    "pflow-shout": "NOTES OF THE MEETING",
    "pflow-hello": "0 failed",
    "count-words": "28",
    "--search": "write-file",
    "cat summary.md": "Oak, ash and elm.",
    "pflow find": "summarize",
    "reads files": "list-files\n",
    "make -s": "notes/",
    "pflow-analyze": "| price | float | 12 |",
    "pflow-git-commit": "Oak, ash and elm.",
    "--size=200": "Oak, ash and elm.\nOak, ash and elm.\n",
    "github-add-comment": "/issues/1#",
    "install --frozen": "# Report\n\nNotes of the meeting",
}
"""A part of each block that prints, and what it prints at least."""


@pytest.mark.parametrize("block", {block.values[0]: block for block in BLOCKS}.values())
def test_what_readme_and_docs_show_works(shell, block):
    check(shell(block, quick=is_quick(block)), block)


NOTE = """#!/bin/sh
line=$(printf '[%s]' "${0##*/}" "$@")
echo "$line" >>"$HOME/started"
cat >/dev/null
"""
"""A program that notes its words, and does nothing."""


@pytest.mark.parametrize("program", ["zsh -f", "fish"])
def test_another_shell_starts_the_same_programs_with_the_same_words(tmp_path, program):
    need(program.split()[0])
    blocks = {block.id: block.values[0] for block in (BLOCKS if program == "zsh -f" else README_BLOCKS)}
    for name in {*os.listdir(ROOT / "bin"), *re.findall(r"\bpflow-[a-z-]*[a-z]", "".join(blocks.values()))}:
        (tmp_path / name).write_text(NOTE)
        (tmp_path / name).chmod(0o755)
    for name, script in blocks.items():
        assert started(tmp_path, script, *program.split()) == started(tmp_path, script, "sh"), name


def started(programs, script, *shell):
    """How a shell starts pflow's programs in a script: each with its words, in no order, as in a pipe there is none."""
    home = programs / "home"
    shutil.copytree(ROOT / "examples", home / "examples")
    environment = {**os.environ, "PATH": f"{programs}:{os.defpath}", "HOME": str(home)}
    given = {"cwd": home, "env": environment, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    subprocess.run([*shell, "-c", script], check=False, **given)
    lines = sorted((home / "started").read_bytes().splitlines())
    shutil.rmtree(home)
    return lines


def is_quick(block):
    return not any(flag in block for flag in ("--schema", "llm logs"))


def check(ran, block):
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert [said for part, said in PRINTED.items() if part in block and said not in ran.stdout] == [], ran.stdout


def test_fish_can_read_what_docs_show(shell):
    need("fish")
    for block in BLOCKS:
        read = shell(block.values[0], "fish", "--no-execute")
        assert read.returncode == 0, f"{block.id}: {read.stderr}"


def test_the_rule_of_make_that_readme_shows_makes_a_summary(shell, tmp_path):
    need("make")
    (tmp_path / "Makefile").write_text(RULE)
    ran = shell("cp examples/notes.txt . && make -s notes.summary && cat notes.summary")
    assert ran.stdout == "Oak, ash and elm.", ran.stderr


def test_the_line_for_cron_that_readme_shows_summarizes_a_day_and_leaves_a_quiet_one(shell, tmp_path):
    need("git")
    job = JOB.split(maxsplit=5)[5]
    assert "%" not in job, "cron takes % for the end of the line"
    commit = "git -C src -c user.name=Ada -c user.email=ada@example.org commit -q --allow-empty -m work"
    ran = shell(f"git init -q src; GIT_COMMITTER_DATE=2001-01-01T00:00:00 {commit}; ({job})")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert not (tmp_path / "src" / "new.md").exists()
    ran = shell(f"{commit}; ({job}); cat src/new.md")
    assert ran.stdout == "Oak, ash and elm.", ran.stderr


def test_the_flow_in_python_that_readme_shows_counts_as_its_node_does(shell, tmp_path):
    (tmp_path / "nodes" / "flow.py").write_text(OWN_FLOW)
    (tmp_path / "run.py").write_text(OWN_RUN)
    python = sys.executable
    ran = shell(f"{python} nodes/flow.py -r; pflow count-words --minimum=5 -r <examples/notes.txt; {python} run.py")
    by_flow, by_node, *printed = ran.stdout.split()
    assert (by_flow, printed[0]) == (by_node, "French:"), ran.stderr


def test_each_block_that_prints_is_shown():
    assert all(any(part in block.values[0] for block in BLOCKS) for part in PRINTED)


def test_readme_is_short():
    lines = DOCS["README.md"].splitlines()
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 120


PAGE_PRINTED = {
    "pflow-analyze.1": ["| price | float | 12 |", "| Lyon | 348.8 |", "91.15"],
    "pflow-clean-data.1": ['"duplicates":1'],
    "pflow-custom-analysis.1": ["Oslo | 588.75"],
    "pflow-load-csv.1": ["ash, planed", "\n3\n", '[{"name":"Ada","age":"36"}]'],
    "pflow-load-json.1": ["words\n[1,2]\n"],
    "pflow-save-results.1": ['"results": "12 rows, 7 columns'],
    "pflow.1": ["Oak, ash and elm.", "72\\n", "Usage: pflow-llm"],
    "pflow-catch.1": ["nothing to read"],
    "pflow-check.1": ["report.pflow.json: 4 steps", "words.pflow.json", "pipe: 2 steps"],
    "pflow-explain.1": ["[2] summary (llm", "read-file"],
    "pflow-export.1": ["flowchart"],
    "pflow-fetch-page.1": ["# Tide mills", "Oak, ash and elm.", "Tide mills\n"],
    "pflow-find.1": ["sum-up"],
    "pflow-get.1": ["a\nAda\n"],
    "pflow-git-commit.1": ["Mend the notes"],
    "pflow-git-diff.1": ["+less", "examples/notes.txt | modified, +1 -"],
    "pflow-git-log.1": ["Begin"],
    "pflow-git-status.1": ["unstaged: modified examples/notes.txt", "main\n"],
    "pflow-http.1": ['"oak"', "q=tide+mill&page=2", "Bearer ***", "Oak, ash and elm.", "404\n"],
    "pflow-list.1": ["summary  Sum up the notes", '"name":"summary"'],
    "pflow-list-files.1": ["examples/notes.txt"],
    "pflow-nodes.1": ["write-file"],
    "pflow-plan.1": ['"type": "llm"', "read-file --path=examples/notes.txt"],
    "pflow-read-file.1": ["grün", "380\n"],
    "pflow-remove.1": ["flows/old/count.1.pflow.json"],
    "pflow-run.1": ["Oak, ash and elm.", "Linux"],
    "pflow-runs.1": ["done"],
    "pflow-save.1": ["flows/words.pflow.json"],
    "pflow-set.1": ['"year":1815', '{"title":"Notes"}'],
    "pflow-show.1": ["count: Count words", '"description": "Count words"'],
    "pflow-shell.1": ["Linux", "6\\n", "3\n"],
    "pflow-summarise-text.1": ["Oak, ash and elm."],
    "pflow-trace.1": ["[2] count (shell)", "[1] shell (shell)"],
    "pflow-yt-transcript.1": ["A tide mill needs no river.", "Oak, ash and elm."],
}
"""What the examples of a page print at least; those of pages that are written by hand have it beside them."""


def work_in_a_repository(folder):
    """Make a directory a repository, with a remote, two commits and a change."""
    make_repository(folder)
    add_remote(folder)
    git(folder, "commit", "--quiet", "--allow-empty", "--message=Go on")
    (folder / "examples" / "notes.txt").write_text("less\n")


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"pflow-summarize-text.1"}))  # that of another name
def test_what_a_man_page_shows_works(shell, tube, tmp_path, name):
    shown = examples(PAGES[name])
    if name.startswith("pflow-git-"):
        work_in_a_repository(tmp_path)
    more = tube.environment if name == "pflow-yt-transcript.1" else {}
    for number, (kind, text) in enumerate(shown):
        if kind != COMMANDS:
            continue
        ran = shell(text, "sh", "-e", quick=name != "pflow-llm.1", **more)
        assert ran.returncode == 0, ran.stderr
        assert "Traceback" not in ran.stderr
        assert [part for part in PAGE_PRINTED.get(name, []) if part not in ran.stdout] == [], ran.stdout
        wanted = next((said for said_kind, said in shown[number + 1 : number + 2] if said_kind != COMMANDS), None)
        assert wanted is None or fits(wanted, ran.stdout), f"{text}\n{ran.stdout}"


def test_every_man_page_has_examples():
    assert [name for name in PAGES if not any(kind == COMMANDS for kind, _ in examples(PAGES[name]))] == []
