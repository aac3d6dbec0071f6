"""The github-list-prs node: list pull requests on GitHub."""

from pflow.errors import check_positive
from pflow.kit.github.reader import Reader
from pflow.node import Any, Node, Shared


class GithubListPrs(Reader, Node):
    """List the pull requests of a repository on GitHub, the newest first; with --since, the last changed first.

    Key and GITHUB_API_URL are as for github-get-issue.

    Interface:
    - Reads: shared["repo"]: str = null [explicit] [word]  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Writes: shared["prs"]: list[dict{number: int, title: str, body: str, state: str, draft: bool, merged_at: any, url: str, user: dict{url: str, login: str, name: str}, labels: list[dict{name: str, description: str}], assignees: list, milestone: any, created_at: str, updated_at: str, closed_at: any, head: dict{ref: str, label: str, user: dict, sha: str}, base: dict{ref: str, label: str, user: dict, sha: str}}] [pipe]  # the pull requests
    - Params: state: open|closed|all = "open"  # the state of pull requests to list
    - Params: labels: list[str] = [] [flag label]  # list only those with this label; if repeated, with all
    - Params: since: str = null  # list only those changed since: 2026-11-01 (from midnight), 2026-11-01T08:00:00Z, "2 weeks ago"
    - Params: limit: int = 30 [positive]  # the maximum number of pull requests
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-list-prs owner/repo --state=all --limit=5 -r
    """

    def prep(self, shared: Shared) -> tuple[str, str, int]:
        from pflow.kit.github.access import resolve
        from pflow.kit.github.reader import time_of

        check_positive("--limit", self.params["limit"])
        return resolve(shared.get("repo")), time_of(self.params["since"]) or "", self.params["limit"]

    def exec(self, prepared: tuple[str, str, int]) -> list[dict[str, Any]]:
        from itertools import islice, takewhile

        from pflow.kit.github.client import Client
        from pflow.kit.github.reader import has_labels, reduced

        repo, since, limit = prepared
        github = Client(f"cannot list the pull requests of '{repo}'", "there is no such repository", node=self)
        # GitHub itself cannot filter pull requests by label or time.
        query = {"state": self.params["state"], "sort": "updated" if since else "created", "direction": "desc"}
        rows = takewhile(lambda row: row["updated_at"] >= since, github.rows(f"/repos/{repo}/pulls", query))
        wanted = set(self.params["labels"] or [])
        return [reduced(row) for row in islice((row for row in rows if has_labels(row, wanted)), limit)]

    def post(self, shared: Shared, prepared: object, found: list[dict[str, Any]]) -> None:
        shared["prs"] = found
