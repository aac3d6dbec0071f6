"""Fetching a pack: from a directory, or by git into a bare repository that is kept and never checked out.

Without a checkout no filter, hook, submodule, link or attribute of a stranger's repository acts: the files are read out
of git's objects. Each commit is kept in a repository of its own, which is made elsewhere and renamed.
"""

import io
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pflow.errors import (
    BAD_CONFIG,
    BAD_DATA,
    DENIED,
    FAILED,
    MISSING,
    TRY_AGAIN,
    UNAVAILABLE,
    PflowError,
    result_of,
)
from pflow.files.atomic import replace
from pflow.files.directories import cache_directory, needed
from pflow.files.reading import read_regular
from pflow.library.save import locked
from pflow.packs.address import PROTOCOLS, Address
from pflow.packs.contents import MOST, Contents, PackFile, read_place
from pflow.process.children import run
from pflow.process.signals import Deadline
from pflow.process.start import environment
from pflow.terminal.messages import say
from pflow.values.digest import bytes_digest, digest_of
from pflow.words.printable import one_line

if TYPE_CHECKING:
    from pflow.process.children import Taker

SECONDS = 120.0
"""How long a fetch may take."""

MOST_FETCHED = 64 << 20
"""Bytes of the pack file that git may get: of one commit with all its files, packed."""

_KEPT = 5
"""Commits of an address that are kept."""

_MOST_LISTED = 1 << 20
"""Bytes of the list of a pack's files."""


@dataclass(frozen=True)
class Fetched:
    """A pack's files by path, as they were at `commit`; that is empty for a directory."""

    address: Address
    commit: str
    files: dict[str, PackFile]

    @cached_property
    def tree(self) -> str:
        """The digest of all paths, contents and executable bits."""
        return digest_of([[path, bytes_digest(file.data), file.is_program] for path, file in self.files.items()])

    def put(self, folder: str) -> None:
        """Write the files into a new directory. Raises OSError."""
        for path, file in self.files.items():
            mode = 0o755 if file.is_program else 0o644
            replace(os.path.join(folder, path), file.data, mode=mode, overwrite=False, lasts=False)


def fetch(address: Address, commit: str = "", *, seconds: float = SECONDS) -> Fetched:
    """Fetch a pack, at this commit if one is given; one that is kept needs no network.

    What is kept serves too if the address cannot be reached, which is said on stderr. Raises PflowError: 65 for what no
    pack may have and for more than the limits; 66, 69, 75, 77 if it cannot be fetched; 78 without git.
    """
    act = f"cannot fetch '{address}'"
    if not address.is_git:
        return Fetched(address, "", read_place(address.place, address.directory, act))
    base = needed(cache_directory(), act, "XDG_CACHE_HOME")
    folder = os.path.join(base, "packs", digest_of(address.place)[:32])
    with Deadline(seconds, "a fetch", act=act, exit=TRY_AGAIN), locked(folder, act):
        return _Source(address, act, folder).get(commit or address.commit)


class _Entry(NamedTuple):
    """An entry of a tree: its path, its mode as stat(2) has it, its size, and the name of its object."""

    path: str
    mode: int
    size: int
    name: str


class GitFailed(PflowError):
    """A failure of git itself."""


class _Source:
    """The kept commits of one address, in `folder`, which is locked."""

    def __init__(self, address: Address, act: str, folder: str) -> None:
        self.address, self.act, self.folder = address, act, folder
        self.last = os.path.join(folder, f"asked-{digest_of(address.asked)[:32]}")
        if shutil.which("git") is None:
            raise PflowError(f"{act}: git is not installed", hint="install git", exit=BAD_CONFIG)

    def get(self, commit: str) -> Fetched:
        """Return the files of a commit, or of what is asked for."""
        if commit and os.path.isdir(self._kept(commit)):
            try:
                return self._read(commit)
            except GitFailed:  # a power cut
                shutil.rmtree(self._kept(commit), ignore_errors=True)
        try:
            found = self._bring(commit)
        except GitFailed as error:
            found = result_of(lambda: read_regular(self.last).decode(), otherwise="")
            if commit or error.exit == BAD_DATA or not os.path.isdir(self._kept(found or "-")):
                raise
            say("warning", f"{error.message}; what was fetched before is used, commit {found[:12]}")
        return self._read(found)

    def _kept(self, commit: str) -> str:
        return os.path.join(self.folder, f"{commit}.git")

    def _bring(self, commit: str) -> str:
        """Fetch into a repository of its own, which is then kept. Return its commit."""
        self._clear()
        new, asked = tempfile.mkdtemp(prefix="new-", dir=self.folder), self.address.asked
        try:
            _git(self.act, new, "init", "--quiet", "--bare", "--template=", "--object-format=sha1")
            refs = [commit] if commit else [f"refs/tags/{asked}", f"refs/heads/{asked}"] if asked else ["HEAD"]
            if not any(self._gets(new, ref) for ref in refs):
                hint = "a commit is named by all its 40 digits" if re.fullmatch("[0-9a-f]{4,39}", asked) else ""
                what = f"no commit '{commit}'" if commit else f"no tag or branch '{asked}'" if asked else "no commit"
                raise PflowError(f"{self.act}: it has {what}", hint=hint, exit=MISSING)
            found = _git(self.act, new, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
            if commit and found != commit:
                raise PflowError(f"{self.act}: '{commit}' is not a commit", exit=BAD_DATA)
            shutil.rmtree(self._kept(found), ignore_errors=True)
            os.rename(new, self._kept(found))
        finally:
            shutil.rmtree(new, ignore_errors=True)
        if not commit:
            replace(self.last, found, mode=0o600)
        return found

    def _gets(self, new: str, ref: str) -> bool:
        """Fetch one ref; return False if the other side has none of this name."""
        words = (
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--end-of-options",
        )
        try:
            _git(self.act, new, "fetch", *words, self.address.place, ref)
        except GitFailed as error:
            if error.details.get("is_missing"):
                return False
            raise
        return True

    def _clear(self) -> None:
        """Remove what a killed fetch left, and the oldest commits."""
        names = os.listdir(self.folder)
        kept = sorted(
            (os.path.join(self.folder, name) for name in names if name.endswith(".git")), key=os.path.getmtime
        )
        left = [os.path.join(self.folder, name) for name in names if name.startswith("new-")]
        for path in left + kept[: max(len(kept) - _KEPT + 1, 0)]:
            shutil.rmtree(path, ignore_errors=True)

    def _read(self, commit: str) -> Fetched:
        contents, top = Contents(self.act), f"{commit}:{self.address.directory}"
        repo = self._kept(commit)
        os.utime(repo)
        entries = self._list(contents, repo, top)
        paths = contents.roots({entry.path: entry.mode for entry in entries})
        chosen = [entry._replace(path=paths[entry.path]) for entry in entries if entry.path in paths]
        if folders := [path for path in ("nodes", "flows") if path in paths]:
            chosen += [entry for entry in self._list(contents, repo, "-rt", top, *folders) if "/" in entry.path]
        chosen = [entry for entry in chosen if contents.admits(entry.path, entry.mode, entry.size)]
        names = "".join(f"{entry.name}\n" for entry in chosen)
        printed = io.BytesIO(_git(self.act, repo, "cat-file", "--batch", input=names.encode()))
        for entry in chosen:
            printed.readline()
            contents.add(entry.path, entry.mode, printed.read(entry.size))
            printed.readline()
        return Fetched(self.address, commit, contents.finish())

    def _list(self, contents: Contents, repo: str, *words: str) -> list[_Entry]:
        """List a tree; far too many entries end git early."""
        found, seen = [], bytearray()

        def hear(part: bytes) -> None:
            seen.extend(part)
            contents.check_count(seen.count(b"\0") if len(seen) < _MOST_LISTED else MOST + 1)

        _git(self.act, repo, "ls-tree", "-zl", *words, on_stdout=hear)
        for line in bytes(seen).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, _, name, size = about.decode().split()
            found.append(
                _Entry(path.decode("utf-8", "surrogateescape"), int(mode, 8), int(size.replace("-", "0")), name)
            )
        return found


_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false"),
    *("fetch.fsckObjects=true", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false", "core.bigFileThreshold=1m"),
)
"""No hook and nothing in the background; what came is checked, in one file, which a limit can bound, and never whole in
memory.
"""

_KEPT_VARIABLES = ("GIT_ASKPASS", "GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP", "GIT_PROXY", "GIT_SSH", "GIT_SSL")
"""The beginnings of git's variables that say how a user reaches servers; any other is of another repository."""


def _git(act: str, repo: str, *words: str, input: bytes = b"", on_stdout: "Taker | None" = None) -> bytes:
    """Run git on a bare repository and return its output. It has no terminal, so ssh asks nothing either.

    Raises GitFailed.
    """
    printed, said = bytearray(), bytearray()
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    # The limit holds for git's own children, which write the files.
    argv = ["/bin/sh", "-c", 'ulimit -f "$1"; shift; exec "$@"', "sh", str(MOST_FETCHED // 512)]
    argv += ["git", f"--git-dir={repo}", "--no-pager", *settings, *words]
    code = run(argv, input=input, env=_environment(), on_stdout=on_stdout or printed.extend, on_stderr=said.extend)
    if code:
        raise _fault(act, code, said[-_MOST_LISTED:].decode("utf-8", "replace"))
    return bytes(printed)


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("GIT_", "SSH_ASKPASS")) or name.startswith(_KEPT_VARIABLES)
    }
    theirs = os.environ.get("GIT_ALLOW_PROTOCOL")
    allowed = [each for each in PROTOCOLS if theirs is None or each in theirs.split(":")]
    kept |= {"LANGUAGE": "C", "GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "SSH_ASKPASS_REQUIRE": "never"}
    # A repository on this machine may name another, and a command with which git would get what it lacks.
    return kept | {"GIT_ALLOW_PROTOCOL": ":".join(allowed), "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOC_LIMIT": "128m"}


_LOGIN = "git needs access without a prompt: a credential helper, an ssh key in the agent, or a token"
_TOO_LARGE = f"a pack has at most {MOST_FETCHED >> 20} MiB"

_FAULTS = (
    ("couldn't find remote ref", MISSING, ""),
    ("not our ref", MISSING, ""),
    ("unadvertised object", MISSING, ""),
    ("dubious ownership", DENIED, "git config --global --add safe.directory DIRECTORY trusts it"),
    ("died of signal 25", BAD_DATA, _TOO_LARGE),
    ("File too large", BAD_DATA, _TOO_LARGE),
    ("attempting to allocate", BAD_DATA, _TOO_LARGE),
    ("fsck error", BAD_DATA, ""),
    ("expected commit type", BAD_DATA, ""),
    ("not a tree object", MISSING, ""),
    ("Not a valid object name", MISSING, "#DIR names a directory in it"),
    ("not allowed", DENIED, ""),
    ("terminal prompts disabled", DENIED, _LOGIN),
    ("Authentication failed", DENIED, _LOGIN),
    ("Permission denied", DENIED, _LOGIN),
    ("returned error: 403", DENIED, _LOGIN),
    ("Host key verification failed", DENIED, "connect to that host by ssh once, by hand"),
    ("ssh: ", UNAVAILABLE, ""),
    ("does not appear to be a git repository", MISSING, ""),
    ("not exported", MISSING, ""),
    ("not found", MISSING, ""),
    ("returned error: 5", TRY_AGAIN, ""),
    ("returned error: 429", TRY_AGAIN, ""),
    ("early EOF", TRY_AGAIN, ""),
    ("hung up", TRY_AGAIN, ""),
    ("unexpected disconnect", TRY_AGAIN, ""),
    ("RPC failed", TRY_AGAIN, ""),
    ("nable to connect", UNAVAILABLE, ""),
    ("unable to access", UNAVAILABLE, ""),
    ("Could not read from remote", UNAVAILABLE, ""),
)
"""Words of git, with exit code and hint; the first match counts."""


def _fault(act: str, code: int, said: str) -> GitFailed:
    said = re.sub(r"//[^/@\s']*@", "//", said)  # a login that a user's settings put into the URL
    lines = [line for line in said.splitlines() if line.strip()] or [f"git ended with {code}"]
    words, exit, hint = next((each for each in _FAULTS if each[0] in said), ("", FAILED if code > 0 else BAD_DATA, ""))
    line = next(line for line in [*lines, lines[-1]] if words in line)
    reason = one_line(re.sub("^(remote: |fatal: |error: )+", "", line)).removesuffix(".")
    missing = {"is_missing": True} if words in [each[0] for each in _FAULTS[:3]] else {}
    return GitFailed(f"{act}: {reason}", hint=hint, exit=exit, details=missing)
