"""The history of a git repository: listing commits, making one commit only once, and pushing a branch or tag."""

from __future__ import annotations

import os
from contextlib import suppress

from pflow import TYPE_CHECKING, Any
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, FAILED, MISSING, USAGE, PflowError
from pflow.files.atomic import replace
from pflow.kit.git.changes import find_status, shown
from pflow.kit.git.program import Git, Word, fault, without_logins
from pflow.terminal.messages import write_stderr
from pflow.text.naming import joined
from pflow.values.digest import digest_of
from pflow.values.jsontext import text_or_bytes

if TYPE_CHECKING:
    from datetime import datetime

_FIELDS = {"hash": "%H", "author": "%an <%ae>", "date": "%aI", "subject": "%s", "body": "%b"}

_SETTINGS = ("-c", "i18n.commitEncoding=UTF-8")
_AS_IT_IS = ("--file=-", "--cleanup=whitespace", "--no-verbose", "--allow-empty")
"""Flags that take message and index unchanged. --allow-empty: git overlooks changes in a submodule set to `ignore`."""


def find_commits(git: Git, revision: str, paths: list[Word], *options: str) -> list[dict[str, Any]]:
    """List the commits of a revision or range, the newest first; with paths, only those that touch them."""
    form = "--format=tformat:" + "".join(f"{field}%x00" for field in _FIELDS.values())
    words = ("rev-list", form, "--encoding=UTF-8", *options)  # not git log, which obeys the user's settings
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
    """Return the commit that an earlier try of this visit made, if HEAD contains it.

    The reflog's entry must name the commit's own parent: hooks inherit the words of the entry, and may move HEAD.
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
    """Make a commit of these paths, or of all changes; without either, of what is staged, else of all tracked files.

    Return False if there is nothing to commit. Without a commit, the index is restored.
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
    """Restore the index, unless another git has locked it. `git read-tree` would lose what `git add -N` noted."""
    with suppress(OSError), open(f"{path}.lock", "xb") as lock:
        try:
            replace(path, index)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # git rereads files newer than the index
        finally:
            os.unlink(lock.name)


def _tell_untracked(git: Git) -> None:
    """Say on stderr which untracked files are not committed."""
    names = [shown(file["path"]) for file in find_status(git)["files"] if file["untracked"]]
    if names:
        write_stderr(f"git-commit: not committed: {joined(names)}: untracked; --all or --paths commits them\n")


def _refuse_conflicts(git: Git) -> None:
    unmerged = git.run("ls-files", "--unmerged", "--full-name", "-z", "--", ":/").split(b"\0")[0]
    if unmerged:
        path = shown(text_or_bytes(unmerged.partition(b"\t")[2]))
        raise PflowError(f"{git.act}: '{path}' has conflicts", hint="resolve and stage them", exit=BAD_DATA)


def _has_staged(git: Git, head: str | None, selected: list[Word]) -> bool:
    """Return True if there is something to commit; a merge always has. `git diff` would obey the user's settings."""
    is_merge = git.ask("rev-parse", "--verify", "--quiet", "MERGE_HEAD") is not None
    tree = head or git.run("hash-object", "-t", "tree", "--stdin", input=b"").decode().strip()
    flags = ("--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "--ita-invisible-in-index")
    return is_merge or git.ask("diff-index", *flags, tree, *selected) is None


_UNITS = {f"{unit}{s}" for unit in ("second", "minute", "hour", "day", "week", "month", "year") for s in ("", "s")}
_TIMES = {"noon", "midnight", "tea", "now", "never", "am", "pm"}
_COUNTS = {"last", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}


def parse_since(text: str) -> datetime:
    """Return the time in UTC that a text names: a day from its local midnight, a time, or words that git knows.

    A time without a zone is local. Raises PflowError (2).
    """
    import re
    import warnings
    from datetime import UTC, datetime

    from dateutil.parser import parse

    now, begins_with_day = datetime.now(), re.match(r"\d\d?\.", text) is not None
    if re.search(r"(?<!@)\b\d{4}(?!\d{5})", text):  # a year, not seconds since 1970
        with suppress(ValueError, OverflowError, RuntimeWarning), warnings.catch_warnings(action="error"):
            clock = text.upper().replace("NOON", "12:00").replace("MIDNIGHT", "00:00")
            time: datetime = parse(clock, default=datetime(now.year, 1, 1), dayfirst=begins_with_day)
            return time.astimezone(UTC)
    seconds = _ask_git(re.sub(r"\ban?\b", "one", text.lower()))
    if seconds is None:
        what = f"cannot use --since='{text}': it is not a day or a time"
        raise PflowError(what, hint="2026-11-01, 2026-11-01T08:00:00Z, yesterday or '2 weeks ago'", exit=USAGE)
    return datetime.fromtimestamp(min(seconds, int(now.timestamp())), UTC)


def _ask_git(said: str) -> int | None:
    """Return the seconds since 1970 that git reads in words; None for unknown words, which git reads as now."""
    import re
    from calendar import day_abbr, day_name, month_abbr, month_name

    words, weekdays = set(re.findall(r"[^\W\d_]+", said)), {name.lower() for name in (*day_name, *day_abbr)}
    days = words & {*weekdays, *(name.lower() for name in (*month_name, *month_abbr)), "today", "yesterday"}
    named = days | words & (_UNITS | _TIMES)
    is_wrong_date = re.search(r"\d{4}" if days else r"\d{4}[-/]", said)  # such as 30 Feb 2001
    if words - named - _COUNTS - {"ago", "at"} or is_wrong_date or not (named or re.match(r"@\d|\d{9}|\d\d?:", said)):
        return None
    if words & weekdays and not words & _COUNTS:  # git reads the name of a day without a number as today
        said = f"last {said}"
    if days and not (words & _TIMES or ":" in said):  # git adds the present time of day
        said += " 00:00"
    git = Git("/", "read a time", reads=True)
    code, printed, _ = git.call("-c", f"pflow.since={said}", "config", "--type=expiry-date", "pflow.since")
    return None if code else int(printed)


def push(git: Git, remote: str | None, name: str | None, to: str | None, *, sets_upstream: bool, tags: bool) -> None:
    """Push one branch or tag (default: the current branch), as `to` or under its own name."""
    ref = _ref(git, name)
    if to is not None and (":" in to or to.startswith(("+", "-")) or to in ("HEAD", "@")):
        raise PflowError(f"{git.act}: '{to}' is not a name", hint="--to=main, or --to=refs/for/main", exit=BAD_DATA)
    target = ref if to is None else to if to.startswith("refs/") else "/".join([*ref.split("/")[:2], to])
    is_free, is_new = sets_upstream or to is not None, sets_upstream or ref.startswith("refs/tags/")
    remote = _remote(git, ref, remote, is_free=is_free, is_new=is_new)
    # The user's settings could push other tags, or submodules, with it.
    pinned = ("--porcelain", "--no-progress", "--no-follow-tags", "--recurse-submodules=no")
    flags = [*["--set-upstream"] * sets_upstream, *["--tags"] * tags]
    # A mirror would push all refs, and delete others. A URL, which may have a =, is never a mirror.
    settings = (*_ssh(git), *["-c", f"remote.{remote}.mirror=false"] * ("=" not in remote))
    code, printed, said = git.call(*settings, "push", *pinned, *flags, "--", remote, f"{ref}:{target}")
    table = printed.decode("utf-8", "replace")
    from_hook = f"\n{table}".partition("\nTo ")[0].removeprefix("\n")
    write_stderr(from_hook)
    if code:
        raise _refusal(git, remote, table) or fault(git.act, code, from_hook + said)


def _ref(git: Git, name: str | None) -> str:
    """Return the full name of a branch or tag. It must exist, so that it cannot be a refspec or an option."""
    if name is None:
        head = git.ask("symbolic-ref", "--quiet", "HEAD")
        if head is None:
            raise PflowError(f"{git.act}: HEAD is not on a branch", hint="--branch names one, or a tag", exit=MISSING)
        return head
    for ref in (f"refs/heads/{name}", f"refs/tags/{name}"):
        if git.ask("show-ref", "--verify", "--quiet", ref) is not None:
            return ref
    raise PflowError(f"{git.act}: there is no branch or tag '{name}'", exit=MISSING)


def _remote(git: Git, ref: str, named: str | None, *, is_free: bool, is_new: bool) -> str:
    """Return the named remote, else the branch's remote, else for a target that `is_new` the only one, or origin.

    Unless the target `is_free`, the branch's upstream on its remote must have the branch's own name.
    """
    # %(upstream:…) would be empty for what git never fetches: a URL, a pull request, another branch of one clone.
    branch = ref.removeprefix("refs/heads/")
    its, upstream = (git.ask("config", f"branch.{branch}.{each}") for each in ("remote", "merge"))
    remotes = (git.ask("remote") or "").split()
    configured = git.ask("for-each-ref", "--format=%(push:remotename)", ref)  # may be a URL, not in `remotes`
    usual = configured if configured != "." else ""  # a branch here is not a place to push to
    only = "origin" if len(remotes) > 1 else "".join(remotes)
    remote = named or usual or (only if is_new else "")
    if not remote:
        why, hint = "there is no remote", "git remote add origin URL"
        if only:
            why = "the branch has no upstream"
            hint = f"--set-upstream pushes it to {only} and remembers that; --remote names another remote"
        raise PflowError(f"{git.act}: {why}", hint=hint, exit=BAD_CONFIG)
    if remote != configured and remote not in remotes:
        hint = f"the remotes are {', '.join(remotes)}" if remotes else "git remote add NAME URL"
        raise PflowError(f"{git.act}: there is no remote '{without_logins(remote)}'", hint=hint, exit=MISSING)
    if not (named or is_free) and remote == its and upstream not in (None, ref):
        upstream = upstream.removeprefix("refs/heads/")
        hint = f"--set-upstream pushes it as '{branch}' and remembers that; --to={upstream} pushes it to '{upstream}'"
        raise PflowError(f"{git.act}: the upstream of '{branch}' is '{upstream}'", hint=hint, exit=BAD_CONFIG)
    return remote


def _ssh(git: Git) -> list[str]:
    """Return the settings for an ssh that never prompts, unless the user has chosen an ssh."""
    is_set = git.env.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} or git.ask("config", "core.sshCommand") is not None
    return [] if is_set else ["-c", "core.sshCommand=ssh -oBatchMode=yes"]


def _refusal(git: Git, remote: str, printed: str) -> PflowError | None:
    """Return the failure of a ref that was refused, from git's table of refs (git-push(1), OUTPUT)."""
    rows = [line.split("\t") for line in printed.split("\n") if line.startswith("!\t")]
    if not rows:
        return None
    name, said = rows[0][1].partition(":")[0], rows[0][2]
    for prefix in ("refs/heads/", "refs/tags/"):
        name = name.removeprefix(prefix)
    by_remote = said.startswith("[remote ")
    hint = "" if by_remote else "fetch, then merge or rebase; it never forces a push"
    what = f"{git.act}: '{without_logins(remote)}' refused '{name}': {said}"
    return PflowError(what, hint=hint, exit=DENIED if by_remote else FAILED, is_permanent=True)
