"""A stand-in for github-get-issue, with the keys that seeds 001 and 004 name: every issue is the same."""

from pflow import Node

BODY = "Button component touch events not working properly on mobile devices"
ISSUE = {"title": "Touch events", "body": BODY, "labels": [{"name": "bug"}, {"name": "mobile"}]}


class GithubGetIssue(Node):
    """Get an issue.

    Interface:
    - Reads: shared["issue_number"]: int [flag issue]  # issue number
    - Reads: shared["repo"]: str = "owner/repo"  # whose issue
    - Writes: shared["issue_data"]: dict{title: str, body: str, labels: list[dict{name: str}]}  # all of it
    - Writes: shared["issue"]: str [pipe]  # its text
    - Writes: shared["issue_title"]: str  # its title
    - Effects: network
    """

    def post(self, shared, prepared, result):
        shared["issue_data"] = {"repo": shared["repo"], "number": shared["issue_number"], **ISSUE}
        shared["issue"], shared["issue_title"] = ISSUE["body"], ISSUE["title"]
