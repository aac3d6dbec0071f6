"""What each node of pflow touches: explain names it, and --yes lets by no file outside, no hidden one, no command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.catalog.registry import names_in
from pflow.explain.effects import Provenance, effects_of_flow
from pflow.flow.subflow import load_named
from pflow.node import declared_interface, load_bundled
from pflow.plan.gate import Allowed, Gate
from pflow.plan.proposal import Proposal

LINES = {
    "claude-code": "claude-code 'Plant a tree' --model=opus",
    "copy-file": "copy-file a.txt b.txt",
    "delete-file": "delete-file a.txt",
    "export-dashboard": "export-dashboard --report=x",
    "fetch-page": "fetch-page https://example.org",
    "git-checkout": "git-checkout main",
    "git-commit": "git-commit Fix",
    "git-diff": "git-diff",
    "git-log": "git-log",
    "git-push": "git-push",
    "git-status": "git-status",
    "git-tag": "git-tag v1",
    "github-add-comment": "github-add-comment --issue=1 --body=x",
    "github-create-issue": "github-create-issue --title=x",
    "github-create-pr": "github-create-pr --title=x",
    "github-get-issue": "github-get-issue --issue=1",
    "github-get-pr": "github-get-pr --pr-number=1",
    "github-list-issues": "github-list-issues",
    "github-list-prs": "github-list-prs",
    "github-search": "github-search bug",
    "http": "http https://example.org",
    "list-files": "list-files '*.txt'",
    "llm": "llm Hi --model=echo",
    "load-csv": "load-csv a.csv",
    "load-json": "load-json a.json",
    "load-jsonl": "load-jsonl a.jsonl",
    "move-file": "move-file a.txt b.txt",
    "read-file": "read-file a.txt",
    "save-csv": "save-csv --rows='[]' a.csv",
    "save-results": "save-results --results=x",
    "shell": "shell 'wc -l'",
    "summarise-text": "summarise-text --text=x --model=echo",
    "summarize-text": "summarize-text --text=x --model=echo",
    "write-file": "write-file a.txt --content=x",
    "yt-transcript": "yt-transcript abcdefghijk",
}
"""A flow of one step for each node that touches something."""

GIT, COMMANDS, OUT, HERE, ANYTHING = "./.git", "commands", "..", ".", "anything"

REFUSED = {
    LINES["claude-code"]: [COMMANDS],
    LINES["git-checkout"]: [COMMANDS, GIT],
    LINES["git-commit"]: [COMMANDS, GIT],
    LINES["git-diff"]: [GIT],
    LINES["git-log"]: [GIT],
    LINES["git-push"]: [COMMANDS],
    LINES["git-status"]: [GIT],
    LINES["git-tag"]: [COMMANDS, GIT],
    LINES["shell"]: [COMMANDS],
    "copy-file ../a.txt b.txt": [OUT],
    "copy-file .env b.txt": [HERE],
    "copy-file a.txt ../b.txt": [OUT],
    "move-file ../a.txt b.txt": [OUT],
    "move-file a.txt .env": [HERE],
    "delete-file ../a.txt": [OUT],
    "load-csv ../a.csv": [OUT],
    "load-json .env": [HERE],
    "save-csv --rows='[]' ../a.csv": [OUT],
    "save-results --results=x ../a.json": [OUT],
    "export-dashboard --report=x .env": [HERE],
    "git-log --repo=sub": [GIT],
    "git-status --repo=..": ["../.git"],
    "git-diff --paths=.env": [HERE, GIT],
    "claude-code x --directory=..": [COMMANDS, OUT, OUT],
    "http https://example.org --header='X-Key: env:TOKEN'": [ANYTHING],
    "yt-transcript abcdefghijk --proxy=env:TOKEN": [ANYTHING],
    "parse-json --text='[]' => load-json": [],
}
"""What --yes refuses of a flow: the leave that each refusal asks for. Of LINES that are not here it refuses nothing."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working tree of git below a directory that is another's."""
    for folder in (".git", "here/.git", "here/sub"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")


def test_there_is_a_line_for_each_node_that_touches_something():
    touching = {name for name in names_in("nodes") if declared_interface(load_bundled(name)).effects}
    assert touching == LINES.keys()


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_each_effect_says_what_is_touched(line):
    wired = Proposal(load_named([line]).usable(), []).wired
    effects = effects_of_flow(Provenance(wired))
    assert [effect.name for effect in effects if not effect.values] == []


@pytest.mark.parametrize("line", [*LINES.values(), *(line for line in REFUSED if line not in LINES.values())])
def test_yes_lets_by_what_is_below_here_and_the_network(place, line):
    proposal = Proposal(load_named([line]).usable(), [])
    assert [each for each in proposal.findings if not each.is_warning] == []

    def refused(*leave):
        return Gate(proposal.wired, proposal.values, Allowed(leave), has_stdin=False).refusals()

    wanted = [os.path.realpath(each) if each.startswith(".") else each for each in REFUSED.get(line, [])]
    assert [each.flag for each in refused()] == [f"--allow={each}" for each in wanted]
    assert refused(*wanted) == []


def test_a_dry_run_names_what_is_touched_by_default(place):
    command = [Path(sys.executable).parent / "pflow", "run", "-n", "--dry-run", "git-log => save-results"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "repo: ." in said
    assert "path: results." in said
