"""Which repository: the one that is named, else that of the working directory's remote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.github.client import api_url, is_local, web_host

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
    url = ask_git("remote", "get-url", "origin")
    if not url:
        raise PflowError(f"{act}: there is no remote 'origin' here", hint=_HINT, exit=MISSING)
    found = re.fullmatch(_REMOTE, url.strip().rstrip("/").removesuffix(".git"), re.ASCII)
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
    branch = ask_git("symbolic-ref", "--short", "HEAD")
    if not branch:
        raise PflowError("cannot tell the branch: there is none here", hint="--head=BRANCH", exit=MISSING)
    return branch


def ask_git(*words: str) -> str:
    """A line that git prints; empty where it fails, or is not there."""
    from pflow.process.children import run

    said = bytearray()
    try:
        code = run(["git", *words], on_stdout=said.extend, on_stderr=lambda part: None)
    except FileNotFoundError:
        return ""
    return "" if code else said.decode(errors="replace").strip()
