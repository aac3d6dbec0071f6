"""What git says when it fails, as an exit code and a reason."""

from __future__ import annotations

import pytest

from pflow.kit.git.program import Git, fault
from pflow.process import children

SAID = [
    ("error: sha1 file 'x' write error. Out of diskspace", 73, "sha1 file 'x' write error. Out of diskspace"),
    ("git@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\nPlease make sure", 77,
     "Could not read from remote repository"),
    ("ssh: Could not resolve hostname x\nfatal: Could not read from remote repository.", 69,
     "Could not read from remote repository"),
    ("fatal: unable to access 'https://ada:s3cret@x/y@z/': gone", 69, "unable to access 'https://x/y@z/': gone"),
    ("remote: no\nhook said\nno", 1, "remote: no / hook said / no"),
    ("", 1, "git ended with 128"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "exit", "reason"), SAID)
def test_what_git_says_becomes_a_code_and_a_reason(said, exit, reason):
    error = fault("cannot push", 128, said)
    assert (error.exit, error.message) == (exit, f"cannot push: {reason}")


def test_no_program_that_git_starts_opens_a_window(tmp_path, monkeypatch):
    for name, value in {"SSH_ASKPASS": "x", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_SSH_COMMAND", f"env >'{tmp_path}/seen'; false")
    Git(".", "ask").call("ls-remote", "ssh://host/x")
    seen = (tmp_path / "seen").read_text().splitlines()
    assert [each for each in seen if each.startswith("SSH_ASKPASS")] == ["SSH_ASKPASS_REQUIRE=never"]
    assert {"GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never"} <= {*seen}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lines_that_become_our_error_are_not_shown_in_whatever_parts_they_come(monkeypatch, capfd, size):
    said = b"hook: lint\nerror: x would be lost:\n\ta.txt\nPlease commit them\nAborting\nhook: fatal: x\nfatal: no\nend"

    def run(argv, *, on_stderr, **about):
        for at in range(0, len(said), size):
            on_stderr(said[at : at + size])
        return 1

    monkeypatch.setattr(children, "run", run)
    assert Git(".", "check out").call("checkout")[2] == said.decode()
    assert capfd.readouterr().err == "hook: lint\nhook: fatal: x\nend"
