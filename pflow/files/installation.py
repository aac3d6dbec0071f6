"""The way pflow was installed, and the commands that extend, reduce and repair that installation."""

from __future__ import annotations

import os
import shlex
import site
import sys
from contextlib import suppress
from importlib.util import find_spec

from pflow import Any, Iterable
from pflow.errors import BAD_CONFIG, Attempt, PflowError

NAME = "pflow-shell"
UV, UVX, PIPX, PIP, USER = "uv tool", "uvx", "pipx", "pip", "pip --user"

_MANAGED = "EXTERNALLY-MANAGED"
_OF_UVX = ("archive-v", "environments-v")
"""The folders of uv's cache in which uvx makes the environments for one command."""

_MALFORMED = (OSError, ValueError, KeyError, TypeError)
"""The errors of reading an installer's record that is missing or has another form."""


class Installation:
    """The tool that made pflow's environment, its name for pflow, and the distributions that it added.

    `prefix` is the directory with its bin and share. uvx makes an environment for a single command, and the next
    command may get another one: so a package is not added to it, but becomes, with pflow, a tool of uv.
    """

    def __init__(self, installer: str = PIP, name: str = NAME, beside: tuple[str, ...] = ()) -> None:
        self.installer, self.name, self.beside = installer, name, beside
        self.prefix = site.getuserbase() if installer == USER else sys.prefix
        self.is_uv = installer in (UV, UVX)

    def add(self, requirement: str) -> str:
        """Return the command that adds a distribution so that the next upgrade keeps it."""
        if self.is_uv:
            return _uv(self.name, [*self.beside, requirement])
        # pipx does nothing for a package that is installed, though the extra is missing.
        force = ["--force"] if requirement.startswith(NAME) else []
        return self._command(["inject", *force, self.name, requirement], ["install", requirement])

    def remove(self, distribution: str) -> str:
        """Return the command that removes a plugin."""
        if self.is_uv:
            return _uv(self.name, [each for each in self.beside if requirement_name(each) != distribution])
        return self._command(["uninject", self.name, distribution], ["uninstall", distribution])

    def mend(self) -> str:
        """Return the command that reinstalls pflow and its dependencies."""
        if self.is_uv:
            return _uv(self.name, self.beside, "--reinstall")
        return self._command(["reinstall", self.name], ["install", "--force-reinstall", NAME])

    def to_path(self) -> str:
        """Return the command that puts this environment's programs on PATH."""
        own = f'export PATH={shlex.quote(os.path.join(self.prefix, "bin"))}:"$PATH" in your profile'
        named = {UV: "uv tool update-shell", UVX: _uv(self.name, ()), PIPX: "pipx ensurepath"}
        return named.get(self.installer, own)

    def _command(self, pipx: list[str], pip: list[str]) -> str:
        if self.installer == PIPX:
            return shlex.join(["pipx", *pipx])
        if find_spec("pip"):
            user = ["--user"] if self.installer == USER and pip[0] == "install" else []
            return shlex.join([sys.executable, "-m", "pip", pip[0], *user, *_override(), *pip[1:]])
        return shlex.join(["uv", "pip", pip[0], "--python", sys.executable, *pip[1:]])


def _override() -> list[str]:
    """Return the flag that pip needs in a Python that the system's distribution manages (PEP 668)."""
    is_managed = sys.prefix == sys.base_prefix and os.path.exists(os.path.join(os.path.dirname(os.__file__), _MANAGED))
    return ["--break-system-packages"] if is_managed else []


def requirement_name(requirement: str) -> str:
    import re

    return re.split(r"[^\w.-]", requirement)[0]


def _uv(name: str, beside: Iterable[str], *flags: str) -> str:
    return shlex.join(["uv", "tool", "install", *flags, name, *(word for each in beside for word in ("--with", each))])


def read_installation(prefix: str = sys.prefix) -> Installation:
    """Read the record that uv or pipx left in the environment; without one, pip has installed pflow."""
    import json
    import tomllib
    from importlib.metadata import distribution

    with suppress(*_MALFORMED), open(os.path.join(prefix, "uv-receipt.toml"), "rb") as receipt:
        first, *beside = map(_requirement, tomllib.load(receipt)["tool"]["requirements"])
        return Installation(UV, first, tuple(beside))
    with suppress(*_MALFORMED), open(os.path.join(prefix, "pipx_metadata.json"), "rb") as metadata:
        return Installation(PIPX, str(json.load(metadata)["main_package"]["package"]))
    if os.path.basename(os.path.dirname(prefix)).startswith(_OF_UVX):
        with suppress(*_MALFORMED):  # the record is there if uvx got a file or an address instead of a name
            about = json.loads(distribution(NAME).read_text("direct_url.json") or "")
            return Installation(UVX, f"{NAME} @ {'git+' if 'vcs_info' in about else ''}{about['url']}")
        return Installation(UVX)
    is_own = site.ENABLE_USER_SITE and __file__.startswith(os.path.join(site.getusersitepackages(), ""))
    return Installation(USER if is_own else PIP)


def no_extra(act: str, library: str, extra: str) -> PflowError:
    """Return the failure of an act because a library of an extra of pflow-shell is missing."""
    hint = read_installation().add(f"{NAME}[{extra}]")
    return PflowError(f"{act}: {library} is not installed", hint=hint, exit=BAD_CONFIG)


def needs(act: str, library: str, extra: str) -> Attempt:
    """Return a context in which a missing library, of an extra of pflow-shell, raises PflowError (78)."""
    return Attempt(act, lambda act, error: no_extra(act, library, extra), of=ImportError)


def _requirement(listed: dict[str, Any]) -> str:
    """Write a requirement of uv's receipt as `uv tool install` takes it."""
    extras = f"[{','.join(listed['extras'])}]" if listed.get("extras") else ""
    source = next((listed[kind] for kind in ("directory", "editable", "path", "url") if kind in listed), None)
    source = source or (f"git+{listed['git']}" if "git" in listed else None)
    name = str(listed["name"]) + extras
    return f"{name} @ {source}" if source else name + str(listed.get("specifier", ""))
