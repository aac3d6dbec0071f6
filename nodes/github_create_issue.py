"""The github-create-issue node: create an issue on GitHub."""

from pflow.errors import nonblank
from pflow.node import Any, Node, Shared


class GithubCreateIssue(Node):
    """Create an issue on GitHub.

    A run that is resumed, or tries again, creates it once: it looks for the hidden mark of its step among the issues of
    the last 30 days. It needs a key, as github-get-issue describes.

    Interface:
    - Reads: shared["title"]: str [word]  # its title
    - Reads: shared["body"]: str = "" [pipe]  # its text
    - Reads: shared["repo"]: str = null [explicit]  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Writes: shared["issue_url"]: str [pipe]  # its URL
    - Writes: shared["issue_number"]: int  # its number
    - Params: labels: list[str] = [] [flag label]  # a label
    - Effects: network
    - Repeats: yes

    Examples:
        echo 'It hangs.' | pflow-github-create-issue 'A hang' --repo=owner/repo --label=bug -r
        pflow-github-create-issue --title='A hang' --body='It hangs.' --repo=owner/repo | pflow-get issue_number
    """

    def prep(self, shared: Shared) -> tuple[str, dict[str, Any]]:
        from pflow.kit.github.access import resolve

        repo = resolve(shared.get("repo"))
        title = nonblank(shared["title"].strip(), f"cannot create an issue in '{repo}'", "title")
        labels = {"labels": self.params["labels"]} if self.params["labels"] else {}
        return repo, {"title": title, "body": shared.get("body") or "", **labels}

    def exec(self, prepared: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        from pflow.kit.github.client import Client, make_once, not_too_old

        repo, content = prepared
        github = Client(f"cannot create an issue in '{repo}'", "there is no such repository")
        path = f"/repos/{repo}/issues"
        query = {"state": "all", "sort": "created", "direction": "desc"}
        return make_once(github, path, content, self.step_key, not_too_old(github.rows(path, query)))

    def post(self, shared: Shared, prepared: object, issue: dict[str, Any]) -> None:
        shared["issue_url"], shared["issue_number"] = issue["html_url"], issue["number"]
