"""A stand-in for github-get-issue, with the keys that seeds 001 and 004 name, over HTTP."""

import json
import os
from urllib.request import urlopen

from pflow import Node


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

    def prep(self, shared):
        return f"{os.environ['GITHUB_API']}/repos/{shared['repo']}/issues/{shared['issue_number']}"

    def exec(self, address):
        with urlopen(address) as answer:
            return json.load(answer)

    def post(self, shared, address, issue):
        shared["issue_data"] = issue
        shared["issue"] = issue["body"]
        shared["issue_title"] = issue["title"]
