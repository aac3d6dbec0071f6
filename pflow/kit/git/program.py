"""git in one repository: a program that never prompts and ends with pflow; its failures get exit codes and hints."""

from __future__ import annotations

import os

from pflow import Iterable, Mapping
from pflow.errors import (
    BAD_CONFIG,
    BAD_DATA,
    CANNOT_WRITE,
    DENIED,
    FAILED,
    MISSING,
    TRY_AGAIN,
    UNAVAILABLE,
    PflowError,
    encode_text,
    lone_surrogate,
    nonblank,
)
from pflow.files.beneath import ROOT, is_confined
from pflow.terminal.messages import write_stderr

Word = str | bytes

_ERRORS = (b"fatal: ", b"error: ")
_MORE_OF_ERRORS = (b"\t", b"Please ", b"Aborting")
"""The beginnings of further lines of an error."""

MOST = 1_000_000_000
"""The most bytes of git's output."""

_AS_SHIPPED = (
    *("core.abbrev=auto", "core.fsmonitor=false", "core.quotePath=false", "core.useReplaceRefs=true"),
    *("diff.algorithm=default", "diff.autoRefreshIndex=true", "diff.context=3", "diff.indentHeuristic=true"),
    *("diff.interHunkContext=0", "diff.mnemonicPrefix=false", "diff.noprefix=false", "diff.srcPrefix=a/"),
    *("diff.dstPrefix=b/", "diff.orderFile=/dev/null", "diff.relative=false", "diff.renames=true"),
    *("diff.renameLimit=1000", "diff.submodule=short", "diff.suppressBlankEmpty=false", "status.renames=true"),
    *("status.renameLimit=1000", "core.bigFileThreshold=512m", "core.hooksPath=/dev/null"),
)
"""git's defaults for the settings that change its output. Hooks are off, since even reading can start one."""

_READING = ("--no-optional-locks", *(word for setting in _AS_SHIPPED for word in ("-c", setting)))
"""Settings of a git that only reads: it takes no lock, and starts none of the programs that a repository's settings
name. Filters are the exception: without them git cannot tell if a file has changed.
"""

_WITHIN_BOUNDS = ("-c", "safe.bareRepository=explicit")
"""In a confined process, a repository must be in a .git, which no child can write, since its settings name programs."""

_REPOSITORY_VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
)
"""The variables with which git tells a hook its repository. They are dropped if a node names another repository."""

_OUTPUT_VARIABLES = ("GIT_ATTR_SOURCE", "GIT_CONFIG", "GIT_CURL_VERBOSE", "GIT_DIFF_OPTS", "GIT_GRAFT_FILE",
              "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE")  # fmt: skip
"""Variables that change what git prints, and that no flag overrides."""


class Git:
    """git in the repository at `repo`; messages of failures begin with `cannot ACT in 'REPO'`.

    With `reads` it changes nothing, asks no server, and its stderr is dropped. Otherwise its stderr, and that of its
    hooks, is shown at once.
    """

    def __init__(self, repo: Word, act: str, *, reads: bool = False) -> None:
        self.repo, self.reads = os.fsdecode(repo), reads
        self.settings = (*(_READING if reads else ()), *(_WITHIN_BOUNDS if is_confined() else ()))
        self.act = f"cannot {act} in '{self.repo}'"
        self.env = _environment(self.repo) | ({"GIT_NO_LAZY_FETCH": "1"} if reads else {})
        if not self.repo:
            raise PflowError(f"{self.act}: the path is empty", exit=MISSING)

    def run(self, *words: Word, input: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Run git and return its output. Raises PflowError if git fails."""
        code, printed, said = self.call(*words, input=input, env=env)
        if code:
            raise fault(self.act, code, said)
        return printed

    def ask(self, *words: Word) -> str | None:
        """Run git and return its output without the last newline; None for exit code 1, by which git says no."""
        code, printed, said = self.call(*words, is_shown=False)
        if code not in (0, 1):
            raise fault(self.act, code, said)
        return None if code else printed.decode("utf-8", "replace").removesuffix("\n")

    def call(
        self,
        *words: Word,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        is_shown: bool = True,
    ) -> tuple[int, bytes, str]:
        """Run git and return its exit code, its stdout, and its stderr as text."""
        from pflow.process.children import run

        printed, said = bytearray(), bytearray()

        def keep(part: bytes) -> None:
            if len(printed) + len(part) > MOST:
                what = f"{self.act}: git printed more than {MOST:,} bytes"
                raise PflowError(what, hint="ask for less", exit=CANNOT_WRITE, is_permanent=True)
            printed.extend(part)

        shown, is_ours = 0, False

        def hear(part: bytes, end: bytes = b"\n") -> None:
            """Keep git's stderr, and show its complete lines, but not those that become the error of pflow."""
            nonlocal shown, is_ours
            said.extend(part)
            lines = said[shown : said.rfind(end) + len(end)].splitlines(keepends=True)
            shown += sum(map(len, lines))
            for line in lines if is_shown and not self.reads else ():
                is_ours = line.startswith(_ERRORS) or (is_ours and line.startswith(_MORE_OF_ERRORS))
                if not is_ours:
                    write_stderr(bytes(line))

        plain = ("-c", "color.advice=false", "-c", "color.push=false")  # `hear` compares how lines begin
        start = ("git", "-C", self.repo, "--no-pager", *plain, *self.settings)
        argv: list[Word] = [self._word(each) for each in (*start, *words)]
        try:
            code = run(argv, input=input, env={**self.env, **(env or {})}, on_stdout=keep, on_stderr=hear)
        except FileNotFoundError:
            raise PflowError(f"{self.act}: git is not installed", hint="install git", exit=BAD_CONFIG) from None
        hear(b"", end=b"")
        return code, bytes(printed), said.decode("utf-8", "replace")

    def select(self, paths: Iterable[Word]) -> list[Word]:
        """Return the words for these paths, with * as a plain character. Hooks would inherit --literal-pathspecs."""
        return ["--", *(path and b":(literal)" + self._word(path) for path in paths)]

    def _word(self, word: Word) -> bytes:
        try:
            encoded = word if isinstance(word, bytes) else os.fsencode(word)
        except UnicodeEncodeError:
            raise lone_surrogate(self.act) from None
        if b"\0" in encoded:
            raise PflowError(f"{self.act}: {os.fsdecode(encoded)!r} contains NUL", exit=BAD_DATA)
        return encoded


def message_of(git: Git, text: str) -> bytes:
    """Encode a message for git's stdin. Raises PflowError if it is empty or not text."""
    if "\0" in nonblank(text, git.act, "message"):
        raise PflowError(f"{git.act}: the message contains NUL", exit=BAD_DATA)
    return encode_text(text, git.act)


def _environment(repo: str) -> dict[str, str]:
    """Return pflow's environment with English messages and without prompts.

    LANGUAGE, unlike LC_ALL, keeps the user's character set for hooks. The editor `:` does nothing and never blocks.
    """
    from pflow.process.start import environment

    env = {**environment(), "LANGUAGE": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
    env |= {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}  # these would open a window
    env.pop("SSH_ASKPASS", None)
    root = os.environ.get(ROOT)
    if root:  # or git would find a repository above the root, which is out of bounds
        env["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(root))
    dropped = () if repo == "." else _REPOSITORY_VARIABLES
    return {name: value for name, value in env.items() if not (name in dropped or _disturbs(name, value))}


def _disturbs(name: str, value: str) -> bool:
    """Return True for a variable that changes what git prints or a path means, or that traces to stderr."""
    is_trace = name.startswith("GIT_TRACE") and not value.startswith("/")
    return is_trace or name in _OUTPUT_VARIABLES or name.endswith("_PATHSPECS")


_NO_REPOSITORY = "--repo names a directory in one; git init makes one"
_IDENTITY = "git config --global user.name 'Your Name'; git config --global user.email you@example.com"
_LOCKED = "wait for the other git; if none runs, remove that file"
_LOGIN = "git needs access without a prompt: a credential helper, an ssh key in the agent, or a token"

_FAULTS = (
    ("not a git repository", MISSING, _NO_REPOSITORY),
    ("cannot change to '", MISSING, _NO_REPOSITORY),
    ("detected dubious ownership", DENIED, "git config --global --add safe.directory DIRECTORY trusts it"),
    ("must be run in a work tree", BAD_DATA, "a bare repository has no files"),
    (".lock': File exists", TRY_AGAIN, _LOCKED),
    ("Please tell me who you are", BAD_CONFIG, _IDENTITY),
    ("empty ident name", BAD_CONFIG, _IDENTITY),
    ("No space left on device", CANNOT_WRITE, ""),
    ("Out of diskspace", CANNOT_WRITE, ""),
    ("Disk quota exceeded", CANNOT_WRITE, ""),
    ("Unable to read current working directory", MISSING, ""),
    ("bad revision '", MISSING, "a revision is HEAD, a branch, a tag, a hash or a range: v1.0..HEAD"),
    ("is outside repository at '", BAD_DATA, "--repo names a directory in another one"),
    ("did not match any file", MISSING, "paths are literal, and relative to --repo"),
    ("no tag message?", MISSING, "tag.gpgSign signs every tag, and only one with a message (-m) can be signed"),
    ("invalid refspec", BAD_DATA, "git check-ref-format(1) has the rules for names"),
    ("invalid reference: ", MISSING, "--create makes the branch"),
    ("a branch named '", CANNOT_WRITE, "without --create it goes to that branch"),
    ("would be overwritten by checkout", FAILED, "commit or stash them first"),
    ("is not a valid ", BAD_DATA, "git check-ref-format(1) has the rules for names"),
    ("terminal prompts disabled", DENIED, _LOGIN),
    ("Authentication failed", DENIED, _LOGIN),
    ("Permission denied (", DENIED, _LOGIN),
    ("returned error: 403", DENIED, _LOGIN),
    ("Host key verification failed", DENIED, "connect to that host by ssh once, by hand"),
    ("returned error: 5", TRY_AGAIN, ""),  # any HTTP status from 500 on
    ("returned error: 429", TRY_AGAIN, ""),
    ("does not appear to be a git repository", MISSING, "git remote -v shows where it should be"),
    ("cannot use bare repository '", DENIED, ""),
    ("repository '", MISSING, "git remote -v shows where it should be"),
    ("Permission denied", DENIED, ""),
    ("unable to access '", UNAVAILABLE, ""),
    ("Could not read from remote repository", UNAVAILABLE, ""),
    ("unexpected disconnect", UNAVAILABLE, ""),
)
"""Words in git's errors, each with an exit code and a hint. The first match counts."""

_TRANSIENT = (TRY_AGAIN, UNAVAILABLE)
_ADVICE = ("usage:", "Please ", "Aborting", "To add an exception", "Another git process", "***", "remote:")
_NOTHING = ("hint:", "error: failed to push some refs")  # they give no reason
_LONGEST = 300


def fault(act: str, code: int, said: str) -> PflowError:
    """Return the failure of `act`, by git's exit code and stderr."""
    known = next(((exit, hint) for words, exit, hint in _FAULTS if words in said), None)
    exit, hint = known or (FAILED if code >= 0 else 128 - code, "")
    reason = _reason(said) or (f"git was ended by signal {-code}" if code < 0 else f"git ended with {code}")
    return PflowError(f"{act}: {reason}", hint=hint, exit=exit, is_permanent=exit not in _TRANSIENT if known else None)


def _reason(said: str) -> str:
    """Return git's reason on one line: from its first error on, else its last three lines, and without advice."""
    said = without_logins(said).replace(":(literal)", "")
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(_NOTHING)]
    first = next((n for n, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))), 0)
    told = lines[first:] if first or (lines and lines[0][:5] in ("fatal", "error")) else lines[-3:]
    end = next((n for n, line in enumerate(told) if n and line.startswith(_ADVICE)), len(told))
    words = " / ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in told[:end])
    return words[:_LONGEST].removesuffix(".")


def without_logins(said: str) -> str:
    """Remove logins from the URLs in a text: everything between // and @."""
    found, *rest = said.split("://")
    for part in rest:
        host, at, more = part.partition("@")
        has_login = at and not set(host) & set("/ '\"\n")
        found += "://" + (more if has_login else part)
    return found
