"""The git-push node: push a branch or tag."""

from pflow.kit.git.history import push
from pflow.kit.git.program import Git
from pflow.node import Node, Shared


class GitPush(Node):
    """Push a branch or a tag of a git repository.

    It keeps its name on the remote unless --to gives another. A branch whose upstream has another name needs --to,
    --remote or --set-upstream (78).

    It never forces a push and never asks for a password: git needs a credential helper, an ssh key in the agent, or
    other settings that give access. The pipe's content goes on.

    Interface:
    - Reads: shared["branch"]: str = null [explicit] [word]  # the branch or tag; without it, the current branch
    - Reads: shared["remote"]: str = null [explicit]  # the remote's name; without it, the branch's
    - Reads: shared["to"]: str = null [explicit]  # its name on the remote (main, refs/for/main); without it, its own
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Params: set_upstream: bool = false [short u]  # remember the remote as the branch's upstream
    - Params: tags: bool = false  # push all tags too
    - Effects: network, runs commands
    - Repeats: yes

    Examples:
        pflow-git-push
        pflow-git-checkout topic --create -n && pflow-git-push --set-upstream -n
        pflow-git-tag v1.0 && pflow-git-push v1.0
        pflow run "git-commit:c -m 'Go on' => git-push:p; c =unchanged=> p" -n -q
    """

    def prep(self, shared: Shared) -> tuple[Git, str | None, str | None, str | None]:
        return Git(shared["repo"], "push"), shared.get("remote"), shared.get("branch"), shared.get("to")

    def exec(self, prepared: tuple[Git, str | None, str | None, str | None]) -> None:
        push(*prepared, sets_upstream=self.params["set_upstream"], tags=self.params["tags"])
