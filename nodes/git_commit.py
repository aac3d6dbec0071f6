"""The git-commit node: commit changes."""

from pflow.kit.git.history import commit, find_commits, find_marked, head_of, mark_of
from pflow.kit.git.program import Git, Word, message_of
from pflow.node import Any, Node, Shared

Prepared = tuple[Git, bytes, list[Word] | None]


class GitCommit(Node):
    """Commit the staged changes; if nothing is staged, those of tracked files, as git commit -a does.

    Untracked files are not committed, and stderr names them; --all and --paths commit them.
    Hooks run as usual, and their output is shown. A run that is killed and resumed commits once: it finds its commit in
    the reflog. If the commit fails, the files that it staged are unstaged again.

    Interface:
    - Reads: shared["message"]: str [pipe] [word] [short m]  # the message: a subject, an empty line, a body
    - Reads: shared["paths"]: list[path] = null [explicit]  # commit only these files and directories, staged or not
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository; paths are relative to it
    - Writes: shared["commit"]: str [pipe]  # its hash; without changes, the hash of the last commit
    - Writes: shared["commit_data"]: dict{hash: str, author: str, date: str, subject: str, body: str}  # the commit
    - Params: all: bool = false [short a]  # commit every change, untracked files too, even if some are staged
    - Actions: default, unchanged  # unchanged if there is nothing to commit
    - Effects: writes files, runs commands
    - Repeats: yes

    Examples:
        pflow-git-commit -m 'Mend the notes'
        date > today.txt; echo 'Note the day' | pflow-git-commit --paths=today.txt -r
    """

    def prep(self, shared: Shared) -> Prepared:
        git = Git(shared["repo"], "commit")
        return git, message_of(git, shared["message"]), shared.get("paths")

    def exec(self, prepared: Prepared) -> tuple[dict[str, Any] | None, bool]:
        git, message, paths = prepared
        # A stage within a shell step has that step's key in its environment, perhaps together with others.
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
