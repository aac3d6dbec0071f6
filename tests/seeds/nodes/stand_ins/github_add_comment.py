"""A stand-in for github-add-comment, which seed 003 names, over HTTP."""

import json
import os
from urllib.request import urlopen

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

    def prep(self, shared):
        place = f"{os.environ['GITHUB_API']}/repos/{shared['repo']}/issues/{shared['issue_number']}/comments"
        return place, json.dumps({"body": shared["comment"]}).encode()

    def exec(self, prepared):
        with urlopen(*prepared) as answer:
            return json.load(answer)["url"]

    def post(self, shared, prepared, url):
        shared["comment_url"] = url
