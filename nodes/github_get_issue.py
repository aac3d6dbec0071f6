"""The github-get-issue node: get an issue from GitHub."""

from pflow.kit.github.reader import Reader
from pflow.node import Any, Node, Shared


class GithubGetIssue(Reader, Node):
    """Get an issue from GitHub, with its comments.

    `issue` is a text for people and models; `issue_data` has title, body, state, url, user.login, labels[0].name,
    comments[0].body and more, under GitHub's names. Anybody may have written the text. The key is GITHUB_TOKEN, else
    GH_TOKEN, else gh's; public repositories need no key. GITHUB_API_URL names a GitHub other than github.com.

    Interface:
    - Reads: shared["repo"]: str = null  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Reads: shared["issue_number"]: str [flag issue] [word]  # its number, #12, or its URL
    - Writes: shared["issue"]: str [pipe]  # its title, body and comments, as a text
    - Writes: shared["issue_title"]: str  # its title
    - Writes: shared["issue_data"]: dict{number: int, title: str, body: str, state: str, state_reason: any, draft: bool, url: str, user: dict{url: str, login: str, name: str}, labels: list[dict{name: str, description: str}], assignees: list, milestone: any, created_at: str, updated_at: str, closed_at: any, comments: list[dict{body: str, url: str, user: dict{url: str, login: str, name: str}, created_at: str, updated_at: str}], repository: any}  # the issue as data
    - Params: comments: bool = true  # get its comments too; --no-comments: without them
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-get-issue --repo=owner/repo --issue=1
        pflow-github-get-issue --repo=owner/repo --issue=1 | pflow-llm --prompt='Suggest a fix'
        pflow-github-get-issue 1 --repo=owner/repo | pflow-get 'issue_data.labels[0].name'
    """

    def exec(self, prepared: tuple[str, int]) -> dict[str, Any]:
        from pflow.kit.github.client import Client
        from pflow.kit.github.reader import reduced

        repo, number = prepared
        github = Client(f"cannot get '{repo}#{number}'", "there is no such issue", node=self)
        path = f"/repos/{repo}/issues/{number}"
        issue = dict(reduced(github.get(path)))
        has_comments = self.params["comments"] and issue.get("comments")
        return {**issue, "comments": reduced([*github.rows(f"{path}/comments")]) if has_comments else []}

    def post(self, shared: Shared, prepared: object, issue: dict[str, Any]) -> None:
        from pflow.kit.github.reader import as_text

        shared["issue"] = as_text(issue, issue["comments"])
        shared["issue_title"] = issue["title"]
        shared["issue_data"] = issue
