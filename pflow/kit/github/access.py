"""Access to GitHub's REST API: its URL, the key, and the repository, which is named or that of the remote here."""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, PflowError, result_of
from pflow.kit.git.program import Git
from pflow.web.hosts import is_here

NO_KEY = "put one into GITHUB_TOKEN (https://github.com/settings/tokens), or: gh auth login"

_PUBLIC = "https://api.github.com"


def api_url() -> str:
    """Return GITHUB_API_URL, else github.com's API. Raises PflowError (78) for a URL to which no key may be sent."""
    url = (os.environ.get("GITHUB_API_URL") or _PUBLIC).rstrip("/")
    host = _host_of(url)
    if not host or not url.startswith(("https://", "http://") if is_here(host) else "https://"):
        hint = "https://HOST/api/v3, or unset it for github.com"
        raise PflowError("cannot ask GitHub: GITHUB_API_URL is not an https URL", hint=hint, exit=BAD_CONFIG)
    return url


def _host_of(url: str) -> str:
    return result_of(lambda: urlsplit(url).hostname or "", of=ValueError, otherwise="")


def web_host() -> str:
    """Return the host of the web pages: github.com for api.github.com."""
    return _host_of(api_url()).removeprefix("api.")


def find_key() -> str:
    """Return GITHUB_TOKEN, else GH_TOKEN, else gh's key for this host; empty without a key."""
    key = (os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or "").strip() or _key_of_gh()
    if not (key.isascii() and key.isprintable()):
        what = "cannot ask GitHub: the key has characters that are not printable ASCII"
        raise PflowError(what, hint=NO_KEY, exit=BAD_CONFIG)
    return key


def _key_of_gh() -> str:
    return "" if is_here(web_host()) else _printed_by("gh", "auth", "token", "--hostname", web_host())


def _printed_by(*argv: str) -> str:
    """Return what a program prints; "" if it fails, or is not installed."""
    from pflow.process.children import output_of

    code, printed, _ = result_of(output_of, argv, otherwise=(1, "", ""))
    return "" if code else printed.strip()


_NAME = r"(?P<owner>[\w-]+)/(?P<name>(?!\.{1,2}(?:$|[#/]))[\w.-]+?)"
_REMOTE = rf"(?:https?://|git://|(?P<ssh>(?:git\+)?ssh://|(?=[^/]+:)))(?P<user>[^/]*@)?(?P<host>[^/:@]+)(?::\d+/|[:/])/?{_NAME}"
_PLACE = rf"(?:(?:https?://)?(?P<host>[^/@]*[.:][^/@]*)/)?{_NAME}"
_ISSUE = rf"(?:{_PLACE}(?:#|/(?:issues|pull)/))?#?(?P<number>\d+)(?P<more>[/?#].*)?"
_HINT = "--repo=OWNER/NAME"


def resolve(repo: str | None) -> str:
    """Return the repository as OWNER/NAME: the named one, else GH_REPO, else that of the remote 'origin'.

    GitHub's host may stand before the name, as in a URL. Raises PflowError: 65 for another name or host, 66 without a
    remote on GitHub.
    """
    repo = repo if repo is not None else os.environ.get("GH_REPO") or None
    if repo is None:
        return _of_remote()
    found = re.fullmatch(_PLACE, repo.strip().rstrip("/").removesuffix(".git"), re.ASCII)
    if not found:
        raise PflowError(f"cannot ask GitHub about '{repo}': it is not OWNER/NAME", hint=_HINT, exit=BAD_DATA)
    return _checked(found, f"cannot ask GitHub about '{repo}': it", BAD_DATA)


def find_issue(reads: Mapping[str, Any], key: str) -> tuple[str, int]:
    """Return the repository and the number of an issue or pull request.

    It may be written 12, #12, OWNER/NAME#12 or as a URL. Raises PflowError.
    """
    text, repo = str(reads[key]).strip(), reads.get("repo")
    act, found = f"cannot ask GitHub about '{text}'", re.fullmatch(_ISSUE, text, re.ASCII)
    if not found or (found["more"] and not found["host"]):
        raise PflowError(f"{act}: it is not a number or a URL", hint="12, '#12', OWNER/NAME#12 or a URL", exit=BAD_DATA)
    named = _checked(found, f"{act}: it", BAD_DATA) if found["name"] else resolve(repo)
    if repo is not None and resolve(repo).lower() != named.lower():
        raise PflowError(f"{act}: the repository is '{repo}'", hint="leave out --repo", exit=BAD_DATA)
    return named, int(found["number"])


def _checked(found: re.Match[str], act: str, exit: int, host: str = "") -> str:
    """Return OWNER/NAME of a match; `host` is the host in ssh's settings, if they name one.

    Raises PflowError, which begins with `act`, if the repository is on another host than the API's.
    """
    host, own = host or found["host"] or web_host(), web_host()
    host = host.lower().rstrip(".").removeprefix("ssh.").removeprefix("www.")
    if host != own and not is_here(own):
        is_domain = "." in host and host.rpartition(".")[2].isalpha()  # else it is an alias in ssh's settings
        server = f"; for GitHub Enterprise Server, GITHUB_API_URL=https://{host}/api/v3"
        hint = _HINT + (server if own == "github.com" and is_domain else "")
        raise PflowError(f"{act} is at {host}, but the API is {api_url()}", hint=hint, exit=exit)
    return f"{found['owner']}/{found['name']}"


def _of_remote() -> str:
    act = "cannot tell the repository"
    code, url, _ = Git(".", "find its remote", reads=True).call("remote", "get-url", "origin")
    if code:
        raise PflowError(f"{act}: there is no remote 'origin' here", hint=_HINT, exit=MISSING)
    found = re.fullmatch(_REMOTE, url.decode(errors="replace").strip().rstrip("/").removesuffix(".git"), re.ASCII)
    if not found:
        raise PflowError(f"{act}: the remote 'origin' here is not on GitHub", hint=_HINT, exit=MISSING)
    host = _host_in_ssh(found["user"] or "", found["host"]) if found["ssh"] is not None else ""
    return _checked(found, f"{act}: the remote 'origin'", MISSING, host)


def _host_in_ssh(user: str, host: str) -> str:
    """Return the host that ssh's settings name for an alias; "" for any other host."""
    ssh = _ssh() if host.lower() != web_host() else []
    # ssh reads the settings in the account's directory; that need not be HOME, where gh and people look.
    for home in ([], ["-F", os.path.expanduser("~/.ssh/config")]) if ssh else ():
        found = re.search(r"(?m)^hostname (.+)", _printed_by(*ssh, "-G", *home, "--", user + host))
        if found and found[1].lower() != host.lower():
            return found[1]
    return ""


def _ssh() -> list[str]:
    """Return the words of the ssh that git uses. The repository's own settings do not count: they may name anything."""
    command = os.environ.get("GIT_SSH_COMMAND")
    if not command:
        setting = Git(".", "find its ssh", reads=True).ask("config", "--show-scope", "core.sshCommand") or ""
        scope, _, command = setting.partition("\t")
        command = "" if scope in ("local", "worktree") else command
    return ["sh", "-c", f'{command} "$@"', "ssh"] if command else [os.environ.get("GIT_SSH") or "ssh"]


def current_branch() -> str:
    """Return the branch of the working directory. Raises PflowError (66) without one."""
    code, branch, _ = Git(".", "tell the branch", reads=True).call("symbolic-ref", "HEAD")
    if code:
        raise PflowError("cannot tell the branch: there is no branch here", hint="--head=BRANCH", exit=MISSING)
    return branch.decode(errors="replace").strip().removeprefix("refs/heads/")
