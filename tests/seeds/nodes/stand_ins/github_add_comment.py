"""A stand-in for github-add-comment, which seed 003 names: its comments are a file."""

from pflow import Node


class GithubAddComment(Node):
    """Comment on an issue.

    Interface:
    - Reads: shared["issue_number"]: int [flag issue]  # issue number
    - Reads: shared["repo"]: str = "owner/repo"  # whose issue
    - Reads: shared["comment"]: str [pipe]  # what to say
    - Writes: shared["comment_url"]: str  # where it is
    - Effects: network
    """

    def post(self, shared, prepared, result):
        with open("comments", "a") as file:
            file.write(shared["comment"])
        shared["comment_url"] = f"/repos/{shared['repo']}/issues/{shared['issue_number']}/comments/1"
