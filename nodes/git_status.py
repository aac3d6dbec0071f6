"""The git-status node: show uncommitted changes."""

from pflow.kit.git.changes import find_status, status_text
from pflow.kit.git.program import Git
from pflow.node import Any, Node, Shared


class GitStatus(Node):
    """Show the branch and the uncommitted changes of a git repository.

    The text has a line for each file, such as `staged: modified a.txt`, or `clean`. In the data each file has path
    (from the top of the repository), from (if it was renamed), staged and unstaged (modified, added, deleted, renamed,
    copied, type changed), untracked and conflicted. A value that does not exist is null: the branch of a detached
    HEAD, the commit before there is one, an upstream.

    Interface:
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Writes: shared["status"]: str [pipe]  # the status as text
    - Writes: shared["status_data"]: dict{branch: str, commit: str, upstream: str, ahead: int, behind: int, files: list}
    - Effects: reads files

    Examples:
        pflow-git-status
        pflow-git-status --repo=examples | pflow-get status_data.branch
    """

    def prep(self, shared: Shared) -> Git:
        return Git(shared["repo"], "show the status", reads=True)

    def exec(self, git: Git) -> dict[str, Any]:
        return find_status(git)

    def post(self, shared: Shared, git: Git, found: dict[str, Any]) -> None:
        shared["status"], shared["status_data"] = status_text(found), found
