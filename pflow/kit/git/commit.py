"""Commits: reading them, and making one once, which a resumed run finds again in the reflog."""

from __future__ import annotations

import os
from contextlib import suppress

from pflow import Any
from pflow.errors import BAD_DATA, PflowError
from pflow.files.atomic import replace
from pflow.kit.git.changes import find_status, shown
from pflow.kit.git.program import Git, Word
from pflow.terminal.messages import write_stderr
from pflow.text.naming import joined
from pflow.values.digest import digest_of
from pflow.values.jsontext import text_or_bytes

_FIELDS = {"hash": "%H", "author": "%an <%ae>", "date": "%aI", "subject": "%s", "body": "%b"}

_SETTINGS = ("-c", "i18n.commitEncoding=UTF-8")
_AS_IT_IS = ("--file=-", "--cleanup=whitespace", "--no-verbose", "--allow-empty")
"""Flags that take message and index as they are: to git, a submodule that the settings ignore would be no change."""


def find_commits(git: Git, revision: str, paths: list[Word], *options: str) -> list[dict[str, Any]]:
    """List the commits of a revision or range, or those that touch the paths, the newest first."""
    form = "--format=tformat:" + "".join(f"{field}%x00" for field in _FIELDS.values())
    words = ("rev-list", form, "--encoding=UTF-8", *options)  # git log follows the user's settings
    printed = git.run(*words, "--end-of-options", revision, *git.select(paths)).decode("utf-8", "replace")
    values = printed.split("\0")
    step = len(_FIELDS)
    commits = [dict(zip(_FIELDS, values[at : at + step], strict=True)) for at in range(0, len(values) - 1, step)]
    return [{**each, "hash": each["hash"].split("\n")[-1], "body": each["body"].rstrip("\n")} for each in commits]


def head_of(git: Git) -> str | None:
    """Return the commit of HEAD; None if the branch has no commit yet."""
    return commit_of(git, "HEAD")


def commit_of(git: Git, name: str) -> str | None:
    """Return the commit of a branch, tag or hash; None if there is no such name."""
    return git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")


def mark_of(step_key: str, message: bytes, paths: list[Word] | None) -> str:
    """Return the mark of this visit's commit in the reflog; empty outside a run."""
    return f"pflow-{digest_of([step_key, message, paths])[:32]}" if step_key else ""


def find_marked(git: Git, mark: str) -> str | None:
    """Find the commit of an earlier try, if HEAD contains it.

    Its parent must be the one in the reflog's words: hooks inherit those words, and may move HEAD too.
    """
    if not mark or not head_of(git):
        return None
    form = "--format=%H%x09%P%x09%gs"
    walk = ("log", "--walk-reflogs", "--no-show-signature", form, "--fixed-strings", f"--grep-reflog={mark}")
    for line in git.run(*walk, "HEAD", "--").decode("utf-8", "replace").split("\n")[:-1]:
        commit, parents, said = line.split("\t", 2)
        is_made = said.startswith(_action(mark, parents.split(" ")[0]))
        if is_made and git.ask("merge-base", "--is-ancestor", commit, "HEAD") is not None:
            return commit
    return None


def _action(mark: str, parent: str | None) -> str:
    return f"{mark} after {parent or 'nothing'} commit"


def commit(git: Git, message: bytes, paths: list[Word] | None, mark: str, *, takes_all: bool) -> bool:
    """Commit these paths, else all changes, else what is staged, else the tracked changes, as `git commit -a` does.

    Return False if there was nothing. Without a commit, what is staged stays as it was.
    """
    _refuse_conflicts(git)
    head, index = head_of(git), _read_index(git)
    only = [] if paths is None else git.select(paths)
    try:
        if only or takes_all:
            git.run("add", "--all", *only)
        elif not _has_staged(git, head, []):
            git.run("add", "--update")
            _tell_untracked(git)
        if not _has_staged(git, head, only):
            return False
        # HEAD needs a reflog, whatever the settings say: a resumed run finds the commit by it.
        logged = ["-c", "core.logAllRefUpdates=true"] if mark else []
        reflog = {"GIT_REFLOG_ACTION": _action(mark, head)} if mark else {}
        git.run(*_SETTINGS, *logged, "commit", "--quiet", *_AS_IT_IS, *only, input=message, env=reflog)
    finally:
        if head_of(git) == head:
            _restore(*index)
    return True


def _read_index(git: Git) -> tuple[str, bytes, os.stat_result]:
    path = os.path.join(git.repo, os.fsdecode(git.run("rev-parse", "--git-path", "index").removesuffix(b"\n")))
    if not os.path.exists(path):
        git.run("read-tree", "--empty")
    with open(path, "rb") as file:
        return path, file.read(), os.fstat(file.fileno())


def _restore(path: str, index: bytes, status: os.stat_result) -> None:
    """Write the index as it was, unless another git has locked it; `git read-tree` would drop what `add -N` noted."""
    with suppress(OSError), open(f"{path}.lock", "xb") as lock:
        try:
            replace(path, index)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # git compares files that are newer
        finally:
            os.unlink(lock.name)


def _tell_untracked(git: Git) -> None:
    """Say on stderr which untracked files stay."""
    names = [shown(file["path"]) for file in find_status(git)["files"] if file["untracked"]]
    if names:
        write_stderr(f"git-commit: not committed: {joined(names)}: untracked; --all or --paths commits them\n")


def _refuse_conflicts(git: Git) -> None:
    unmerged = git.run("ls-files", "--unmerged", "--full-name", "-z", "--", ":/").split(b"\0")[0]
    if unmerged:
        path = shown(text_or_bytes(unmerged.partition(b"\t")[2]))
        raise PflowError(f"{git.act}: '{path}' has conflicts", hint="resolve and stage them", exit=BAD_DATA)


def _has_staged(git: Git, head: str | None, selected: list[Word]) -> bool:
    """Return True if there is something to commit; a merge always is. `git diff` would follow the user's settings."""
    is_merge = git.ask("rev-parse", "--verify", "--quiet", "MERGE_HEAD") is not None
    tree = head or git.run("hash-object", "-t", "tree", "--stdin", input=b"").decode().strip()
    flags = ("--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "--ita-invisible-in-index")
    return is_merge or git.ask("diff-index", *flags, tree, *selected) is None
