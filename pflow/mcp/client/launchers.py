"""npx and uvx, which look for a program at each start: what they would run, so that it is the same and quick."""

import json
import os
import re
from pathlib import Path

from pflow.errors import NOT_FOUND, UNAVAILABLE, Attempt, PflowError, shorten
from pflow.process.children import output_of
from pflow.process.signals import Deadline, TimedOut
from pflow.text.printable import one_line

_SECONDS = 300
_ADVICE = re.compile("^ *hint:|complete log")
_FLAGS = {"-y", "--yes", "-q", "--quiet", "--isolated", "--no-config", "--offline", "--prefer-offline"}
_WITH_VALUE = {"--from", "--with", "--python", "-p", "--package", "--index", "--index-url", "--default-index"}


def resolve(command: list[str], env: dict[str, str]) -> list[str]:
    """Return what a command runs: the program that npx or uvx would install, else the command itself.

    It is installed with our own environment, which may name an index or a proxy, and the server's `env`. A
    command with flags that are not known here stays as it is. Raises PflowError: 69 if it cannot be installed, 127 if
    npx or uvx is missing.
    """
    tool = os.path.basename(command[0])
    env = {**os.environ, **env}
    flags, words = _parted(command[1:])
    if tool not in ("npx", "uvx") or not words or words[0].startswith("-"):
        return command
    find = _found_by_npx if tool == "npx" else _found_by_uvx
    program = find(command[0], flags, words[0], env)
    return [program, *words[1:]] if program else command


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """Split the flags of npx or uvx from the package and its own words."""
    at = 0
    while at < len(words) and (words[at] in _FLAGS or words[at].partition("=")[0] in _WITH_VALUE):
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[:at], words[at:]


def _found_by_uvx(uvx: str, flags: list[str], package: str, env: dict[str, str]) -> str:
    name, _, version = package.partition("@")
    if not any(each.partition("=")[0] == "--from" for each in flags):
        flags = [*flags, "--from", f"{name}=={version}" if version not in ("", "latest") else name]
    program = name.partition("[")[0]
    return _ask([uvx, *flags, "sh", "-c", 'command -v "$1"', "sh", program], env)


def _found_by_npx(npx: str, flags: list[str], package: str, env: dict[str, str]) -> str:
    if any(each.partition("=")[0] in ("-p", "--package") for each in flags):
        return (
            _ask([npx, "-y", *flags, "-c", f"command -v {package}"], env) if re.fullmatch(r"[\w.-]+", package) else ""
        )
    path = _ask([npx, "-y", *flags, f"--package={package}", "-c", 'printf %s "$PATH"'], env)
    name = re.sub("(?<=.)@.*", "", package)
    for folder in path.split(os.pathsep):
        about = Path(folder).parent / name / "package.json"
        if Path(folder).name == ".bin" and about.is_file():
            programs = json.loads(about.read_text(encoding="utf-8-sig")).get("bin") or {}
            short = name.rpartition("/")[2]
            known = [short] if isinstance(programs, str) or short in programs else list(programs)
            return os.path.join(folder, known[0]) if len(known) == 1 else ""
    return ""


def _ask(words: list[str], env: dict[str, str]) -> str:
    """Run npx or uvx, and return the last line that it prints."""
    act = f"cannot find out what '{shorten(os.path.basename(words[0]))}' runs"
    try:
        with Attempt(act, hint=f"install {words[0]}", exit=NOT_FOUND), Deadline(_SECONDS):
            code, printed, errors = output_of(words, env)
    except TimedOut:
        raise PflowError(f"{act}: it took longer than {_SECONDS} s", exit=UNAVAILABLE) from None
    if code:
        said = [line for line in errors.splitlines() if line.strip() and not _ADVICE.search(line)]
        why = shorten(one_line(said[-1]), 200) if said else f"it ended with {code}"
        raise PflowError(f"{act}: {why}", exit=UNAVAILABLE)
    return (printed.splitlines() or [""])[-1]
