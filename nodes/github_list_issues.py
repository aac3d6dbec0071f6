"""The github-list-issues node: list issues on GitHub."""

from pflow.errors import check_positive
from pflow.kit.github.reader import Reader
from pflow.node import Any, Node, Shared


class GithubListIssues(Reader, Node):
    """List the issues of a repository on GitHub, the newest first.

    Key and GITHUB_API_URL are as for github-get-issue.

    Interface:
    - Reads: shared["repo"]: str = null [explicit] [word]  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Writes: shared["issues"]: list[dict{number: int, title: str, body: str, state: str, state_reason: any, draft: bool, url: str, user: dict{url: str, login: str, name: str}, labels: list[dict{name: str, description: str}], assignees: list, milestone: any, created_at: str, updated_at: str, closed_at: any, comments: int, repository: any}] [pipe]  # the issues
    - Params: state: open|closed|all = "open"  # the state of issues to list
    - Params: labels: list[str] = [] [flag label]  # list only issues with this label; if repeated, with all
    - Params: since: str = null  # list only issues changed since: 2026-11-01 (from midnight), 2026-11-01T08:00:00Z, "2 weeks ago"
    - Params: limit: int = 30 [positive]  # the maximum number of issues
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-list-issues owner/repo --label=bug --limit=10 -r
        pflow-github-list-issues owner/repo --since=2026-01-01 | pflow-llm --prompt='What is most urgent?'
    """

    def prep(self, shared: Shared) -> tuple[str, dict[str, Any], int]:
        from pflow.kit.github.access import resolve
        from pflow.kit.github.reader import time_of

        params = self.params
        check_positive("--limit", params["limit"])
        labels = ",".join(params["labels"] or []) or None
        query = {"state": params["state"], "labels": labels, "since": time_of(params["since"])}
        return resolve(shared.get("repo")), query, params["limit"]

    def exec(self, prepared: tuple[str, dict[str, Any], int]) -> list[dict[str, Any]]:
        from itertools import islice

        from pflow.kit.github.client import Client
        from pflow.kit.github.reader import reduced

        repo, query, limit = prepared
        github = Client(f"cannot list the issues of '{repo}'", "there is no such repository", node=self)
        rows = github.rows(f"/repos/{repo}/issues", query)
        return [reduced(row) for row in islice((row for row in rows if "pull_request" not in row), limit)]

    def post(self, shared: Shared, prepared: object, issues: list[dict[str, Any]]) -> None:
        shared["issues"] = issues
