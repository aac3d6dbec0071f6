"""Where GitHub's REST API is, the key for it, and the repository: a named one, else that of the remote here."""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError
from pflow.kit.git.program import Git
from pflow.kit.web.hosts import is_here

NO_KEY = "put one into GITHUB_TOKEN (https://github.com/settings/tokens), or: gh auth login"

_OF_ENTERPRISES = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")


def api_url() -> str:
    """Return GITHUB_API_URL, else that of GH_HOST, else GitHub's. Raises PflowError (78) if it is unsafe for a key."""
    host = os.environ.get("GH_HOST", "").strip().lower() or "github.com"
    own = f"https://api.{host}" if _is_public(host) else f"https://{host}/api/v3"
    url = (os.environ.get("GITHUB_API_URL") or own * (not set(host) & set("/@?#"))).rstrip("/")
    host = _host_of(url)
    if not host or not url.startswith(("https://", "http://") if is_here(host) else "https://"):
        named = "GITHUB_API_URL is not an https URL" if os.environ.get("GITHUB_API_URL") else "GH_HOST is not a host"
        hint = "GITHUB_API_URL=https://HOST/api/v3, or unset it for github.com"
        raise PflowError(f"cannot ask GitHub: {named}", hint=hint, exit=BAD_CONFIG)
    return url


def _is_public(host: str) -> bool:
    return host == "github.com" or host.endswith(".ghe.com")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def web_host() -> str:
    """Return the host of the repositories: github.com for api.github.com."""
    return _host_of(api_url()).removeprefix("api.")


def find_key() -> str:
    """Return GITHUB_TOKEN, else GH_TOKEN, else gh's key for this host; empty without a key.

    On a server of an enterprise gh's variables for one come first.
    """
    names = (*(() if _is_public(web_host()) else _OF_ENTERPRISES), "GITHUB_TOKEN", "GH_TOKEN")
    key = next(filter(None, (os.environ.get(name, "").strip() for name in names)), "") or _key_of_gh()
    if not (key.isascii() and key.isprintable()):
        what = "cannot ask GitHub: the key has characters that are not printable ASCII"
        raise PflowError(what, hint=NO_KEY, exit=BAD_CONFIG)
    return key


def _key_of_gh() -> str:
    from shutil import which

    from pflow.process.children import run

    gh = None if is_here(web_host()) else which("gh")
    if not gh:
        return ""
    said = bytearray()
    code = run([gh, "auth", "token", "--hostname", web_host()], on_stdout=said.extend, on_stderr=lambda part: None)
    return "" if code else said.decode(errors="replace").strip()


_NAME = r"(?P<owner>[\w-]+)/(?P<name>(?!\.{1,2}(?:$|[#/]))[\w.-]+?)"
_REMOTE = rf"(?:https?://|git://|(?P<ssh>(?:git\+)?ssh://|(?=[^/]+:)))(?P<user>[^/]*@)?(?P<host>[^/:@]+)(?::\d+/|[:/])/?{_NAME}"
_PLACE = rf"(?:(?:https?://)?(?P<host>[^/@]*[.:][^/@]*)/)?{_NAME}"
_ISSUE = rf"(?:{_PLACE}(?:#|/(?:issues|pull)/))?#?(?P<number>\d+)(?P<more>[/?#].*)?"
_HINT = "--repo=OWNER/NAME"
_CHOSEN = "gh-resolved"
"""The setting of a remote by which `gh repo set-default` keeps its choice: base, or OWNER/NAME."""
_PATIENCE = 5.0


def resolve(repo: str | None) -> str:
    """Return the repository as OWNER/NAME: a named one, else GH_REPO, else that of a remote.

    The remote is the one that `gh repo set-default` chose, else the only one, else origin. A name may have GitHub's
    host before it, as a URL does. Raises PflowError, 65 or 66.
    """
    repo = repo if repo is not None else os.environ.get("GH_REPO") or None
    if repo is None:
        return _of_remote()
    found = re.fullmatch(_PLACE, repo.strip().rstrip("/").removesuffix(".git"), re.ASCII)
    if not found:
        raise PflowError(f"cannot ask GitHub about '{repo}': it is not OWNER/NAME", hint=_HINT, exit=BAD_DATA)
    return _checked(found, f"cannot ask GitHub about '{repo}': it", BAD_DATA)


def find_issue(reads: Mapping[str, Any], key: str) -> tuple[str, int]:
    """Return the repository and number of an issue or pull request, from 12, #12, OWNER/NAME#12 or a URL, or raise."""
    text, repo = str(reads[key]).strip(), reads.get("repo")
    act, found = f"cannot ask GitHub about '{text}'", re.fullmatch(_ISSUE, text, re.ASCII)
    if not found or (found["more"] and not found["host"]):
        raise PflowError(f"{act}: it is not a number or a URL", hint="12, '#12', OWNER/NAME#12 or a URL", exit=BAD_DATA)
    named = _checked(found, f"{act}: it", BAD_DATA) if found["name"] else resolve(repo)
    if repo is not None and resolve(repo).lower() != named.lower():
        raise PflowError(f"{act}: the repository is '{repo}'", hint="leave out --repo", exit=BAD_DATA)
    return named, int(found["number"])


def _checked(found: re.Match[str], act: str, exit: int, ssh_host: str = "") -> str:
    """Return OWNER/NAME. Raises PflowError if it is on another host than the API; `act` begins its message."""
    named, own = (ssh_host or found["host"] or web_host()).lower().rstrip("."), web_host()
    host = named.removeprefix("ssh.").removeprefix("www.")
    if host != own and not is_here(own):
        is_domain = "." in host and host.rpartition(".")[2].isalpha()  # an alias of ssh's may be any word
        hint = f"{_HINT}, or GITHUB_API_URL=https://{host}/api/v3" if own == "github.com" and is_domain else _HINT
        raise PflowError(f"{act} is at {host}, but the API is {api_url()}", hint=hint, exit=exit)
    return f"{found['owner']}/{found['name']}"


def _of_remote() -> str:
    act = "cannot tell the repository"
    git = Git(".", "find its remote", reads=True)
    names = git.call("remote")[1].decode(errors="replace").split()
    chosen = git.call("config", "--get-regexp", rf"^remote\..*\.{_CHOSEN}$")[1].decode(errors="replace").split()
    if chosen[1:2] not in ([], ["base"]):  # a repository without a remote
        return resolve(chosen[1])
    names = [each[len("remote.") : -len(f".{_CHOSEN}")] for each in chosen[:1]] or names
    remote = names[0] if len(names) == 1 else "origin"
    code, url, _ = git.call("remote", "get-url", remote)
    if code:
        raise PflowError(f"{act}: there is no remote 'origin' here", hint=_HINT, exit=MISSING)
    found = re.fullmatch(_REMOTE, url.decode(errors="replace").strip().rstrip("/").removesuffix(".git"), re.ASCII)
    if not found:
        raise PflowError(f"{act}: the remote '{remote}' here is not on GitHub", hint=_HINT, exit=MISSING)
    is_alias = found["ssh"] is not None and found["host"].lower() != web_host()
    host = _name_in_ssh((found["user"] or "") + found["host"]) if is_alias else ""
    return _checked(found, f"{act}: the remote '{remote}'", MISSING, host)


def _name_in_ssh(place: str) -> str:
    """Return the host that [USER@]HOST is for ssh, whose settings may have aliases; empty if ssh does not say."""
    from pflow.process.children import run
    from pflow.process.signals import Deadline

    said = bytearray()
    try:
        with Deadline(_PATIENCE, act="cannot ask ssh"):  # its settings may start programs
            run(["ssh", "-G", "--", place], on_stdout=said.extend, on_stderr=lambda part: None)
    except (OSError, PflowError):
        return ""
    settings = dict(line.split(" ", 1) for line in said.decode(errors="replace").splitlines() if " " in line)
    return settings.get("hostname", "")


def current_branch() -> str:
    """Return the branch of the working directory. Raises PflowError (66) without one."""
    code, branch, _ = Git(".", "tell the branch", reads=True).call("symbolic-ref", "HEAD")
    if code:
        raise PflowError("cannot tell the branch: there is no branch here", hint="--head=BRANCH", exit=MISSING)
    return branch.decode(errors="replace").strip().removeprefix("refs/heads/")
