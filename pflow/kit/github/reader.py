"""What the nodes that read from GitHub share: the repository or issue, the query of a list, and its rows."""

from __future__ import annotations

from pflow import Any, Mapping


class Reader:
    """A node that reads from a GitHub repository. Unless a subclass has a `prep`, it reads an issue or pull request."""

    number = "issue_number"
    """The key from which the number is read; nodes of pull requests have another."""

    def cache_parts(self, reads: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of the cache key besides the question: the API's URL and the repository."""
        from pflow.kit.github.access import api_url, find_issue, resolve

        repo = find_issue(reads, self.number)[0] if self.number in reads else resolve(reads.get("repo"))
        return {"api": api_url(), "repo": repo}

    def prep(self, shared: Any) -> Any:
        from pflow.kit.github.access import find_issue

        return find_issue(shared, self.number)


Row = dict[str, Any]

_KEPT = (
    *("number", "title", "body", "state", "state_reason", "draft", "merged", "merged_at", "html_url", "user", "login"),
    *("labels", "name", "full_name", "assignees", "milestone", "created_at", "updated_at", "closed_at", "comments"),
    *("head", "base", "ref", "label", "additions", "deletions", "changed_files", "filename", "status", "path"),
    *("repository", "description", "private", "archived", "fork", "language", "stargazers_count", "topics"),
    *("default_branch", "pushed_at", "sha", "commit", "message", "author", "date"),
)
"""The members that are kept, at any depth and in this order. html_url becomes url."""


def reduced(value: Any) -> Any:
    """Reduce a value from GitHub to the members that people use, under GitHub's names. `url` is the web page's."""
    if isinstance(value, list):
        return [reduced(each) for each in value]
    if not isinstance(value, dict):
        return value
    row = {"url" if name == "html_url" else name: reduced(value[name]) for name in _KEPT if name in value}
    if "body" in row:
        row["body"] = (row["body"] or "").replace("\r\n", "\n")
    return row


def as_text(row: Row, comments: list[Row], *more: str) -> str:
    """Format an issue or pull request: its title, state, author, labels, body, more parts and comments."""
    labels = ", ".join(_label(label) for label in row.get("labels") or [])
    state = "merged" if row.get("merged") else "draft" if row.get("draft") else row["state"]
    about = f"{state}, by {_author(row)}" + (f", labels: {labels}" if labels else "")
    parts = [f"# {row['title']} (#{row['number']})", about, (row.get("body") or "").strip(), *more]
    parts += [
        f"## {_author(each)}, {each['created_at'][:10]}\n\n{(each.get('body') or '').strip()}" for each in comments
    ]
    return "\n\n".join(filter(None, parts))


def files_text(files: list[Row]) -> str:
    return "\n".join(f"{each['status']} {each['filename']} +{each['additions']} -{each['deletions']}" for each in files)


def has_labels(row: Row, wanted: set[str]) -> bool:
    return wanted <= {_label(label) for label in row.get("labels") or []}


def _label(label: Any) -> str:
    return label if isinstance(label, str) else str(label.get("name") or "")


def _author(row: Row) -> str:
    return (row.get("user") or {}).get("login") or "a deleted user"


_SEARCHES = {"prs": ("issues", "is:pr"), "issues": ("issues", "is:issue")}


def time_of(text: str | None) -> str | None:
    """Convert the value of --since to a time in GitHub's form. Raises PflowError (2) if it is not a time."""
    from pflow.kit.git.history import parse_since

    return None if text is None else f"{parse_since(text):%Y-%m-%dT%H:%M:%SZ}"


def search(query: str, kind: str, repo: str | None) -> tuple[str, str]:
    """Return the path of a search, and its query with the repository, and with the kind unless the query has one."""
    what, qualifier = _SEARCHES.get(kind, (kind, ""))
    says_kind = any(word.startswith(("is:", "type:")) for word in query.split())
    more = ["" if says_kind else qualifier, f"repo:{repo}" if repo else ""]
    return f"/search/{what}", " ".join(filter(None, (query.strip(), *more)))
