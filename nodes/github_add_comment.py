"""The github-add-comment node: comment on an issue or a pull request on GitHub."""

from pflow.errors import nonblank
from pflow.node import Node, Shared


class GithubAddComment(Node):
    """Comment on an issue or a pull request on GitHub.

    Without flags, repository and issue come from the store: after github-get-issue it comments on that issue. A run
    that is resumed, or tries again, comments once: it looks for the hidden mark of its step among the comments of the
    last 30 days. It needs a key, as github-get-issue describes.

    Interface:
    - Reads: shared["body"]: str [pipe]  # the comment
    - Reads: shared["repo"]: str = null  # OWNER/NAME or its URL; without it GH_REPO, else that of the remote origin
    - Reads: shared["issue_number"]: str [flag issue]  # number, #12 or URL of the issue or pull request
    - Writes: shared["comment_url"]: str [pipe]  # the comment's URL
    - Effects: network
    - Repeats: yes

    Examples:
        echo 'Thank you!' | pflow-github-add-comment --repo=owner/repo --issue=1 -r
        pflow run 'github-get-issue 1 --repo=owner/repo => llm Fix => github-add-comment'
    """

    def prep(self, shared: Shared) -> tuple[str, int, str]:
        from pflow.kit.github.access import find_issue

        repo, number = find_issue(shared, "issue_number")
        return repo, number, nonblank(shared["body"], f"cannot comment on '{repo}#{number}'", "comment")

    def exec(self, prepared: tuple[str, int, str]) -> str:
        from pflow.kit.github.client import Client, earliest, make_once

        repo, number, body = prepared
        github = Client(f"cannot comment on '{repo}#{number}'", "there is no such issue")
        path = f"/repos/{repo}/issues/{number}/comments"
        there = github.rows(path, {"since": earliest()})
        return str(make_once(github, path, {"body": body}, self.step_key, there)["html_url"])

    def post(self, shared: Shared, prepared: object, url: str) -> None:
        shared["comment_url"] = url
