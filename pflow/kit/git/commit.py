"""Commits: reading them, and making one once, which a resumed run finds again in the reflog."""

from __future__ import annotations

from pflow import Any
from pflow.errors import BAD_DATA, PflowError
from pflow.kit.git.changes import find_status, shown
from pflow.kit.git.program import Git, Word
from pflow.terminal.messages import write_stderr
from pflow.values.digest import digest_of
from pflow.values.jsontext import text_or_bytes
from pflow.words.naming import joined

_FIELDS = {"hash": "%H", "author": "%an <%ae>", "date": "%aI", "subject": "%s", "body": "%b"}


def find_commits(git: Git, revision: str, paths: list[Word], *options: str) -> list[dict[str, Any]]:
    """List the commits of a revision or range, or those that touch the paths, the newest first."""
    form = "--format=tformat:" + "".join(f"{field}%x00" for field in _FIELDS.values())
    words = ("rev-list", form, "--encoding=UTF-8", *options)  # git log follows the user's settings
    printed = git.run(*words, "--end-of-options", revision, "--", *paths).decode("utf-8", "replace")
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
    words = ("log", "--walk-reflogs", "--fixed-strings", f"--grep-reflog={mark}", form, "HEAD", "--")
    for line in git.run(*words).decode("utf-8", "replace").split("\n")[:-1]:
        commit, parents, said = line.split("\t", 2)
        is_made = said.startswith(_action(mark, parents.split(" ")[0]))
        if is_made and git.ask("merge-base", "--is-ancestor", commit, "HEAD") is not None:
            return commit
    return None


def _action(mark: str, parent: str | None) -> str:
    return f"{mark} after {parent or 'nothing'} commit"


def commit(git: Git, message: bytes, paths: list[Word] | None, mark: str, *, takes_all: bool) -> bool:
    """Commit these paths, else all changes, else what is staged, else the tracked changes, as `git commit -a` does.

    Return False if there was nothing. If the commit fails, whatever it staged is unstaged again.
    """
    _refuse_conflicts(git)
    head, staged = head_of(git), git.run("write-tree").decode().strip()
    only = [] if paths is None else ["--", *paths]
    try:
        if only or takes_all:
            git.run("add", "--all", *only)
        elif not _has_staged(git, []):
            git.run("add", "--update")
            _tell_untracked(git)
        if not _has_staged(git, only):
            return False
        # HEAD needs a reflog, whatever the settings say: a resumed run finds the commit by it.
        reflog = {"GIT_REFLOG_ACTION": _action(mark, head)} if mark else {}
        settings = ["-c", "core.logAllRefUpdates=true"] if mark else []
        encoding = ["-c", "i18n.commitEncoding=UTF-8"]
        git.run(*settings, *encoding, "commit", "--quiet", "--file=-", *only, input=message, env=reflog)
    except BaseException:
        if head_of(git) == head:
            git.call("read-tree", "-m", staged, is_shown=False)
        raise
    return True


def _tell_untracked(git: Git) -> None:
    """Say on stderr which untracked files stay."""
    names = [shown(file["path"]) for file in find_status(git)["files"] if file["untracked"]]
    if names:
        write_stderr(f"git-commit: not committed: {joined(names)}: untracked; --all or --paths commits them\n")


def _refuse_conflicts(git: Git) -> None:
    unmerged = git.run("ls-files", "--unmerged", "-z").split(b"\0")[0]
    if unmerged:
        path = shown(text_or_bytes(unmerged.partition(b"\t")[2]))
        raise PflowError(f"{git.act}: '{path}' has conflicts", hint="resolve and stage them", exit=BAD_DATA)


def _has_staged(git: Git, only: list[Word]) -> bool:
    """Return True if there is something to commit; a merge always is."""
    is_merge = git.ask("rev-parse", "--verify", "--quiet", "MERGE_HEAD") is not None
    return is_merge or git.ask("diff", "--cached", "--quiet", *only) is None
