"""The way pflow was installed, and the commands that extend, reduce and repair that installation."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

NAME = "pflow-shell"
UV, PIPX, PIP = "uv tool", "pipx", "pip"

_MALFORMED = (OSError, ValueError, KeyError, TypeError)
"""The errors of reading a record that is missing or has another form."""


@dataclass
class Installation:
    """The tool that made pflow's environment, its name for pflow, and the distributions that it added."""

    tool: str = PIP
    name: str = NAME
    beside: list[str] = field(default_factory=list)

    def add(self, requirement: str) -> str:
        """Return the command that adds a distribution so that the next upgrade keeps it."""
        if self.tool == UV:
            return _uv(self.name, [*self.beside, requirement])
        return self._command(["inject", self.name, requirement], ["install", requirement])

    def remove(self, distribution: str) -> str:
        """Return the command that removes a plugin."""
        if self.tool == UV:
            return _uv(self.name, [each for each in self.beside if re.split(r"[^\w.-]", each)[0] != distribution])
        return self._command(["uninject", self.name, distribution], ["uninstall", distribution])

    def mend(self) -> str:
        """Return the command that reinstalls pflow and its dependencies."""
        if self.tool == UV:
            return _uv(self.name, self.beside, "--reinstall")
        return self._command(["reinstall", self.name], ["install", "--force-reinstall", NAME])

    def to_path(self) -> str:
        """Return the command that puts this environment's programs on PATH."""
        own = f'export PATH={shlex.quote(os.path.join(sys.prefix, "bin"))}:"$PATH" in your profile'
        return {UV: "uv tool update-shell", PIPX: "pipx ensurepath"}.get(self.tool, own)

    def _command(self, pipx: list[str], pip: list[str]) -> str:
        if self.tool == PIPX:
            return shlex.join(["pipx", *pipx])
        if find_spec("pip"):
            return shlex.join([sys.executable, "-m", "pip", *pip])
        return shlex.join(["uv", "pip", pip[0], "--python", sys.executable, *pip[1:]])


def _uv(name: str, beside: list[str], *flags: str) -> str:
    return shlex.join(["uv", "tool", "install", *flags, name, *(word for each in beside for word in ("--with", each))])


def read_installation(prefix: str = sys.prefix) -> Installation:
    """Read the records of uv or pipx in the environment; without either it is pip's."""
    with suppress(*_MALFORMED), open(os.path.join(prefix, "uv-receipt.toml"), "rb") as receipt:
        first, *beside = map(_requirement, tomllib.load(receipt)["tool"]["requirements"])
        return Installation(UV, first, beside)
    with suppress(*_MALFORMED), open(os.path.join(prefix, "pipx_metadata.json"), "rb") as metadata:
        return Installation(PIPX, str(json.load(metadata)["main_package"]["package"]))
    return Installation()


def _requirement(listed: dict[str, Any]) -> str:
    """Write a requirement of uv's receipt as `uv tool install` takes it."""
    extras = f"[{','.join(listed['extras'])}]" if listed.get("extras") else ""
    place = next((listed[kind] for kind in ("directory", "editable", "path", "url") if kind in listed), None)
    place = place or (f"git+{listed['git']}" if "git" in listed else None)
    name = str(listed["name"]) + extras
    return f"{name} @ {place}" if place else name + str(listed.get("specifier", ""))
