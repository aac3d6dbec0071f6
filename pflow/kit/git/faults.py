"""Why git failed, in our words: exit code and hint by what it says."""

from __future__ import annotations

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, DENIED, FAILED, MISSING, TRY_AGAIN, UNAVAILABLE, PflowError

_NO_REPOSITORY = "--repo names a directory in one; git init makes one"
_IDENTITY = "git config --global user.name 'Your Name'; git config --global user.email you@example.com"
_LOCKED = "wait for the other git; where none runs, remove that file"
_LOGIN = "git has to get in without asking: a credential helper, an ssh key in the agent, or a token"

_FAULTS = (
    ("not a git repository", MISSING, _NO_REPOSITORY),
    ("cannot change to '", MISSING, _NO_REPOSITORY),
    ("detected dubious ownership", DENIED, "git config --global --add safe.directory DIRECTORY trusts it"),
    ("must be run in a work tree", BAD_DATA, "it is a bare repository, which has no files"),
    (".lock': File exists", TRY_AGAIN, _LOCKED),
    ("Please tell me who you are", BAD_CONFIG, _IDENTITY),
    ("empty ident name", BAD_CONFIG, _IDENTITY),
    ("No space left on device", CANNOT_WRITE, ""),
    ("Out of diskspace", CANNOT_WRITE, ""),
    ("Disk quota exceeded", CANNOT_WRITE, ""),
    ("Unable to read current working directory", MISSING, ""),
    ("bad revision '", MISSING, "HEAD, a branch, a tag or a hash is one, and so is a range: v1.0..HEAD"),
    ("is outside repository at '", BAD_DATA, "--repo names a directory in another"),
    ("did not match any file", MISSING, "a path is taken from --repo on, as it is written"),
    ("invalid reference: ", MISSING, "--create makes the branch"),
    ("would be overwritten by checkout", FAILED, "commit or stash them first"),
    ("is not a valid ", BAD_DATA, "git check-ref-format tells what a name may be"),
    ("terminal prompts disabled", DENIED, _LOGIN),
    ("Authentication failed", DENIED, _LOGIN),
    ("Permission denied (", DENIED, _LOGIN),
    ("returned error: 403", DENIED, _LOGIN),
    ("Host key verification failed", DENIED, "ssh to that host once, by hand"),
    ("returned error: 5", TRY_AGAIN, ""),
    ("returned error: 429", TRY_AGAIN, ""),
    ("does not appear to be a git repository", MISSING, "git remote -v shows where it should be"),
    ("cannot use bare repository '", DENIED, ""),
    ("repository '", MISSING, "git remote -v shows where it should be"),
    ("Permission denied", DENIED, ""),
    ("unable to access '", UNAVAILABLE, ""),
    ("Could not read from remote repository", UNAVAILABLE, ""),
    ("unexpected disconnect", UNAVAILABLE, ""),
)
"""What git says, the first that it says here counts: exit code and hint."""

_TRANSIENT = (TRY_AGAIN, UNAVAILABLE)
_ADVICE = ("hint:", "usage:", "Please ", "Aborting", "To add an exception", "Another git process", "***", "remote:")
_NOTHING = "error: failed to push some refs"  # which tells nothing of why
_LONGEST = 300


def fault(act: str, code: int, said: str) -> PflowError:
    """What `act` failed of, with git's exit code and what it said on stderr."""
    known = next(((exit, hint) for words, exit, hint in _FAULTS if words in said), None)
    exit, hint = known or (FAILED if code >= 0 else 128 - code, "")
    reason = _reason(said) or (f"git was ended by signal {-code}" if code < 0 else f"git ended with {code}")
    return PflowError(f"{act}: {reason}", hint=hint, exit=exit, is_permanent=exit not in _TRANSIENT if known else None)


def _reason(said: str) -> str:
    """What it gives as its reason, on one line: from its first error on, else all, as far as that is no advice."""
    lines = [line.strip() for line in without_logins(said).splitlines() if line.strip() and _NOTHING not in line]
    first = next((n for n, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))), 0)
    told = lines[first:] if first or (lines and lines[0][:5] in ("fatal", "error")) else lines[-3:]
    end = next((n for n, line in enumerate(told) if n and line.startswith(_ADVICE)), len(told))
    words = " / ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in told[:end])
    return words[:_LONGEST].removesuffix(".")


def without_logins(said: str) -> str:
    """What was said, without what stands between // and @ in a URL."""
    found, *rest = said.split("://")
    for part in rest:
        host, at, more = part.partition("@")
        has_login = at and not set(host) & set("/ '\"\n")
        found += "://" + (more if has_login else part)
    return found
