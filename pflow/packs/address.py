"""Addresses of packs: ADDRESS[@TAG][#DIR], where ADDRESS is a URL that git takes, a directory or a file."""

import os
import re
from dataclasses import dataclass

from pflow.catalog.registry import SUFFIX
from pflow.errors import DENIED, MISSING, USAGE, PflowError, shorten
from pflow.text.printable import clean

PROTOCOLS = ("https", "http", "ssh", "git", "file")
"""The protocols that git may use. For any other, git would start a helper program; `ext::` runs any command."""

_PLACE = re.compile(
    rf"(?P<origin>(?:{'|'.join(PROTOCOLS)})://(?:[^-/][^/]*)?(?=/)|[^-/:][^/:]*:(?![-:]|//))(?P<path>.+)|/.*", re.DOTALL
)
"""A URL, HOST:PATH for ssh, or an absolute path. ssh would take a host that begins with `-` for an option."""

_SECRET = re.compile(r"https?://([^/]*@|.*\?)|\w+://[^/@]*:[^/]*@")
"""A user, password or query in a web address, or a password in another one. The lock file would publish it."""

_ASKED = re.compile(r"(?![-/])(?!.*(\.\.|@\{))[^ :?*\[\\^~]*")
"""A single ref that git cannot take for an option (git-check-ref-format(1))."""

_COMMIT = re.compile("[0-9a-f]{40}")
_VERSION = re.compile("(?<=[^/:])@")
"""The @ that begins @TAG: the second one in `/@user/repo@v1`."""


@dataclass(frozen=True)
class Address:
    """The address of a pack.

    `place` is a URL or a real path. `asked` is a tag, a branch, a whole commit, or empty. `directory` is a path in the
    place, or empty. Raises PflowError (2, 77) for anything that git could take for an option, a command or several
    refs: an address may come from a stranger's lock file.
    """

    place: str
    asked: str = ""
    directory: str = ""
    is_git: bool = False

    def __post_init__(self) -> None:
        if not str(self).isprintable():
            raise _bad(str(self), "it has control characters")
        if not _PLACE.fullmatch(self.place):
            raise _bad(str(self), f"it is neither a path nor a URL of {', '.join(PROTOCOLS)}")
        if _SECRET.match(self.place):
            hint = "a credential helper of git keeps those (gitcredentials(7))"
            raise PflowError("cannot use an address with a user, password or query in it", hint=hint, exit=DENIED)
        if not _ASKED.fullmatch(self.asked):
            raise _bad(str(self), f"'{self.asked}' is not the name of a tag, branch or commit")
        if self.directory and {"", ".", ".."} & {*self.directory.split("/")}:
            raise _bad(str(self), f"'{self.directory}' is not a directory in it")

    def __str__(self) -> str:
        return self.place + f"@{self.asked}" * bool(self.asked) + f"#{self.directory}" * bool(self.directory)

    @property
    def name(self) -> str:
        """The default name of the pack: the last part of its directory, file or place."""
        last = re.split("[/:]", self.directory or self.place.rstrip("/").removesuffix("/.git"))[-1]
        return last.removesuffix(SUFFIX).removesuffix(".git").removesuffix(".py").removeprefix("pflow-")

    @property
    def commit(self) -> str:
        """The commit if `asked` is one, else empty."""
        return self.asked if _COMMIT.fullmatch(self.asked) else ""


def parse_address(text: str) -> Address:
    """Read an address as a person writes it. Raises PflowError: 2 for a bad one, 66 for a path that is missing."""
    if os.path.lexists(text) and not text.startswith("-"):
        return _at_path(text, "", "")
    before, _, directory = text.partition("#")
    directory = directory.strip("/")
    if not before or before.startswith("-") or before.endswith("@"):
        raise _bad(text, "it is empty, begins with '-' or ends with '@'")
    if (url := _PLACE.fullmatch(before)) and url["origin"]:
        path, _, asked = _VERSION.sub("\0", url["path"], count=1).partition("\0")
        return Address(url["origin"] + path, asked, directory, is_git=True)
    for cut in [len(before), *(found.start() for found in reversed([*_VERSION.finditer(before)]))]:
        if os.path.lexists(before[:cut]):
            return _at_path(before[:cut], before[cut + 1 :], directory)
    if ":" in before.partition("/")[0]:
        return Address(before)
    hint = "a URL, HOST:PATH, a directory or a file; @TAG and #DIR may follow"
    raise PflowError(f"cannot find '{shorten(clean(text), 200)}': no such file or directory", hint=hint, exit=MISSING)


def _at_path(path: str, asked: str, directory: str) -> Address:
    place = os.path.realpath(path)
    if (asked or directory) and not os.path.isdir(place):
        raise _bad(path, "a file has no tags and no directories")
    is_bare = all(os.path.exists(os.path.join(place, each)) for each in ("HEAD", "objects", "refs"))
    return Address(place, asked, directory, is_git=bool(asked) or is_bare)


def _bad(text: str, why: str) -> PflowError:
    return PflowError(f"cannot use the address '{shorten(clean(text), 200)}': {clean(why)}", exit=USAGE)
