"""Where GitHub's REST interface is, and the key for it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError
from pflow.kit.git.program import Git

NO_KEY = "put one into GITHUB_TOKEN (https://github.com/settings/tokens), or: gh auth login"

_PUBLIC = "https://api.github.com"


def api_url() -> str:
    """GITHUB_API_URL, else GitHub's own. Raises PflowError (78) for one to which a key cannot be sent."""
    url = (os.environ.get("GITHUB_API_URL") or _PUBLIC).rstrip("/")
    host = _host_of(url)
    if not host or not url.startswith(("https://", "http://") if is_local(host) else "https://"):
        hint = "https://HOST/api/v3, or unset it for github.com"
        raise PflowError("cannot ask GitHub: GITHUB_API_URL is no https URL", hint=hint, exit=BAD_CONFIG)
    return url


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_local(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


def web_host() -> str:
    """The host of the repositories behind the interface: github.com for api.github.com."""
    return _host_of(api_url()).removeprefix("api.")


def find_key() -> str:
    """GITHUB_TOKEN, else GH_TOKEN, else what gh was given for this host; empty where there is none."""
    key = (os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip() or _key_of_gh()
    if not (key.isascii() and key.isprintable()):
        what = "cannot ask GitHub: its key holds what is no printable ASCII character"
        raise PflowError(what, hint=NO_KEY, exit=BAD_CONFIG)
    return key


def _key_of_gh() -> str:
    from shutil import which

    from pflow.process.children import run

    gh = None if is_local(web_host()) else which("gh")
    if not gh:
        return ""
    said = bytearray()
    code = run([gh, "auth", "token", "--hostname", web_host()], on_stdout=said.extend, on_stderr=lambda part: None)
    return "" if code else said.decode(errors="replace").strip()


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
