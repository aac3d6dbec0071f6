"""How pflow was installed, and the commands that add to it, take from it and mend it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

NAME = "pflow-shell"
UV, PIPX, PIP = "uv tool", "pipx", "pip"


@dataclass
class Installation:
    """The tool that made the environment of pflow, what that calls it, and what it put beside it."""

    tool: str = PIP
    name: str = NAME
    beside: list[str] = field(default_factory=list)

    def add(self, requirement: str, *, is_plugin: bool = False) -> str:
        """The command that adds a distribution so that the next upgrade keeps it."""
        if self.tool == UV:
            return _uv(self.name, [*self.beside, requirement])
        if self.tool == PIPX:
            return shlex.join(["pipx", "inject", self.name, requirement])
        if not find_spec("pip"):
            return shlex.join(["uv", "pip", "install", "--python", sys.executable, requirement])
        return shlex.join([_own("llm"), "install", requirement] if is_plugin else _pip("install", requirement))

    def remove(self, distribution: str) -> str:
        """The command that takes a plugin away."""
        if self.tool == UV:
            return _uv(self.name, [each for each in self.beside if name_of(each) != distribution])
        if self.tool == PIPX:
            return shlex.join(["pipx", "uninject", self.name, distribution])
        if not find_spec("pip"):
            return shlex.join(["uv", "pip", "uninstall", "--python", sys.executable, distribution])
        return shlex.join([*_pip("uninstall"), distribution])

    def to_path(self) -> str:
        """The command that lets the shell find what this environment has."""
        own = f'export PATH={shlex.quote(os.path.join(sys.prefix, "bin"))}:"$PATH" in your profile'
        return {UV: "uv tool update-shell", PIPX: "pipx ensurepath"}.get(self.tool, own)

    def mend(self, requirement: str) -> str:
        """The command that brings back a distribution that pflow needs."""
        if self.tool == UV:
            return _uv(self.name, self.beside, "--reinstall")
        if self.tool == PIPX:
            return shlex.join(["pipx", "reinstall", self.name])
        return (
            shlex.join(_pip("install", "--force-reinstall", requirement)) if find_spec("pip") else self.add(requirement)
        )


def name_of(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    return match[0] if match else requirement


def _uv(name: str, beside: list[str], *flags: str) -> str:
    return shlex.join(["uv", "tool", "install", *flags, name, *(word for each in beside for word in ("--with", each))])


def _pip(*words: str) -> list[str]:
    return [sys.executable, "-m", "pip", *words]


def _own(program: str) -> str:
    """A program of this environment, by its name where the shell finds that one."""
    own, found = os.path.join(sys.prefix, "bin", program), shutil.which(program)
    return program if found and os.path.realpath(found) == os.path.realpath(own) else own


def read_installation(prefix: str = sys.prefix) -> Installation:
    """What uv or pipx wrote down in the environment; where neither did, it is pip's."""
    try:
        with open(os.path.join(prefix, "uv-receipt.toml"), "rb") as receipt:
            first, *beside = map(_requirement, tomllib.load(receipt)["tool"]["requirements"])
        return Installation(UV, first, beside)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        with open(os.path.join(prefix, "pipx_metadata.json"), "rb") as metadata:
            about = json.load(metadata)
        return Installation(PIPX, str(about["main_package"]["package"]), list(about["injected_packages"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Installation()


def _requirement(listed: dict[str, Any]) -> str:
    """A requirement of uv's receipt as `uv tool install` takes it."""
    extras = f"[{','.join(listed['extras'])}]" if listed.get("extras") else ""
    place = next((listed[kind] for kind in ("directory", "editable", "path", "url") if kind in listed), None)
    place = place or (f"git+{listed['git']}" if "git" in listed else None)
    name = str(listed["name"]) + extras
    return f"{name} @ {place}" if place else name + str(listed.get("specifier", ""))
