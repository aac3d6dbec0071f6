"""The git-commit node: what has changed, as a commit."""

from __future__ import annotations

from pflow.kit.git.commit import commit, find_commits, find_marked, head_of, mark_of
from pflow.kit.git.program import Git, Word, message_of
from pflow.node import Any, Node, Shared

Prepared = tuple[Git, bytes, list[Word] | None]


class GitCommit(Node):
    """Commit what is staged in a git repository; where nothing is, every change, new files too.

    Hooks run as ever, and what they say is shown. A run that is resumed after it was killed commits once: it finds its
    commit in the reflog. Where a commit fails, what it had staged is unstaged again.

    Interface:
    - Reads: shared["message"]: str [pipe] [word] [short m]  # the message: a line, an empty one, and more
    - Reads: shared["paths"]: list[path] = null [explicit]  # only these files and directories, staged or not
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository; paths begin there
    - Writes: shared["commit"]: str [pipe]  # its hash; that of the last commit where nothing had changed
    - Writes: shared["commit_data"]: dict{hash: str, author: str, date: str, subject: str, body: str}  # all of it
    - Params: all: bool = false [short a]  # every change, new files too, also where some are staged
    - Actions: default, unchanged  # unchanged when there is nothing to commit
    - Effects: writes files, runs commands
    - Repeats: yes

    Examples:
        pflow-git-commit -m 'Mend the notes'
        date > today.txt; echo 'Note the day' | pflow-git-commit --paths=today.txt -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> Prepared:
        git = Git(shared["repo"], "commit")
        return git, message_of(git, shared["message"]), shared.get("paths")

    def exec(self, prepared: Prepared) -> tuple[dict[str, Any] | None, bool]:
        git, message, paths = prepared
        # A stage within a shell step has that step's key in its environment, and may be one of many there.
        mark = mark_of(vars(self).get("step_key", ""), message, paths)
        found = find_marked(git, mark)
        is_made = bool(found) or (paths != [] and commit(git, message, paths, mark, takes_all=self.params["all"]))
        head = found or head_of(git)
        return find_commits(git, head, [], "--max-count=1")[0] if head else None, is_made

    def post(self, shared: Shared, prepared: object, made: tuple[dict[str, Any] | None, bool]) -> str:
        last, is_made = made
        if last:
            shared["commit"], shared["commit_data"] = last["hash"], last
        return "default" if is_made else "unchanged"
