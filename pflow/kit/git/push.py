"""Pushing one branch or tag: which, where to, and the remote's refusals."""

from __future__ import annotations

from pflow.errors import BAD_CONFIG, DENIED, FAILED, MISSING, PflowError
from pflow.kit.git.program import Git, fault

_PLACES = "%(push:remotename)%00%(push:remoteref)%00%(upstream:remotename)%00%(upstream:remoteref)"


def push(git: Git, remote: str | None, name: str | None, *, sets_upstream: bool, tags: bool) -> None:
    """Push a branch or tag (default: the current branch) to a remote (default: its upstream)."""
    ref = _ref(git, name)
    remote, target = _place(git, ref, remote, sets_upstream=sets_upstream)
    options = [*["--set-upstream"] * sets_upstream, *["--tags"] * tags]
    words = (*_ssh(git), "push", "--porcelain", "--no-progress", *options, remote, f"{ref}:{target}")
    code, printed, said = git.call(*words)
    if code:
        raise _refusal(git, remote, printed.decode("utf-8", "replace")) or fault(git.act, code, said)


def _ref(git: Git, name: str | None) -> str:
    """Return the full name of a branch or tag, so that it cannot be a refspec or an option."""
    if name is None:
        head = git.ask("symbolic-ref", "--quiet", "HEAD")
        if head is None:
            raise PflowError(f"{git.act}: HEAD is not on a branch", hint="--branch names one, or a tag", exit=MISSING)
        return head
    for ref in (f"refs/heads/{name}", f"refs/tags/{name}"):
        if git.ask("show-ref", "--verify", "--quiet", ref) is not None:
            return ref
    raise PflowError(f"{git.act}: there is no branch or tag '{name}'", exit=MISSING)


def _place(git: Git, ref: str, remote: str | None, *, sets_upstream: bool) -> tuple[str, str]:
    """Return the remote, and the name there: that of the upstream, or the branch's own."""
    places = (git.ask("for-each-ref", f"--format={_PLACES}", ref) or "\0\0\0").split("\0")
    known = {place: target for place, target in (places[2:4], places[0:2]) if place and target}
    remotes = (git.ask("remote") or "").split("\n")
    only = remotes[0] if len(remotes) == 1 else "origin"
    is_free = sets_upstream or ref.startswith("refs/tags/")
    remote = remote or places[0] or places[2] or (only if is_free else None)
    if not remote:
        hint = "--set-upstream pushes it to origin and remembers that; --remote names another remote"
        raise PflowError(f"{git.act}: the branch has no upstream", hint=hint, exit=BAD_CONFIG)
    if remote not in remotes or not remotes[0]:
        there = ", ".join(filter(None, remotes))
        hint = f"the remotes are {there}" if there else "git remote add NAME URL"
        raise PflowError(f"{git.act}: there is no remote '{remote}'", hint=hint, exit=MISSING)
    return remote, known.get(remote, ref)


def _ssh(git: Git) -> list[str]:
    """Return the settings for an ssh that never prompts, unless the user has set another."""
    is_set = git.env.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} or git.ask("config", "core.sshCommand") is not None
    return [] if is_set else ["-c", "core.sshCommand=ssh -oBatchMode=yes"]


def _refusal(git: Git, remote: str, printed: str) -> PflowError | None:
    """Return the remote's refusal in git's table of refs (git-push(1), OUTPUT)."""
    rows = [line.split("\t") for line in printed.split("\n") if line.startswith("!\t")]
    if not rows:
        return None
    name, said = rows[0][1].partition(":")[0], rows[0][2]
    for prefix in ("refs/heads/", "refs/tags/"):
        name = name.removeprefix(prefix)
    by_remote = said.startswith("[remote ")
    hint = "" if by_remote else "fetch, then merge or rebase; it never forces a push"
    what = f"{git.act}: '{remote}' refused '{name}': {said}"
    return PflowError(what, hint=hint, exit=DENIED if by_remote else FAILED, is_permanent=True)
