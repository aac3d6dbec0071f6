"""github-add-comment: a comment is made once, on the issue that the store names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.errors import MISSING
from tests.peers.github import cut
from tests.peers.github_nodes import REPO


@pytest.mark.parametrize(
    ("words", "times", "code"),
    [
        (["pflow", "run", "github-add-comment --issue=1 --body=Thanks --repo=owner/repo --retries=2 --wait=0"], 1, 0),
        (
            ["pflow-github-add-comment", "--issue=1", "--body=Thanks", f"--repo={REPO}", "--retries=2", "--wait=0"],
            1,
            75,
        ),
    ],
    ids=["run", "stage"],
)
def test_retries_comment_once(github, tmp_path, words, times, code):
    """In a run the comment of the lost answer is found; a stage has nothing to find it by, and does not try again."""
    github.repository.add_issue("A hang")
    github.fail(cut, "post", after=True)
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [Path(sys.executable).parent / words[0], *words[1:], "-n"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, len(github.repository.bodies(1))) == (code, times), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "comments"),
    [
        (["pflow-github-add-comment", "--body=Thanks"], 0, 1),
        (["pflow-github-create-issue", "--title=New", "--body=Thanks"], MISSING, 0),
        (["pflow-github-list-issues"], MISSING, 0),
    ],
)
def test_the_store_names_the_issue_to_answer_and_no_other_repository(github, words, code, comments):
    github.repository.add_issue("A hang")
    store = b'{"$pflow":{"v":1},\n"repo":"owner/repo",\n"issue_number":1\n}\n'
    done = subprocess.run([Path(sys.executable).parent / words[0], *words[1:]], input=store, capture_output=True)
    assert (done.returncode, len(github.repository.bodies(1))) == (code, comments), done.stderr
    assert len(github.repository.issues) == 1
