"""The github-get-issue node: an issue of a repository on GitHub."""

from __future__ import annotations

from pflow.node import Any, Node, Shared


class GithubGetIssue(Node):
    """Get an issue of GitHub, with its comments.

    issue is a text to be read, by people and models; issue_data has title, body, state, url, user.login,
    labels[0].name, comments[0].body, and what else GitHub tells of an issue, under its names there. Anybody may have
    written what stands in it. The key is GITHUB_TOKEN, else GH_TOKEN, else gh's; what is public needs none.
    GITHUB_API_URL names another GitHub than github.com.

    Interface:
    - Reads: shared["repo"]: str = null  # OWNER/NAME; without it, that of the remote origin here
    - Reads: shared["issue_number"]: int [flag issue] [word]  # issue number
    - Writes: shared["issue"]: str [pipe]  # its title, body and comments, as a text
    - Writes: shared["issue_title"]: str  # its title
    - Writes: shared["issue_data"]: dict  # all of it
    - Params: comments: bool = true  # with its comments
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-get-issue --repo=owner/repo --issue=1
        pflow-github-get-issue --repo=owner/repo --issue=1 | pflow-llm --prompt='Suggest a fix'
        pflow-github-get-issue 1 --repo=owner/repo | pflow-get 'issue_data.labels[0].name'
    """

    version = "1.0.0"

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.kit.github.access import cache_parts

        return cache_parts(reads)

    def prep(self, shared: Shared) -> tuple[str, int]:
        from pflow.kit.github.access import resolve

        return resolve(shared.get("repo")), int(shared["issue_number"])

    def exec(self, prepared: tuple[str, int]) -> dict[str, Any]:
        from pflow.kit.github.client import Client
        from pflow.kit.github.rows import reduced

        repo, number = prepared
        github = Client(f"cannot get '{repo}#{number}'", "there is no such issue")
        path = f"/repos/{repo}/issues/{number}"
        issue = dict(reduced(github.get(path)))
        has_comments = self.params["comments"] and issue.get("comments")
        return {**issue, "comments": reduced([*github.rows(f"{path}/comments")]) if has_comments else []}

    def post(self, shared: Shared, prepared: object, issue: dict[str, Any]) -> None:
        from pflow.kit.github.rows import as_text

        shared["issue"] = as_text(issue, issue["comments"])
        shared["issue_title"] = issue["title"]
        shared["issue_data"] = issue
