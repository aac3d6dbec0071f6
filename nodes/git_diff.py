"""The git-diff node: what differs."""

from __future__ import annotations

from pflow.kit.git.changes import find_changes, find_patch, stat_text
from pflow.kit.git.program import Git, Word
from pflow.node import Any, Node, Shared


class GitDiff(Node):
    """Show what differs in a git repository: as git diff, between the files and what is staged.

    --revision=HEAD shows all changes since the last commit, --staged those that are staged, --revision=A..B those
    between two commits. A file that git does not track is in none of them. In the text a byte that is not UTF-8 is
    U+FFFD, and of a binary file it says only that it differs.

    In `changes` a file has its path (from the top of the repository), from (where it was renamed), change (modified,
    added, deleted, renamed, copied, type changed, conflicted), and how many lines were added and deleted; null where it
    is binary, or in conflict.

    Interface:
    - Reads: shared["revision"]: str = null [explicit] [word]  # compared with the files: HEAD; or a range: main..HEAD
    - Reads: shared["paths"]: list[path] = [] [explicit] [word]  # only these files and directories
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository; paths begin there
    - Writes: shared["diff"]: str [pipe]  # the patch; empty where nothing differs
    - Writes: shared["changes"]: list[dict{path: path, from: path, change: str, added: int, deleted: int}]  # by file
    - Params: staged: bool = false  # what is staged, in place of the files
    - Params: stat: bool = false  # in place of the patch a line a file
    - Effects: reads files

    Examples:
        pflow-git-diff
        pflow-git-diff HEAD examples/notes.txt --stat -r
        pflow-git-diff HEAD | pflow-llm 'A commit message for this' | pflow-git-commit
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Git, list[Word]]:
        revision = shared.get("revision")
        start = [] if revision is None else ["--end-of-options", revision]
        paths = shared["paths"]
        # git takes two paths alone, one outside, for files to compare without a repository: three it never does.
        paths = [*paths[:1], *paths] if len(paths) == 2 else paths
        selected = [*["--cached"] * self.params["staged"], *start, "--", *paths]
        return Git(shared["repo"], "show the differences", reads=True), selected

    def exec(self, prepared: tuple[Git, list[Word]]) -> tuple[str, list[dict[str, Any]]]:
        changes = find_changes(*prepared)
        return stat_text(changes) if self.params["stat"] else find_patch(*prepared), changes

    def post(self, shared: Shared, prepared: object, found: tuple[str, list[dict[str, Any]]]) -> None:
        shared["diff"], shared["changes"] = found
