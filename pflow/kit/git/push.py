"""Pushing one branch or tag: which, where to, and the remote's refusals."""

from __future__ import annotations

from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, FAILED, MISSING, PflowError
from pflow.kit.git.program import Git, fault, without_logins
from pflow.terminal.messages import write_stderr


def push(git: Git, remote: str | None, name: str | None, to: str | None, *, sets_upstream: bool, tags: bool) -> None:
    """Push a branch or tag (default: the current branch), as `to` or under its own name, and nothing else."""
    ref = _ref(git, name)
    if to is not None and (":" in to or to.startswith(("+", "-")) or to in ("HEAD", "@")):
        raise PflowError(f"{git.act}: '{to}' is not a name", hint="--to=main, or --to=refs/for/main", exit=BAD_DATA)
    target = ref if to is None else to if to.startswith("refs/") else "/".join([*ref.split("/")[:2], to])
    is_free, is_new = sets_upstream or to is not None, sets_upstream or ref.startswith("refs/tags/")
    remote = _remote(git, ref, remote, is_free=is_free, is_new=is_new)
    pinned = ("--porcelain", "--no-progress", "--no-follow-tags", "--recurse-submodules=no")
    flags = [*["--set-upstream"] * sets_upstream, *["--tags"] * tags]
    settings = (*_ssh(git), *["-c", f"remote.{remote}.mirror=false"] * ("=" not in remote))  # a URL is never a mirror
    code, printed, said = git.call(*settings, "push", *pinned, *flags, "--", remote, f"{ref}:{target}")
    table = printed.decode("utf-8", "replace")
    from_hook = f"\n{table}".partition("\nTo ")[0].removeprefix("\n")
    write_stderr(from_hook)
    if code:
        raise _refusal(git, remote, table) or fault(git.act, code, from_hook + said)


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


def _remote(git: Git, ref: str, named: str | None, *, is_free: bool, is_new: bool) -> str:
    """Return the named remote, else the branch's. Unless it `is_free`, the upstream there must have its name."""
    # Not %(upstream:…), which is empty for what is never fetched: a URL, a pull request, another branch of one clone.
    branch = ref.removeprefix("refs/heads/")
    its, upstream = (git.ask("config", f"branch.{branch}.{each}") for each in ("remote", "merge"))
    remotes = (git.ask("remote") or "").split()
    configured = git.ask("for-each-ref", "--format=%(push:remotename)", ref)  # a name or a URL
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
    what = f"{git.act}: '{without_logins(remote)}' refused '{name}': {said}"
    return PflowError(what, hint=hint, exit=DENIED if by_remote else FAILED, is_permanent=True)
