"""A stand-in for git-commit, which seed 001 names: its commits are lines of a file."""

from pflow import Node


class GitCommit(Node):
    """Commit.

    Interface:
    - Reads: shared["message"]: str [own]  # the commit message
    - Effects: writes files
    """

    def post(self, shared, prepared, result):
        with open("commits", "a") as log:
            log.write(shared["message"] + "\n")
