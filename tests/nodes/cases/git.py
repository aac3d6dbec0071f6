"""The cases of the git nodes: each has a repository of its own, in which notes.txt is changed and new.txt is new."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import ANY, Case
from tests.peers.repository import FIRST, IDENTITY, WHEN, add_remote, git, make_repository, write

FOUND = {"author": "Ada <ada@example.org>", "date": WHEN, "subject": FIRST, "body": ""}


@contextmanager
def repository(here: Path) -> Iterator[Mapping[str, str]]:
    """The variable HEAD is the last commit, which has the tag v1."""
    make_repository(here, notes="old\n")
    add_remote(here)
    git(here, "tag", "v1")
    write(here, notes="less\n", new="")
    yield {**IDENTITY, "HEAD": git(here, "rev-parse", "HEAD"), "HOME": os.path.dirname(here)}


def case(node: str, *flags: str, **more: object) -> Case:
    return Case(f"git-{node}", ["--repo={here}", *flags], around=repository, **more)  # type: ignore[arg-type]


CHANGED = {"path": "notes.txt", "from": None}
STATUS = {"branch": "main", "commit": "{HEAD}", "upstream": "origin/main", "ahead": 0, "behind": 0}
MODIFIED = {**CHANGED, "staged": None, "unstaged": "modified", "untracked": False, "conflicted": False}
UNTRACKED = {**MODIFIED, "path": "new.txt", "unstaged": None, "untracked": True}
CASES = [
    case("status", writes={"status": ANY, "status_data": {**STATUS, "files": [MODIFIED, UNTRACKED]}}),
    case("log", writes={"commits": [{"hash": "{HEAD}", **FOUND}]}),
    case("log", "none", exit=66),
    case(
        "diff",
        "--stat",
        writes={
            "diff": "notes.txt | modified, +1 -1\n",
            "changes": [{**CHANGED, "change": "modified", "added": 1, "deleted": 1}],
        },
    ),
    case("checkout", "topic", "--create", once=True, words=["--repo={here}", "main"]),
    case("checkout", "none", exit=66),
    case(
        "commit",
        pipe="Go on",
        writes={"commit": ANY, "commit_data": ANY},
        once=True,
        words=["--repo={here}", "--all"],
    ),
    case(
        "commit",
        "--paths=[]",
        pipe="Go on",
        writes={"commit": "{HEAD}", "commit_data": {"hash": "{HEAD}", **FOUND}},
        action="unchanged",
    ),
    case("push"),
    case("push", "none", exit=66),
    case("tag", "v2"),
    case("tag", "v1"),
]
