"""No key that a node uses stands in what it prints, in a file at home or in an argument, whatever the peer says."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.nodes.cases.case import filled
from tests.peers.github import KEY, GitHub
from tests.peers.repository import IDENTITY, make_repository
from tests.peers.repository import git as run_git
from tests.peers.web_server import WebServer
from tests.tools import need

CANARY = "canary-0123456789/abcdef"
CLAUDE = """#!/bin/sh
cat >/dev/null
echo "cannot use the key $ANTHROPIC_API_KEY" >&2
printf '{"type":"result","subtype":"success","is_error":%s,"result":"your key is %s","total_cost_usd":0}\\n' \\
    "$CLAUDE_FAILS" "$ANTHROPIC_API_KEY"
"""
"""An agent that tells its key."""


@contextmanager
def web(here: Path) -> Iterator[Mapping[str, str]]:
    with WebServer() as server:
        host = server.url.removeprefix("http://")
        yield {"WEB": server.url, "TOKEN": CANARY, "WAY": f"http://ada:{CANARY.replace('/', '%2F')}@{host}"}


@contextmanager
def github(here: Path) -> Iterator[Mapping[str, str]]:
    with GitHub() as server:
        server.repository.add_issue("A hang", f"It hangs with {KEY}.")
        yield {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": KEY}


@contextmanager
def stranger(here: Path) -> Iterator[Mapping[str, str]]:
    with GitHub() as server:
        yield {"GITHUB_API_URL": server.url, "GITHUB_TOKEN": CANARY}


@contextmanager
def agent(here: Path) -> Iterator[Mapping[str, str]]:
    (here / "bin").mkdir()
    (here / "bin" / "claude").write_text(CLAUDE)
    (here / "bin" / "claude").chmod(0o755)
    yield {"ANTHROPIC_API_KEY": CANARY, "CLAUDE_FAILS": "false", "PATH": f"{here / 'bin'}:{os.environ['PATH']}"}


@contextmanager
def failing_agent(here: Path) -> Iterator[Mapping[str, str]]:
    with agent(here) as variables:
        yield {**variables, "CLAUDE_FAILS": "true"}


@contextmanager
def remote(here: Path) -> Iterator[Mapping[str, str]]:
    with WebServer() as server:
        repository = make_repository(here / "repository", **{"a.txt": "a"})
        url = server.url.replace("//", f"//ada:{CANARY.replace('/', '%2F')}@") + "/status/401"
        run_git(repository, "remote", "add", "origin", url)
        yield IDENTITY


USES = {
    "a header that comes back": (web, "http {WEB}/echo --header='X-Api-Key: env:TOKEN'", '"x-api-key\\": \\"***'),
    "a header that is refused": (web, "http {WEB}/status/401 --header='Authorization: Bearer env:TOKEN'", "401 Unauth"),
    "a proxy": (web, "yt-transcript dQw4w9WgXcQ --proxy=env:WAY", "the certificate is not YouTube's"),
    "a comment": (github, "github-add-comment --repo=owner/repo --issue=1 --body=Thanks", "comment_url"),
    "an issue that tells the token": (github, "github-get-issue --repo=owner/repo --issue=1", "It hangs with ***"),
    "a token that is refused": (stranger, "github-get-issue --repo=owner/repo --issue=1", "does not take the key"),
    "an agent": (agent, "claude-code 'Plant a tree'", "your key is ***"),
    "an agent that fails": (failing_agent, "claude-code 'Plant a tree'", "your key is ***"),
    "a remote with a password": (remote, "git-push --repo=repository --remote=origin --branch=main", "cannot push"),
}
"""What is around a node, its line in pipe syntax, and a part of what is said once it has used the key."""

SCRIPT = """
pflow-$line -n --debug -j
pflow run -n "$line => shell 'exit 9'" -v --keep-store
pflow run -n "$line --cache" -j
pflow trace last --json; pflow trace last --store; pflow runs --json; pflow explain "$line"
"""


@pytest.mark.parametrize(("around", "line", "said"), USES.values(), ids=USES)
def test_a_key_is_in_nothing_that_is_printed_kept_or_started(tmp_path, around, line, said):
    need("strace")
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here, home / "traces"):
        folder.mkdir()
    with around(here) as variables:
        line = filled(line, variables)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "GITHUB_", "GH_"))}
        path = f"{Path(sys.executable).parent}:{variables.get('PATH', os.environ['PATH'])}"
        own = {"HOME": str(home), "PFLOW_TRACE": f"{home}/traces/", "NO_PROXY": "127.0.0.1", "PATH": path}
        script = SCRIPT.replace("pflow-$line", f"pflow-{line}").replace("$line", line.replace('"', '\\"'))
        traced = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "100000", "-e", "trace=execve", "-o", f"{home}/started"]
        ran = subprocess.run(
            [*traced, "sh", "-c", script], cwd=here, env={**kept, **variables, **own}, capture_output=True, timeout=60
        )
    started = (home / "started").read_bytes().splitlines()
    # Git hands the URL of a remote to its own helper in this way, from any shell.
    (home / "started").write_bytes(b"\n".join(line for line in started if b"remote-http" not in line))
    (home / "said").write_bytes(ran.stdout + ran.stderr)
    assert said in (ran.stdout + ran.stderr).decode()
    secret = variables.get("GITHUB_TOKEN", CANARY)
    assert [str(file) for file in home.rglob("*") if file.is_file() and has(file.read_bytes(), secret)] == []
    assert (home / ".local/state/pflow/runs").is_dir()


def has(data: bytes, secret: str) -> bool:
    """Whether it holds the secret, as it is or as part of a text in base64."""
    forms = [secret, secret.replace("/", "%2F"), secret.replace("/", "\\/")]
    inner = [base64.b64encode(b"x" * pad + secret.encode())[4:20].decode() for pad in range(3)]
    return any(form.encode() in data for form in [*forms, *inner])
