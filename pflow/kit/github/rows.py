"""What GitHub tells of issues, pull requests and the rest, without what only programs of GitHub's need."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

_KEPT = (
    *("number", "title", "body", "state", "state_reason", "draft", "merged", "merged_at", "html_url", "user", "login"),
    *("labels", "name", "full_name", "assignees", "milestone", "created_at", "updated_at", "closed_at", "comments"),
    *("head", "base", "ref", "label", "additions", "deletions", "changed_files", "filename", "status", "path"),
    *("repository", "description", "private", "archived", "fork", "language", "stargazers_count", "topics"),
    *("default_branch", "pushed_at", "sha", "commit", "message", "author", "date"),
)
"""Members that are kept, wherever they stand, and in this order; html_url as url."""


def reduced(value: Any) -> Any:
    """A value of GitHub's with what people use of it, under GitHub's names; `url` is the page's."""
    if isinstance(value, list):
        return [reduced(each) for each in value]
    if not isinstance(value, dict):
        return value
    row = {"url" if name == "html_url" else name: reduced(value[name]) for name in _KEPT if name in value}
    if "body" in row:
        row["body"] = (row["body"] or "").replace("\r\n", "\n")
    return row


def as_text(row: Row, comments: list[Row], *more: str) -> str:
    """An issue or a pull request to be read: its title, what it is, its body, more of it, its comments."""
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
    return (row.get("user") or {}).get("login") or "somebody who is gone"
