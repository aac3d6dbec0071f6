"""Addresses of packs: ADDRESS[@TAG][#DIR], where ADDRESS is a URL that git takes, a directory or a file."""

import os
import re
from dataclasses import dataclass

from pflow.catalog.registry import SUFFIX
from pflow.errors import DENIED, MISSING, USAGE, PflowError, shorten
from pflow.words.printable import clean

PROTOCOLS = ("https", "http", "ssh", "git", "file")
"""What git may speak: any other is a program of its own, and `ext::` is a command."""

_COMMIT = re.compile("[0-9a-f]{40}")
_URL = re.compile(r"(?P<scheme>[^/@#]*)://(?P<host>[^/]*)(?P<path>.*)", re.DOTALL)
_OF_SSH = re.compile(r"(?P<host>[^/:]+):(?P<path>[^:].*)", re.DOTALL)
_VERSION = re.compile("(?<=[^/:])@")
"""The beginning of @TAG: in `/@user/repo@v1` the second."""

_NO_TAG = frozenset(" :?*[\\^~")
"""Characters that a name in git never has (git-check-ref-format(1)); with some it would be several refs, or another."""


@dataclass(frozen=True)
class Address:
    """Where a pack is.

    `place` is a URL or a real path, `asked` a tag, branch or whole commit, `directory` one in it. Any can be empty but
    `place`. Raises PflowError (2, 77) for what git could take for an option, a command or more than one ref: a lock
    file may be a stranger's.
    """

    place: str
    asked: str = ""
    directory: str = ""
    is_git: bool = False

    def __post_init__(self) -> None:
        url = _URL.fullmatch(self.place)
        scp = None if url or os.path.isabs(self.place) else _OF_SSH.fullmatch(self.place)
        ways = self.directory.split("/") if self.directory else []
        if not str(self).isprintable():
            self._refuse("it has control characters")
        if not self.place or any(each.startswith("-") for each in (self.place, self.asked)):
            self._refuse("it begins with '-'" if self.place else "it is empty")
        if not (url or scp or os.path.isabs(self.place)):
            self._refuse("it is neither a URL nor a path")
        if url and url["scheme"] not in PROTOCOLS:
            self._refuse(f"'{url['scheme']}' is not one of {', '.join(PROTOCOLS)}")
        if "::" in self.place.partition("/")[0] or (url or scp or self.place)[0].startswith("::"):
            self._refuse("git would run a command of that name")
        if (found := url or scp) and (found["host"].startswith("-") or found["path"].startswith("-")):
            self._refuse("its host or path begins with '-'")
        if url and url["scheme"] != "file" and self._has_secret(url["scheme"], url["host"], url["path"]):
            hint = "git's credential helpers keep it: git config --global credential.helper"
            raise PflowError("cannot use an address that has a user, password or query in it", hint=hint, exit=DENIED)
        if _NO_TAG & {*self.asked} or ".." in self.asked or "@{" in self.asked or self.asked.startswith("/"):
            self._refuse(f"'{self.asked}' is no name of a tag, branch or commit")
        if {"", ".", ".."} & {*ways}:
            self._refuse(f"'{self.directory}' is no directory in it")

    def __str__(self) -> str:
        return self.place + f"@{self.asked}" * bool(self.asked) + f"#{self.directory}" * bool(self.directory)

    @property
    def name(self) -> str:
        """What the pack is called unless its user says otherwise: the last part of its directory, file or place."""
        last = re.split("[/:]", self.directory or self.place.rstrip("/").removesuffix("/.git"))[-1]
        name = last.removesuffix(SUFFIX).removesuffix(".git").removeprefix("pflow-")
        return name.removesuffix(".py")

    @property
    def commit(self) -> str:
        """The commit that is asked for; empty for a tag, a branch and nothing."""
        return self.asked if _COMMIT.fullmatch(self.asked) else ""

    def _has_secret(self, scheme: str, host: str, path: str) -> bool:
        user, at, _ = host.rpartition("@")
        return (bool(at) and (":" in user or scheme.startswith("http"))) or "?" in path

    def _refuse(self, why: str) -> None:
        raise PflowError(f"cannot use the address '{shorten(clean(str(self)), 200)}': {why}", exit=USAGE)


def parse_address(text: str) -> Address:
    """Read an address as a person writes it. Raises PflowError: 2 for a bad one, 66 for a path that is missing."""
    if "\0" in text or text.startswith("-") or "::" in text.partition("/")[0]:
        Address(text, is_git=True)
    if os.path.lexists(text):
        return _at_path(text, "", "")
    before, _, directory = text.partition("#")
    directory = os.path.normpath(directory).removeprefix(".") if directory and directory[0] != "/" else directory
    if url := _URL.fullmatch(before) or _OF_SSH.fullmatch(before):
        path, asked = _split(url["path"], text)
        return Address(before[: url.start("path")] + path, asked, directory, is_git=True)
    cuts = [len(before), *(found.start() for found in reversed([*_VERSION.finditer(before)]))]
    for cut in cuts:
        if os.path.lexists(before[:cut]):
            return _at_path(before[:cut], _tag(before[cut:], text), directory)
    hint = "a URL, HOST:PATH, a directory or a file; @TAG and #DIR may follow"
    raise PflowError(f"cannot find '{shorten(clean(text), 200)}': no such file or directory", hint=hint, exit=MISSING)


def _split(path: str, text: str) -> tuple[str, str]:
    found = _VERSION.search(path)
    return (path[: found.start()], _tag(path[found.start() :], text)) if found else (path, "")


def _tag(written: str, text: str) -> str:
    if written == "@":
        raise PflowError(f"cannot use the address '{shorten(clean(text), 200)}': no tag follows @", exit=USAGE)
    return written[1:]


def _at_path(path: str, asked: str, directory: str) -> Address:
    place = os.path.realpath(path)
    is_bare = all(os.path.exists(os.path.join(place, each)) for each in ("HEAD", "objects", "refs"))
    if os.path.isfile(place) and (asked or directory):
        raise PflowError(f"cannot use the address '{clean(path)}': a file has no tags or directories", exit=USAGE)
    return Address(place, asked, directory, is_git=bool(asked) or is_bare)
