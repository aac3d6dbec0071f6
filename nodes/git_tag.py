"""The git-tag node: a name for a commit."""

from __future__ import annotations

from pflow.errors import CANNOT_WRITE, MISSING, PflowError
from pflow.kit.git.commit import commit_of
from pflow.kit.git.program import Git, message_of
from pflow.node import Node, Shared

Prepared = tuple[Git, str, str, bytes | None]


class GitTag(Node):
    """Tag a commit of a git repository; with a message, by an annotated tag.

    A tag that is at this commit already is left as it is; one that is elsewhere is never moved. What came through the
    pipe goes on.

    Interface:
    - Reads: shared["name"]: str [explicit] [word]  # the tag
    - Reads: shared["at"]: str = "HEAD" [explicit]  # what it tags: a commit, or what leads to one
    - Reads: shared["message"]: str = null [explicit] [own] [short m]  # what it says
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Effects: writes files, runs commands
    - Repeats: yes

    Examples:
        pflow-git-tag v1.0 -m 'The first'
        pflow-git-tag v0.9 --at=HEAD~1
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> Prepared:
        git = Git(shared["repo"], f"tag '{shared['name']}'")
        message = shared.get("message")
        return git, shared["name"], shared["at"], None if message is None else message_of(git, message)

    def exec(self, prepared: Prepared) -> None:
        git, name, at, message = prepared
        commit = commit_of(git, at)
        if commit is None:
            raise PflowError(f"{git.act}: there is no commit '{at}'", exit=MISSING)
        there = commit_of(git, f"refs/tags/{name}")
        if there not in (None, commit):
            what = f"{git.act}: it is there already, at {there[:10]}"
            raise PflowError(what, hint="delete that tag, or take another name", exit=CANNOT_WRITE)
        if there is None:
            kind = [] if message is None else ["--annotate", "--file=-"]
            git.run("tag", *kind, "--", name, commit, input=message)
