"""Git repositories for tests: real ones, Ada's, without settings of whoever runs the tests."""

import os
import subprocess
from pathlib import Path

from tests.tools import need

WHO = {"NAME": "Ada", "EMAIL": "ada@example.org"}
WHEN = "2001-02-03T04:05:06+01:00"
IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in WHO.items()},
}
"""The environment in which git is Ada's."""

FIRST = "Begin"
"""The subject of a new repository's commit."""


def git(folder: Path, *words: str, **options: object) -> str:
    """What git prints, without the last newline."""
    need("git")
    environment = {**os.environ, **IDENTITY, "GIT_AUTHOR_DATE": WHEN, "GIT_COMMITTER_DATE": WHEN}
    command = ["git", "-C", str(folder), *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, **options)
    return ran.stdout.removesuffix("\n")


def make_repository(folder: Path, **files: str) -> Path:
    """A repository on the branch main, with one commit of these files and what is there; the directory."""
    folder.mkdir(exist_ok=True)
    write(folder, **files)
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={FIRST}")
    return folder


def add_remote(folder: Path) -> Path:
    """A bare repository beside it, its remote origin, to which main belongs and is pushed."""
    remote = folder.with_name(f"{folder.name}-origin.git")
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", "--template=", str(remote))
    git(folder, "remote", "add", "origin", str(remote))
    git(folder, "push", "--quiet", "--set-upstream", "origin", "main")
    return remote


def write(folder: Path, **files: str) -> None:
    """Write files, each by its name without .txt."""
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)


def add_hook(folder: Path, name: str, script: str) -> None:
    """Have a repository run a shell script as one of its hooks."""
    hook = folder / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
