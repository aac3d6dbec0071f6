"""A run that commits and comments, killed at 100 points and resumed: one commit and one comment, whenever it was.

The repository is real, and GitHub a small one on 127.0.0.1 (tests/peers/github.py). `make kills` runs it.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.kills.run import KILLED, NOTHING_TO_DO, Scene
from tests.peers.github import KEY, GitHub
from tests.peers.repository import IDENTITY, add_hook, git, make_repository

FLOW = {
    "pflow": 1,
    "name": "outside",
    "inputs": {"repo": {"type": "str"}, "issue_number": {"type": "int"}, "path": {"type": "path"}},
    "nodes": [
        {"id": "get", "type": "github-get-issue"},
        {"id": "write", "type": "write-file"},
        {"id": "commit", "type": "git-commit", "params": {"all": True}},
        {"id": "comment", "type": "github-add-comment"},
    ],
    "mappings": {
        "get": {"input_mappings": {"repo": "repo", "issue_number": "issue_number"}},
        "write": {"input_mappings": {"content": "get.issue", "path": "path"}},
        "commit": {"input_mappings": {"message": "get.issue_title"}},
        "comment": {
            "input_mappings": {
                "repo": "repo",
                "issue_number": "issue_number",
                "body": "template:Done in ${commit.commit}.",
            }
        },
    },
}
"""A file is written, committed, and told of: once for each issue."""


class Outside(Scene):
    """A repository, in which the flow runs for one issue after another."""

    def __init__(self, directory: Path, github: GitHub) -> None:
        directory.mkdir(exist_ok=True)
        super().__init__(directory)
        self.server, self.github = github, github.repository
        self.work = make_repository(directory / "work")
        self.environment |= {**IDENTITY, "GITHUB_API_URL": github.url, "GITHUB_TOKEN": KEY, "NO_PROXY": "127.0.0.1"}
        (directory / "outside.pflow.json").write_text(json.dumps(FLOW))
        self.directory = self.work

    def words(self, flow: str, seed: str = "") -> list[str]:
        """What runs the flow for a new issue of this title."""
        self.issue = self.github.add_issue(seed, f"About {seed}.")["number"]
        return ["run", f"../{flow}.pflow.json", "-j", f"--repo={self.github.name}", f"--issue-number={self.issue}"]

    def start(self, title: str, **variables: str) -> Popen[bytes]:
        return self.begin([*self.words("outside", title), "--path=notes.txt"], **variables)

    def done(self, title: str) -> tuple[int, int]:
        """How many commits and comments there are for an issue."""
        return git(self.work, "log", "--format=%s").split("\n").count(title), len(self.github.comments[self.issue])

    def check(self, title: str, code: int) -> None:
        """Resume what was killed, and hold it to the promise. Raises AssertionError."""
        journals = [*self.runs.glob("*/journal.jsonl")]
        ended = self.run("resume", "last", "-j") if journals else None
        if code == 0 or ended is None or ended.code == NOTHING_TO_DO:
            wanted = [(1, 1)] if code == 0 else [(0, 0), (1, 1)]
        else:
            assert ended.code == 0, ended.stderr
            wanted = [(1, 1)]
        assert self.done(title) in wanted, f"{self.done(title)} commits and comments"
        if self.done(title) == (1, 1):
            (comment,) = self.github.bodies(self.issue)
            assert comment.startswith(f"Done in {git(self.work, 'rev-parse', 'HEAD')}."), comment
            assert git(self.work, "status", "--porcelain") == ""
        for file in (journal.parent for journal in self.runs.glob("*/journal.jsonl")):
            (file / "journal.jsonl").unlink()


def kill(scene: Outside, title: str, start: Callable[[], Popen[bytes]]) -> tuple[bool, list[str]]:
    """Start a run that is to be killed, and resume it: whether it came to its end before, and what was wrong."""
    process = start()
    _, stderr = process.communicate(timeout=60)
    try:
        assert process.returncode in (0, KILLED), stderr.decode()
        scene.check(title, process.returncode)
    except AssertionError as wrong:
        return process.returncode == 0, [f"{title}: {wrong}"]
    return process.returncode == 0, []


def kill_at_commit_points(scene: Outside, first: int = 1, by: int = 1) -> Iterator[str]:
    """Kill it at each point where the run writes, or at some of them."""
    for passing in count(first, by):
        title = f"commit point {passing}"
        variables = {"PFLOW_TESTING": "1", "PFLOW_FAILPOINT": f"*:{passing}"}
        has_ended, wrong = kill(scene, title, lambda title=title, more=variables: scene.start(title, **more))
        yield from wrong
        if has_ended:
            return


HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "reference-transaction", "post-commit", "post-index-change")
REQUESTS = (("get", ""), ("get", "/comments"), ("post", "/comments"))
INSIDE = [
    *(("hook", name, rest) for name in HOOKS for rest in ("", "; sleep 1")),
    *(("request", *request, after) for request in REQUESTS for after in (False, True)),
]
"""While git is at a hook, at once or with time for what was started to end; while GitHub is at a request of this method
whose path ends so, before its work or after it."""


def kill_inside(scene: Outside, places: Iterable[tuple[Any, ...]] = INSIDE) -> Iterator[str]:
    """Kill it while what it asked for is being done."""
    for kind, *place in places:
        yield from (kill_at_hook if kind == "hook" else kill_at_request)(scene, *place)


def kill_at_hook(scene: Outside, name: str, rest: str) -> Iterator[str]:
    pid, hook, title = scene.work.parent / "pid", scene.work / ".git" / "hooks" / name, f"hook {name}{rest}"
    add_hook(scene.work, name, f"[ ! -e ../pid ] || {{ kill -9 $(cat ../pid); rm ../pid{rest}; }}")

    def start() -> Popen[bytes]:
        process = scene.start(title)
        pid.write_text(str(process.pid))
        return process

    yield from kill(scene, title, start)[1]
    if pid.exists():
        yield f"{title}: it was not called"
        pid.unlink()
    hook.unlink()


def kill_at_request(scene: Outside, method: str, path: str, after: bool) -> Iterator[str]:
    title, started = f"{method} {path or 'issue'} {'after' if after else 'before'}", list[Popen[bytes]]()
    scene.server.fail(lambda call: started[0].kill(), method, path, after=after)

    def start() -> Popen[bytes]:
        started.append(scene.start(title))
        return started[0]

    has_ended, wrong = kill(scene, title, start)
    yield from wrong
    if has_ended:
        yield f"{title}: it was not asked for"


def kill_at_random(scene: Outside, times: int, seed: int) -> Iterator[str]:
    """Kill it after a random time."""
    dice, began = random.Random(seed), time.monotonic()
    yield from kill(scene, "undisturbed", lambda: scene.start("undisturbed"))[1]
    longest = time.monotonic() - began
    for number in range(times):
        pause = dice.uniform(longest / 3, longest)
        title = f"number {number} at {pause * 1000:.0f} ms"

        def start(title: str = title, pause: float = pause) -> Popen[bytes]:
            process = scene.start(title)
            time.sleep(pause)
            process.kill()
            return process

        yield from kill(scene, title, start)[1]


def main(times: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(prefix="pflow-kills-") as place, GitHub() as github:
        scene = Outside(Path(place), github)
        found = [*kill_at_commit_points(scene), *kill_inside(scene)]
        points = scene.issue
        found += kill_at_random(scene, max(times - points, 0), seed)
    print(f"seed {seed}: {points} points, {max(times - points, 0)} random times: {len(found)} WRONG")
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(100, random.randrange(1_000_000)))
