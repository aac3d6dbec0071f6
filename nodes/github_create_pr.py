"""The github-create-pr node: create a pull request on GitHub."""

from pflow.errors import nonblank
from pflow.node import Any, Node, Shared


class GithubCreatePr(Node):
    """Create a pull request on GitHub from a branch that has been pushed.

    A run that is resumed, or tries again, creates it once: it looks for the hidden mark of its step. It needs a key,
    as github-get-issue describes.

    Interface:
    - Reads: shared["title"]: str [word]  # its title
    - Reads: shared["body"]: str = "" [pipe]  # its text
    - Reads: shared["repo"]: str = null [explicit]  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Writes: shared["pr_url"]: str [pipe]  # its URL
    - Writes: shared["pr_number"]: int  # its number
    - Params: head: str = null  # the branch with the changes, or OWNER:BRANCH; without it, the current branch
    - Params: base: str = null  # the branch to change; without it, the repository's default
    - Params: draft: bool = false  # make it a draft
    - Effects: network
    - Repeats: yes

    Examples:
        echo 'It no longer hangs.' | pflow-github-create-pr 'Mend the hang' --head=fix --repo=owner/repo -r
    """

    def prep(self, shared: Shared) -> tuple[str, dict[str, Any]]:
        from pflow.kit.github.access import current_branch, resolve

        repo, head = resolve(shared.get("repo")), self.params["head"]
        title = nonblank(shared["title"].strip(), f"cannot create a pull request in '{repo}'", "title")
        content = {"title": title, "body": shared.get("body") or "", "head": head or current_branch()}
        return repo, content | ({"draft": True} if self.params["draft"] else {})

    def exec(self, prepared: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        from pflow.kit.github.client import Client, make_once

        repo, content = prepared
        github = Client(f"cannot create a pull request in '{repo}'", "there is no such repository")
        head, base = content["head"], self.params["base"] or github.get(f"/repos/{repo}")["default_branch"]
        label = head if ":" in head else f"{repo.partition('/')[0]}:{head}"
        there = github.rows(f"/repos/{repo}/pulls", {"state": "all", "head": label})
        return make_once(github, f"/repos/{repo}/pulls", {**content, "base": base}, self.step_key, there)

    def post(self, shared: Shared, prepared: object, made: dict[str, Any]) -> None:
        shared["pr_url"], shared["pr_number"] = made["html_url"], made["number"]
