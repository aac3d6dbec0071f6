"""Which repository: the one that is named, else that of the working directory's remote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.kit.git.program import Git
from pflow.kit.github.access import api_url, is_local, web_host

_NAME = r"(?P<owner>[\w-]+)/(?P<name>(?!\.{1,2}$)[\w.-]+)"
_REMOTE = rf"(?:https?://|git://|ssh://|(?=[^/]+:))(?:[^/@]*@)?(?P<host>[^/:]+)(?::\d+/|[:/])/?{_NAME}"
_HINT = "--repo=OWNER/NAME"


def resolve(repo: str | None) -> str:
    """OWNER/NAME as a path of the interface, held to what may stand in one. Raises PflowError, 65 or 66."""
    if repo is None:
        return _of_remote()
    found = re.fullmatch(_NAME, repo.strip(), re.ASCII)
    if not found:
        raise PflowError(f"cannot ask GitHub of '{repo}': it is no OWNER/NAME", hint=_HINT, exit=BAD_DATA)
    return f"{found['owner']}/{found['name']}"


def cache_parts(reads: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer depends on beside what was asked: where GitHub is, and which repository."""
    return {"api": api_url(), "repo": resolve(reads.get("repo"))}


def _of_remote() -> str:
    act = "cannot tell the repository"
    code, url, _ = Git(".", "find its remote", reads=True).call("remote", "get-url", "origin")
    if code:
        raise PflowError(f"{act}: there is no remote 'origin' here", hint=_HINT, exit=MISSING)
    found = re.fullmatch(_REMOTE, url.decode(errors="replace").strip().rstrip("/").removesuffix(".git"), re.ASCII)
    if not found:
        raise PflowError(f"{act}: the remote 'origin' here is none of GitHub", hint=_HINT, exit=MISSING)
    host, own = found["host"].lower().removeprefix("ssh."), web_host()
    if host != own and not is_local(own):
        hint = f"{_HINT}, or GITHUB_API_URL=https://{host}/api/v3" if own == "github.com" else _HINT
        raise PflowError(
            f"{act}: the remote 'origin' is at {host}, and {api_url()} at another", hint=hint, exit=MISSING
        )
    return f"{found['owner']}/{found['name']}"


def current_branch() -> str:
    """The branch of the working directory. Raises PflowError (66) where there is none."""
    code, branch, _ = Git(".", "tell the branch", reads=True).call("symbolic-ref", "--short", "HEAD")
    if code:
        raise PflowError("cannot tell the branch: there is none here", hint="--head=BRANCH", exit=MISSING)
    return branch.decode(errors="replace").strip()
