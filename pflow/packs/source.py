"""Fetch a pack from a directory, or with git into a bare repository that is kept and never checked out.

The files are read out of git's objects: without a checkout, no filter, hook, submodule, link or attribute of a
stranger's repository can act. Each commit is kept in its own repository, which gets its name only when it is complete.
"""

import io
import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, DENIED, MISSING, TRY_AGAIN, UNAVAILABLE, PflowError
from pflow.files.atomic import replace
from pflow.files.directories import cache_directory, required_directory
from pflow.files.reading import read_regular
from pflow.packs.address import PROTOCOLS, Address
from pflow.packs.contents import MOST, MOST_BYTES, Contents, PackFile, read_place
from pflow.process.children import run
from pflow.process.signals import Deadline
from pflow.process.start import environment
from pflow.saved_flows.saved import lock_folder
from pflow.terminal.messages import say
from pflow.text.printable import foreign_line
from pflow.values.digest import bytes_digest, digest_of

SECONDS = 120.0
"""The most seconds that git may take to fetch."""

MOST_FETCHED = 64 << 20
"""The most bytes that git may fetch: one commit with all its files, packed."""

_MOST_PRINTED = 1 << 20
"""The most bytes that are read of a list of files, and of git's errors."""

_KEPT = 5
"""How many commits of an address are kept."""


@dataclass(frozen=True)
class Fetched:
    """A pack's files by path, as they were at `commit`, which is empty for a directory."""

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
    """Fetch a pack, at this commit if one is given. A kept commit needs no network.

    If the address cannot be reached, use the commit fetched last, with a warning. Raises PflowError: 65 for a pack that
    breaks a rule or a limit; 66, 69, 75, 77 if it cannot be fetched; 78 without git.
    """
    act = f"cannot fetch '{address}'"
    if not address.is_git:
        return Fetched(address, "", read_place(address.place, address.directory, act))
    if shutil.which("git") is None:
        raise PflowError(f"{act}: git is not installed", hint="install git", exit=BAD_CONFIG)
    base = required_directory(cache_directory(), act, "XDG_CACHE_HOME")
    folder = os.path.join(base, "packs", digest_of(address.place)[:32])
    with lock_folder(folder, act):
        return _Source(address, act, folder, seconds).get(commit or address.commit)


class _GitFailed(PflowError):
    """A failure that git itself reported, unlike a limit or a missing ref, which pflow finds."""


_Entries = dict[str, tuple[int, int, str]]
"""The entries of a tree by path: mode as in stat(2), size, and name of the object."""


class _Source:
    """The kept commits of one address, in `folder`, which is locked."""

    def __init__(self, address: Address, act: str, folder: str, seconds: float) -> None:
        self.address, self.act, self.folder, self.seconds = address, act, folder, seconds
        self.last = os.path.join(folder, f"asked-{digest_of(address.asked)[:32]}")

    def get(self, commit: str) -> Fetched:
        """Return the files of a commit; if that is empty, of the tag, the branch or the default in the address."""
        if commit and os.path.isdir(self._kept(commit)):
            with suppress(_GitFailed):  # a power cut may have damaged it; the fetch below replaces it
                return self._read(commit)
        try:
            with Deadline(self.seconds, "a fetch", act=self.act, exit=TRY_AGAIN):
                found = self._bring(commit)
        except PflowError as error:
            found = ""
            with suppress(OSError):
                found = read_regular(self.last).decode("ascii", "replace")
            is_reached = error.exit == BAD_DATA or (error.exit == MISSING and not isinstance(error, _GitFailed))
            if commit or is_reached or not (found and os.path.isdir(self._kept(found))):
                raise
            say("warning", f"{error.message}; what was fetched before is used: commit {found[:12]}")
        return self._read(found)

    def _kept(self, commit: str) -> str:
        return os.path.join(self.folder, f"{commit}.git")

    def _bring(self, commit: str) -> str:
        """Fetch into a new repository, keep it under the name of its commit, and return the commit."""
        self._clear()
        asked = self.address.asked
        refs = [commit] if commit else [f"refs/tags/{asked}", f"refs/heads/{asked}"] if asked else ["HEAD"]
        with tempfile.TemporaryDirectory(prefix="new-", dir=self.folder, ignore_cleanup_errors=True) as place:
            new, old = os.path.join(place, "new"), os.path.join(place, "old")
            if os.isatty(2):
                say("pflow", f"fetching {self.address} …")
            self._git(new, "init", "--quiet", "--bare", "--template=", "--object-format=sha1")
            if not any(self._gets(new, ref) for ref in refs):
                hint = "a commit is named by all 40 digits of its hash" * bool(re.fullmatch("[0-9a-f]{4,39}", asked))
                what = f"tag, branch or commit '{asked or commit}'" if asked or commit else "commit"
                raise PflowError(f"{self.act}: it has no {what}", hint=hint, exit=MISSING)
            found = self._git(new, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
            with suppress(FileNotFoundError):  # renamed, not removed, since a kill would leave half of it
                os.rename(self._kept(found), old)
            os.rename(new, self._kept(found))
        if not commit:
            replace(self.last, found, mode=0o600)
        return found

    def _gets(self, new: str, ref: str) -> bool:
        """Fetch one ref; return False if the server does not have it."""
        words = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--end-of-options")
        try:
            self._git(new, "fetch", *words, self.address.place, ref)
        except _GitFailed as error:
            if any(words in error.message for words in _NO_REF):
                return False
            if error.exit == MISSING and _is_closed(self.address.place):
                raise _GitFailed(f"{self.act}: permission denied", exit=DENIED) from None
            raise
        return True

    def _clear(self) -> None:
        """Remove leftovers of killed fetches, and the oldest commits."""
        new, kept = Path(self.folder).glob("new-*"), Path(self.folder).glob("*.git")
        for path in [*new, *sorted(kept, key=os.path.getmtime)[: 1 - _KEPT]]:
            shutil.rmtree(path, ignore_errors=True)

    def _read(self, commit: str) -> Fetched:
        """Read the files of a kept commit."""
        contents, repo, top = Contents(self.act), self._kept(commit), f"{commit}:{self.address.directory}"
        try:
            there = self._list(repo, top)
        except _GitFailed as error:
            if error.exit != MISSING or not self.address.directory:
                raise
            raise _GitFailed(f"{self.act}: it has no directory '{self.address.directory}'", exit=MISSING) from None
        paths = contents.roots({path: mode for path, (mode, _, _) in there.items()})
        found = {paths[path]: entry for path, entry in there.items() if path in paths}
        if folders := [path for path in ("nodes", "flows") if path in paths]:
            found |= self._list(repo, "-rt", top, *folders)
        chosen = [(path, *entry) for path, entry in found.items() if contents.admits(path, *entry[:2])]
        names = "".join(f"{name}\n" for _, _, _, name in chosen)
        printed = io.BytesIO(self._git(repo, "cat-file", "--batch", input=names.encode()))
        for path, mode, size, _ in chosen:
            printed.readline()
            contents.add(path, mode, printed.read(size))
            printed.readline()
        return Fetched(self.address, commit, dict(sorted(contents.files.items())))

    def _list(self, repo: str, *words: str) -> _Entries:
        found = {}
        for line in self._git(repo, "ls-tree", "-zl", *words, most=_MOST_PRINTED).split(b"\0")[:-1]:
            about, _, path = line.decode("utf-8", "surrogateescape").partition("\t")
            mode, _, name, size = about.split()
            found[path] = int(mode, 8), int(size.replace("-", "0")), name
        return found

    def _git(self, repo: str, *words: str, input: bytes = b"", most: int = 2 * MOST_BYTES) -> bytes:
        """Run git on a bare repository and return its output. It has no terminal, so ssh cannot prompt.

        Raises PflowError (65) if it prints too much, and _GitFailed.
        """
        printed, said = bytearray(), bytearray()
        # git's children write the files, and inherit the limit that a shell sets before git starts.
        argv = ["/bin/sh", "-c", 'ulimit -f "$1"; shift; exec git "$@"', "sh", str(MOST_FETCHED // 512)]
        argv += [f"--git-dir={repo}", "--no-pager", *(word for each in _SETTINGS for word in ("-c", each)), *words]

        def hear(part: bytes) -> None:
            printed.extend(part)
            if len(printed) > most:  # a few trees that contain each other many times list endless paths
                raise PflowError(f"{self.act}: it has far more than {MOST:,} files and directories", exit=BAD_DATA)

        def hear_fault(part: bytes) -> None:
            said.extend(part[: _MOST_PRINTED - len(said)])

        if run(argv, input=input, env=_environment(), on_stdout=hear, on_stderr=hear_fault):
            if b"index-pack output" in said and shutil.disk_usage(self.folder).free < _MOST_PRINTED:
                said.extend(b"\nNo space left on device")  # git does not pass on the reason of its child
            otherwise = TRY_AGAIN if words[0] == "fetch" else BAD_DATA  # the server hung up; else the data broke git
            raise _fault(self.act, otherwise, said.decode("utf-8", "replace"))
        return bytes(printed)


_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "pack.threads=1"),
    *("fetch.fsckObjects=true", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false", "core.bigFileThreshold=1m"),
)
"""Run no hook and nothing in the background; check what is fetched; write it as one file, whose size ulimit can limit;
never keep a large file in memory.
"""

_OF_USER = ("GIT_ASKPASS", "GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP", "GIT_PROXY", "GIT_SSH", "GIT_SSL")
"""Prefixes of git's variables that say how a user reaches servers. Others, such as GIT_DIR, could point git to another
repository."""


def _is_closed(place: str) -> bool:
    """Return True for a local repository that this user may not read. git would say that it is not a repository."""
    parts = (os.path.join(place, git, part) for git in ("", ".git") for part in ("", "HEAD", "objects", "refs"))
    return any(os.path.exists(part) and not os.access(part, os.R_OK) for part in parts)


def _environment() -> dict[str, str]:
    theirs, dropped = os.environ.get("GIT_ALLOW_PROTOCOL"), ("GIT_", "SSH_ASKPASS")  # SSH_ASKPASS opens a window
    variables = environment().items()
    kept = {name: value for name, value in variables if not name.startswith(dropped) or name.startswith(_OF_USER)}
    kept |= {"LANGUAGE": "C", "GIT_TERMINAL_PROMPT": "0", "GCM_INTERACTIVE": "never", "SSH_ASKPASS_REQUIRE": "never"}
    kept["GIT_ALLOW_PROTOCOL"] = ":".join(each for each in PROTOCOLS if theirs is None or each in theirs.split(":"))
    # A local repository may say that its missing objects are on a remote, and name a command that git runs for them.
    return kept | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOC_LIMIT": "128m"}


_LOGIN = "git needs access without a prompt: a credential helper, an ssh key in the agent, or a token"
_TRUST = "git config --global --add safe.directory "
_TOO_LARGE = f"it may be too large: git may fetch {MOST_FETCHED >> 20} MiB"
_NO_REF = ("couldn't find remote ref", "not our ref", "unadvertised object")
_NO_ACCESS = ("prompts disabled", "could not read Username", "Authentication failed", "Permission denied", "error: 403")

_FAULTS = (
    (("No space left on device", "Disk quota exceeded", "could not set 'core."), CANNOT_WRITE, ""),
    (("dubious ownership",), DENIED, _TRUST),
    (("Host key verification failed",), DENIED, "connect to that host by ssh once, by hand"),
    (("access './objects",), DENIED, ""),
    (_NO_ACCESS, DENIED, _LOGIN),
    ((" not allowed",), DENIED, ""),
    (("File too large", "attempting to allocate"), BAD_DATA, _TOO_LARGE),
    (("error: object ", "fsck error", "expected commit type"), BAD_DATA, ""),
    (("Not a valid object name", "not a tree object"), MISSING, ""),
    ((*_NO_REF, "does not appear to be a git repository", "not exported", " not found"), MISSING, ""),
    (("early EOF", "hung up", "error: 429", "error: 5"), TRY_AGAIN, ""),
    (("invalid index-pack output",), BAD_DATA, _TOO_LARGE),  # a signal ended the process that writes the file
    (("nable to connect", "unable to look up", "ssh: ", "unable to access", "not read from remote"), UNAVAILABLE, ""),
)
"""Parts of git's messages, each group with its exit code and hint. The first match counts."""


def _fault(act: str, otherwise: int, said: str) -> _GitFailed:
    said = re.sub(r"//[^/@\s']*@", "//", said)  # a login that a user's settings put into the URL
    said = re.sub(r"(connect to .*:)\n", r"\1 ", said)  # the reason follows in the next line
    trust = re.search(f"{_TRUST}(.*)", said)
    lines = [line for line in said.splitlines() if line.strip()] or ["git ended early"]
    known = ((line, exit, hint) for words, exit, hint in _FAULTS for line in lines if any(map(line.count, words)))
    line, exit, hint = next(known, (lines[-1], otherwise, ""))
    reason = foreign_line(re.sub("^((remote|fatal|error|warning): )+", "", line)).removesuffix(".")
    hint = f"{foreign_line(trust[0])} trusts it" if trust and hint == _TRUST else hint
    return _GitFailed(f"{act}: {reason}", hint=hint, exit=exit)
