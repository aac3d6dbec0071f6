"""A directory in which the installed pflow runs, and what a run of it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.github import KEY, GitHub
from tests.peers.repository import IDENTITY, add_remote, git, make_repository
from tests.peers.warm import Warm
from tests.peers.youtube import YouTube
from tests.seeds.blocks import HERE

ISSUES = (123, 1234)
"""The numbers of the papers' issue."""
TITLE = "Touch events"
BODY = "Button component touch events not working properly on mobile devices. Write fix.txt"
ISSUE = "# Touch events (#{})\n\nopen, by octocat, labels: bug, mobile\n\n" + BODY
"""What github-get-issue makes a text of."""


def add_issues(github: GitHub, *numbers: int) -> None:
    """The papers' issue under these numbers."""
    made = github.repository.add_issue(TITLE, BODY, labels=("bug", "mobile"))
    for number in numbers:
        github.repository.issues[number] = {**made, "number": number}
        github.repository.comments[number] = []


@dataclass
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def store(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        return {key: value for key, value in json.loads(self.out).items() if key != "$pflow"}


class Place:
    """A directory, and the environment of the commands in it."""

    def __init__(self, directory: Path, llm_user_path: Path, tube: YouTube, github: GitHub, warm: Warm) -> None:
        self.directory, self.warm = directory / "here", warm
        self.directory.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PFLOW_", "XDG_"))},
            **tube.environment,
            **IDENTITY,
            "PATH": f"{Path(sys.executable).parent}:{HERE.parent / 'peers' / 'claude'}:{os.environ['PATH']}",
            "GITHUB_API_URL": github.url,
            "GITHUB_TOKEN": KEY,
            "HOME": str(directory),
            "LLM_USER_PATH": str(llm_user_path),
            "PFLOW_MODEL": "echo",
            "NO_PROXY": "127.0.0.1",
        }

    def use(self, *sets: str) -> Place:
        """Take the nodes from these directories of nodes/."""
        self.environment["PFLOW_NODES"] = ":".join(str(HERE / "nodes" / name) for name in sets)
        return self

    def make_repository(self) -> Place:
        """Make it one, whose remote is of the small GitHub's."""
        make_repository(self.directory, notes="more\n", fix="nothing\n")
        add_remote(self.directory)
        git(self.directory, "remote", "set-url", "origin", "https://github.com/owner/repo.git")
        return self

    def write(self, name: str, content: Any) -> str:
        """Write a file, a text as it is and anything else as JSON; its name."""
        (self.directory / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def pflow(self, *words: str, stdin: str = "") -> Ran:
        """Run pflow; without a text its stdin is /dev/null."""
        ran = self.warm.run(["pflow", *words], cwd=self.directory, env=self.environment, input=stdin or None)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def run(self, flow: Any, *flags: str, stdin: str = "") -> Ran:
        """Run a flow that is IR."""
        return self.pflow("run", self.write("flow.pflow.json", flow), *flags, stdin=stdin)

    def sh(self, script: str) -> Ran:
        options: dict[str, Any] = {"cwd": self.directory, "env": self.environment, "stdin": subprocess.DEVNULL}
        ran = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60, check=False, **options)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def trace(self) -> dict[str, Any]:
        """The last run, as `pflow trace --json` prints it."""
        ran = self.pflow("trace", "last", "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def snapshot(self) -> dict[str, Any]:
        """What the last run changed; its flow's hash aside."""
        snapshot = self.trace()["snapshot"]
        return {name: snapshot[name] for name in ("config_overrides", "cli_injections")}

    def trace_lines(self) -> list[str]:
        """The last run's trace as it is printed, without what it took."""
        lines = self.pflow("trace", "last").out.split("\n")
        return [each.partition("  ")[0] if each.startswith("[") else each for each in lines]
