"""The git-diff node: show changes in files."""

from pflow.kit.git.changes import find_changes, find_patch, stat_text
from pflow.kit.git.program import Git, Word
from pflow.node import Any, Node, Shared


class GitDiff(Node):
    """Show the changes in a git repository's files, by default those that are not staged.

    --revision=HEAD shows all changes since the last commit, --staged the staged ones, --revision=A..B those between two
    commits. Untracked files are never shown. In the text a byte that is not UTF-8 is U+FFFD, and a binary file has no
    patch.

    In `changes` each file has path (from the top of the repository), from (if it was renamed), change (modified, added,
    deleted, renamed, copied, type changed, conflicted), and the number of lines added and deleted (null for a binary
    file or a conflict).

    Interface:
    - Reads: shared["revision"]: str = null [explicit] [word]  # the commit to compare with, or a range: main..HEAD
    - Reads: shared["paths"]: list[path] = [] [explicit] [word]  # show only these files and directories
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository; paths are relative to it
    - Writes: shared["diff"]: str [pipe]  # the patch; empty without changes
    - Writes: shared["changes"]: list[dict{path: path, from: path, change: str, added: int, deleted: int}]  # by file
    - Params: staged: bool = false  # show the staged changes
    - Params: stat: bool = false  # show a line for each file, instead of the patch
    - Effects: reads files

    Examples:
        pflow-git-diff
        pflow-git-diff HEAD examples/notes.txt --stat -r
        pflow-git-diff HEAD | pflow-llm 'A commit message for this' | pflow-git-commit
    """

    def prep(self, shared: Shared) -> tuple[Git, list[Word]]:
        git, revision = Git(shared["repo"], "show the differences", reads=True), shared.get("revision")
        start = [] if revision is None else ["--end-of-options", revision]
        return git, [*["--cached"] * self.params["staged"], *start, *git.select(shared["paths"])]

    def exec(self, prepared: tuple[Git, list[Word]]) -> tuple[str, list[dict[str, Any]]]:
        changes = find_changes(*prepared)
        return stat_text(changes) if self.params["stat"] else find_patch(*prepared), changes

    def post(self, shared: Shared, prepared: object, found: tuple[str, list[dict[str, Any]]]) -> None:
        shared["diff"], shared["changes"] = found
