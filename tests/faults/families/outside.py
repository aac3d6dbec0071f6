"""A run that commits and comments, killed and resumed: one commit and one comment, whenever it was.

The repository is real, and GitHub a small one on 127.0.0.1 (tests/peers/github.py).
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen

from tests.faults.points import Point, dice, spread
from tests.faults.scene import KILLED, NOTHING_TO_DO, Program
from tests.peers.github import KEY, GitHub
from tests.peers.repository import IDENTITY, add_hook, git, make_repository

NEEDS = ("git",)
WEIGHT = 90

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


TITLE = "A title"
COMMIT_POINTS = 18
LONGEST = 1.0
"""Seconds that such a run takes about."""

HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "reference-transaction", "post-commit", "post-index-change")
REQUESTS = (("get", ""), ("get", "/comments"), ("post", "/comments"))


class Outside(Program):
    """A repository, in which the flow runs for an issue."""

    def __init__(self, directory: Path, github: GitHub) -> None:
        super().__init__(directory)
        (self.directory / "outside.pflow.json").write_text(json.dumps(FLOW))
        self.directory = self.work = make_repository(self.directory / "work")
        self.server, self.github = github, github.repository
        os.environ.update({**IDENTITY, "GITHUB_API_URL": github.url, "GITHUB_TOKEN": KEY, "NO_PROXY": "127.0.0.1"})
        self.issue = self.github.add_issue(TITLE, "About it.")["number"]

    def start(self, **variables: str) -> Popen[bytes]:
        words = [f"--repo={self.github.name}", f"--issue-number={self.issue}", "--path=notes.txt"]
        return self.begin(["run", "../outside.pflow.json", "-j", *words], **variables)

    def done(self) -> tuple[int, int]:
        """Return how many commits and comments there are for the issue."""
        return git(self.work, "log", "--format=%s").split("\n").count(TITLE), len(self.github.comments[self.issue])

    def check(self, process: Popen[bytes]) -> bool:
        """Resume what was killed, and hold it to the promise; return whether it had come to its end before."""
        code = self.end(process).code
        assert code in (0, KILLED), code
        ended = self.run("resume", "last", "-j") if self.left() else None
        is_over = code and (ended is None or ended.code == NOTHING_TO_DO)
        assert is_over or ended is None or ended.code == 0, ended
        assert self.done() in ([(0, 0), (1, 1)] if is_over else [(1, 1)]), f"{self.done()} commits and comments"
        if self.done() == (1, 1):
            (comment,) = self.github.bodies(self.issue)
            assert comment.startswith(f"Done in {git(self.work, 'rev-parse', 'HEAD')}."), comment
            assert git(self.work, "status", "--porcelain") == ""
        return code == 0


def points(share: int, seed: int) -> Iterator[Point]:
    inside = [point for kind in (at_hooks(), at_requests()) for point in kind]
    random.Random(seed).shuffle(inside)
    return spread(share, at_commit_points(seed), inside, at_random(seed))


def point(name: str, act: Callable[[Outside], None]) -> Point:
    def check(directory: Path) -> None:
        with GitHub() as github:
            act(Outside(directory, github))

    return Point(f"outside/{name}", check)


def at_commit_points(seed: int) -> Iterator[Point]:
    """Each point where the run writes."""
    for passing in random.Random(seed).sample(range(1, COMMIT_POINTS + 2), COMMIT_POINTS + 1):

        def act(scene: Outside, passing: int = passing) -> None:
            has_ended = scene.check(scene.start(PFLOW_TESTING="1", PFLOW_FAILPOINT=f"*:{passing}"))
            assert has_ended == (passing > COMMIT_POINTS), "there are more points, or fewer"

        yield point(f"commit-point/{passing}", act)


def at_hooks() -> Iterator[Point]:
    """While git is at a hook, at once or with time for what was started to end."""
    for name, rest in ((name, rest) for name in HOOKS for rest in ("", "; sleep 1")):

        def act(scene: Outside, name: str = name, rest: str = rest) -> None:
            pid = scene.work.parent / "pid"
            wait = "until [ -s ../pid ]; do sleep 0.01; done"
            add_hook(scene.work, name, f"[ -e ../once ] || {{ : >../once; {wait}; kill -9 $(cat ../pid){rest}; }}")
            process = scene.start()
            pid.write_text(str(process.pid))
            assert not scene.check(process), "it was not called"

        yield point(f"hook/{name}/{'slow' if rest else 'fast'}", act)


def at_requests() -> Iterator[Point]:
    """While GitHub is at a request of this method whose path ends so, before its work or after it."""
    for method, path, after in ((*request, after) for request in REQUESTS for after in (False, True)):

        def act(scene: Outside, method: str = method, path: str = path, after: bool = after) -> None:
            started = list[Popen[bytes]]()
            scene.server.fail(lambda call: started[0].kill(), method, path, after=after)
            started.append(scene.start())
            assert not scene.check(started[0]), "it was not asked for"

        yield point(f"request/{method}{path or '/issue'}/{'after' if after else 'before'}", act)


def at_random(seed: int) -> Iterator[Point]:
    for number in range(1_000_000):
        pause = dice(f"outside/random/{number}", seed).uniform(LONGEST / 5, LONGEST)

        def act(scene: Outside, pause: float = pause) -> None:
            process = scene.start()
            time.sleep(pause)
            process.kill()
            scene.check(process)

        yield point(f"random/{number}", act)
