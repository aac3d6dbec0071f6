"""The git-log node: list commits."""

from pflow.errors import check_natural
from pflow.kit.git.history import find_commits, head_of
from pflow.kit.git.program import Git
from pflow.node import Any, Node, Shared


class GitLog(Node):
    """List the commits of a git repository, the newest first.

    `author` is `Name <address>`, `date` the author's date in ISO 8601.

    Interface:
    - Reads: shared["revision"]: str = null [explicit] [word]  # the newest commit (else HEAD), or a range: v1.0..HEAD
    - Reads: shared["paths"]: list[path] = [] [explicit] [word]  # list only commits that touch one of these
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository; paths are relative to it
    - Writes: shared["commits"]: list[dict{hash: str, author: str, date: str, subject: str, body: str}] [pipe]
    - Params: max: int = null [natural]  # the maximum number of commits
    - Params: since: str = null  # list only newer commits: 2026-01-31 (from midnight), yesterday, "2 weeks ago"
    - Effects: reads files

    Examples:
        pflow-git-log --max=5
        pflow-git-log HEAD examples/notes.txt --since=2001-01-31 | pflow-get 'commits[0].subject'
    """

    def prep(self, shared: Shared) -> tuple[Git, str | None, list[str]]:
        check_natural("--max", self.params["max"])
        return Git(shared["repo"], "list the commits", reads=True), shared.get("revision"), shared["paths"]

    def exec(self, prepared: tuple[Git, str | None, list[str]]) -> list[dict[str, Any]]:
        git, revision, paths = prepared
        flags = [] if self.params["max"] is None else [f"--max-count={self.params['max']}"]
        if self.params["since"] is not None:
            from pflow.kit.git.history import parse_since

            # With --since git would stop at the first commits with an old date, such as those of a wrong clock.
            flags.append(f"--since-as-filter=@{max(0, int(parse_since(self.params['since']).timestamp()))} +0000")
        if revision is None and head_of(git) is None:
            return []  # to git a branch without a commit is an error, to us an empty list
        return find_commits(git, "HEAD" if revision is None else revision, [*paths], *flags)

    def post(self, shared: Shared, prepared: object, commits: list[dict[str, Any]]) -> None:
        shared["commits"] = commits
