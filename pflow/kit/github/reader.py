"""What the nodes that read from GitHub have in common."""

from __future__ import annotations

from pflow import Any, Mapping


class Reader:
    """A node that reads from a repository, and, if it has no prep of its own, an issue or pull request there."""

    number = "issue_number"  # the name of the read

    def cache_parts(self, reads: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an answer depends on besides the question: the API's URL and the repository."""
        from pflow.kit.github.access import api_url, find_issue, resolve

        repo = find_issue(reads, self.number)[0] if self.number in reads else resolve(reads.get("repo"))
        return {"api": api_url(), "repo": repo}

    def prep(self, shared: Any) -> Any:
        from pflow.kit.github.access import find_issue

        return find_issue(shared, self.number)
