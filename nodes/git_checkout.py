"""The git-checkout node: switch to a branch."""

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.kit.git.history import commit_of, head_of
from pflow.kit.git.program import Git, fault
from pflow.node import Node, Shared


class GitCheckout(Node):
    """Switch to a branch, or to a tag or commit (a detached HEAD).

    A branch that only a remote has is made here, as git checkout does. Uncommitted changes are kept; git refuses to
    switch if they, or an ignored file, would be lost. The pipe's content goes on.

    Interface:
    - Reads: shared["branch"]: str [explicit] [word]  # the branch, tag or commit
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Params: create: bool = false [short b]  # make the branch; it must not exist (73)
    - Effects: writes files, runs commands
    - Repeats: unless create

    Examples:
        pflow-git-checkout topic --create
        pflow-llm 'A commit message' | pflow-git-checkout topic | pflow-git-commit
    """

    def prep(self, shared: Shared) -> tuple[Git, str]:
        branch = shared["branch"]
        git = Git(shared["repo"], f"check out '{branch}'")
        if not branch:
            raise PflowError(f"{git.act}: the name is empty", exit=MISSING)
        if branch.startswith("-"):
            raise PflowError(f"{git.act}: a name cannot begin with -", exit=BAD_DATA)
        return git, branch

    def exec(self, prepared: tuple[Git, str]) -> None:
        git, branch = prepared
        words = ["-b", branch] if self.params["create"] else ["--guess", "--no-overwrite-ignore", branch, "--"]
        # By another value, a new branch would belong to the branch that it left, or a remote one's to none.
        settings = ("-c", "branch.autoSetupMerge=true")
        code, _, said = git.call(*settings, "checkout", "--quiet", "--no-recurse-submodules", *words)
        if code:
            is_done = 0 < code < 128 and "resolve your current index" not in said and _is_at(git, branch)
            failed = f"'{branch}' is checked out in '{git.repo}', but its hook post-checkout failed"
            raise fault(failed if is_done else git.act, code, said)


def _is_at(git: Git, branch: str) -> bool:
    """Return True if HEAD is the branch, or, detached, the tag or commit."""
    head = git.ask("symbolic-ref", "--quiet", "HEAD")
    return head == f"refs/heads/{branch}" if head else head_of(git) == commit_of(git, branch)
