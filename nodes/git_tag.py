"""The git-tag node: tag a commit."""

from pflow.errors import CANNOT_WRITE, MISSING, PflowError
from pflow.kit.git.history import commit_of
from pflow.kit.git.program import Git, message_of
from pflow.node import Node, Shared

Prepared = tuple[Git, str, str, bytes | None]


class GitTag(Node):
    """Tag a commit of a git repository; with a message, the tag is annotated.

    A tag that is already at this commit is left alone; one at another commit is never moved. The pipe's content goes
    on.

    Interface:
    - Reads: shared["name"]: str [explicit] [word]  # the tag
    - Reads: shared["at"]: str = "HEAD" [explicit]  # the commit, branch or tag to tag
    - Reads: shared["message"]: str = null [explicit] [own] [short m]  # the message of an annotated tag
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Effects: writes files, runs commands
    - Repeats: yes

    Examples:
        pflow-git-tag v1.0 -m 'The first'
        pflow-git-tag v0.9 --at=HEAD~1
    """

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
            what = f"{git.act}: it exists already, at {there[:10]}"
            raise PflowError(what, hint="delete that tag, or use another name", exit=CANNOT_WRITE)
        if there is None:
            kind = [] if message is None else ["--annotate", "--cleanup=whitespace", "--file=-"]
            git.run("tag", *kind, "--", name, commit, input=message)
