"""Commits as data: what `git log` tells of each."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pflow.kit.git.program import Git, Word

_FIELDS = {"hash": "%H", "author": "%an <%ae>", "date": "%aI", "subject": "%s", "body": "%b"}


def find_commits(git: Git, revision: str, paths: list[Word], *options: str) -> list[dict[str, Any]]:
    """The commits of a revision or range that touch the paths, or all of them, the newest first."""
    form = "--format=tformat:" + "%x00".join(_FIELDS.values())
    words = ("log", "-z", form, "--no-patch", "--no-color", "--encoding=UTF-8", *options)
    printed = git.run(*words, "--end-of-options", revision, "--", *paths).decode("utf-8", "replace")
    values = printed.split("\0")
    step = len(_FIELDS)
    return [_commit(values[at : at + step]) for at in range(0, len(values) - 1, step)]


def _commit(values: list[str]) -> dict[str, Any]:
    return {**dict(zip(_FIELDS, values, strict=True)), "body": values[-1].rstrip("\n")}


def head_of(git: Git) -> str | None:
    """The commit that HEAD is; None where the branch has none yet."""
    return commit_of(git, "HEAD")


def commit_of(git: Git, name: str) -> str | None:
    """The commit that a branch, tag or hash leads to."""
    return git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
