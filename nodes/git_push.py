"""The git-push node: a branch or tag to a remote."""

from __future__ import annotations

from pflow.kit.git.program import Git
from pflow.kit.git.push import push
from pflow.node import Node, Shared


class GitPush(Node):
    """Push a branch or a tag of a git repository.

    Nothing is ever forced. Nobody is asked for a password: git has to get in by a credential helper, an ssh key in the
    agent, or what its settings say. What came through the pipe goes on.

    Interface:
    - Reads: shared["branch"]: str = null [explicit] [word]  # the branch or tag; the current branch if unset
    - Reads: shared["remote"]: str = null [explicit]  # the name of a remote; where the branch belongs if unset
    - Reads: shared["repo"]: path = "." [explicit] [own]  # a directory in the repository
    - Params: set_upstream: bool = false [short u]  # remember where it went
    - Params: tags: bool = false  # all tags, too
    - Effects: network, runs commands
    - Repeats: yes

    Examples:
        pflow-git-push
        pflow-git-checkout topic --create -n && pflow-git-push --set-upstream -n
        pflow-git-tag v1.0 && pflow-git-push v1.0
        pflow run "git-commit:c -m 'Go on' => git-push:p; c =unchanged=> p" -n -q
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Git, str | None, str | None]:
        return Git(shared["repo"], "push"), shared.get("remote"), shared.get("branch")

    def exec(self, prepared: tuple[Git, str | None, str | None]) -> None:
        push(*prepared, sets_upstream=self.params["set_upstream"], tags=self.params["tags"])
