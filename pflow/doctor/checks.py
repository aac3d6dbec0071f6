"""What there is to check, a table: each check yields lines, and one that fails is a line itself.

Checks import in their functions: what is damaged costs the others nothing.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pflow import __version__
from pflow.doctor.installation import NAME, Installation, name_of, read_installation
from pflow.errors import PflowError
from pflow.source import in_words
from pflow.xdg import pflow_directory

WELL, ADVICE, BROKEN = "well", "advice", "broken"


class Line(NamedTuple):
    """What was found about something: how it is, in words, and what to do where it is not well."""

    about: str
    state: str
    text: str
    todo: str = ""


def examine() -> Iterator[Line]:
    """The lines of every check, in order."""
    installation = read_installation()
    for about, check in CHECKS.items():
        try:
            yield from check(installation)
        except PflowError as error:
            yield Line(about, BROKEN, error.message, error.hint)
        except (Exception, SystemExit) as error:
            yield Line(about, BROKEN, f"not checked: {in_words(error)}", installation.mend(NAME))


def _python(installation: Installation) -> Iterator[Line]:
    yield Line("python", WELL, f"{platform.python_version()} in {sys.prefix}")


def _pflow(installation: Installation) -> Iterator[Line]:
    yield Line("pflow", WELL, f"{__version__}, installed with {installation.tool}")
    for requirement in _requirements():
        there = _version_of(requirement)
        if _numbers(there) < _numbers(requirement):
            text = f"it needs {requirement}, and has {there or 'none'}"
            yield Line("pflow", BROKEN, text, installation.mend(requirement))
    own, found = os.path.join(sys.prefix, "bin", "pflow-llm"), shutil.which("pflow-llm")
    if found is None:
        yield Line("pflow", ADVICE, "pflow-llm is not on PATH", installation.to_path())
    elif os.path.isfile(own) and not os.path.samefile(found, own):
        text = f"'{found}' of another installation stands before this one on PATH"
        yield Line("pflow", ADVICE, text, installation.to_path())


def _requirements(extra: str = "") -> list[str]:
    """What pflow needs, or one of its extras."""
    marked = extra and f"extra == '{extra}'"
    parts = [each.replace('"', "'").partition(";") for each in requires(NAME) or ()]
    return [name.strip() for name, _, marker in parts if marker.strip() == marked]


def _numbers(text: str) -> list[int]:
    """The numbers of a version, or of what a requirement asks at least."""
    return [int(number) for number in re.findall(r"\d+", text.rpartition("=")[2])]


def _version_of(requirement: str) -> str:
    try:
        return version(name_of(requirement))
    except PackageNotFoundError:
        return ""


def _llm(installation: Installation) -> Iterator[Line]:
    from pflow.models.health import faults_of_settings, keys_file, plugins

    found = plugins()
    names = ", ".join(f"{name} {version}" for name, version, fault in found if not fault)
    text = f"{version('llm')}, {f'with {names}' if names else 'without plugins'}"
    yield Line("llm", WELL, text, f"another provider: {installation.add('llm-NAME', is_plugin=True)}")
    if not shutil.which("llm"):
        todo = f"alias llm={shlex.quote(os.path.join(sys.prefix, 'bin', 'llm'))} in your profile"
        yield Line("llm", ADVICE, "the command llm, which sets keys, is not on PATH", todo)
    for name, _, fault in found:
        if fault:
            yield Line("llm", BROKEN, f"the plugin '{name}' fails: {fault}", installation.remove(name))
    for fault in faults_of_settings():
        yield Line("llm", BROKEN, fault, "correct that file")
    if os.path.isfile(keys := keys_file()) and os.stat(keys).st_mode & 0o077:
        yield Line("llm", BROKEN, f"others may read the keys in '{keys}'", f"chmod 600 {shlex.quote(keys)}")
    if any(fault for _, _, fault in found):
        yield Line("model", BROKEN, "not known while a plugin of llm fails")
    else:
        yield from _models(installation)


def _models(installation: Installation) -> Iterator[Line]:
    from pflow.models.health import chosen_model

    try:
        name, is_local = chosen_model()
        if is_local and not find_spec("xllamacpp"):
            todo = installation.add(*_requirements("local"))
            yield Line("model", BROKEN, f"'{name}' is asked, and its engine is missing", todo)
        else:
            yield Line("model", WELL, f"'{name}' is asked{'' if is_local else ', and has its key or needs none'}")
    except PflowError as error:
        todo = error.hint.replace("pip install 'pflow-shell[local]'", installation.add(*_requirements("local")))
        yield Line("model", BROKEN, error.message, todo)
        return
    try:
        yield Line("model", WELL, f"'{chosen_model(plans=True)[0]}' plans what a sentence asks")
    except PflowError as error:
        yield Line("model", ADVICE, error.message, error.hint)


def _extras(installation: Installation) -> Iterator[Line]:
    for extra, use in {"local": "models on this machine", "mcp": "pflow as a server for agents"}.items():
        (requirement,) = _requirements(extra)
        if found := _version_of(requirement):
            yield Line(extra, WELL, f"{name_of(requirement)} {found}")
        else:
            yield Line(extra, ADVICE, f"not installed: {use}", installation.add(requirement))


def _shells(installation: Installation) -> Iterator[Line]:
    from pflow.setup import FOLDERS, advise, find_share, find_wanted, read_setup

    try:
        share = find_share(None)
    except PflowError as error:
        yield Line("shells", ADVICE, error.message, "set HOME")
        return
    shipped, setup = Path(sys.prefix, "share"), read_setup(share)
    lacking = advise(shipped)
    changes = setup.changes(find_wanted()[0]) if setup.files else {}
    for program, (file, lines) in advise(share).items():
        stale = [name for name, change in changes.items() if name.startswith(FOLDERS[program]) and change != "keep"]
        if os.path.isdir(shipped / FOLDERS[program]) and not lacking[program][1]:
            yield Line(program, WELL, f"finds what is in '{shipped / FOLDERS[program]}'")
        elif not setup.files:
            yield Line(program, ADVICE, "finds no page or completion of pflow's", "pflow setup")
        elif lines:
            yield Line(
                program,
                ADVICE,
                f"does not look into '{share / FOLDERS[program]}'",
                f"add to {file}: {'; '.join(lines)}",
            )
        elif stale:
            yield Line(program, ADVICE, f"{len(stale)} files are not as this version has them", "pflow setup")
        else:
            yield Line(program, WELL, f"finds what is in '{share / FOLDERS[program]}'")


def _nodes(installation: Installation) -> Iterator[Line]:
    from pflow.catalog.kinds import BUNDLED
    from pflow.catalog.lines import node_lines

    listed = node_lines()
    own = [each for each in listed if each.is_there and each.origin != BUNDLED]
    yield Line("nodes", WELL, f"{sum(each.is_there for each in listed)} found, {len(own)} of them your own")
    for each in listed:
        if each.fault:
            why = each.fault if each.file in each.fault else f"{each.file}: {each.fault}"
            yield Line("nodes", BROKEN, why, f"pflow test-node {shlex.quote(each.file)}")
        elif each.behind and not os.path.exists(os.path.join(os.path.dirname(each.file), "pflow")):
            yield Line("nodes", ADVICE, f"'{each.file}' is never run: {each.behind} has its name", "rename it")


def _flows(installation: Installation) -> Iterator[Line]:
    from pflow.library.saved import list_saved

    saved = list_saved()
    yield Line("flows", WELL, f"{sum(not each.fault for each in saved)} saved")
    for each in saved:
        if each.fault:
            yield Line("flows", BROKEN, each.fault, f"correct it, or: pflow remove {shlex.quote(each.name)}")


def _files(installation: Installation) -> Iterator[Line]:
    """The directories that hold a user's data: how large each is, and that nobody else can read them."""
    places = {
        "state": ("XDG_STATE_HOME", ".local/state", ""),
        "cache": ("XDG_CACHE_HOME", ".cache", ""),
        "library": ("XDG_DATA_HOME", ".local/share", "flows"),
    }
    for about, (variable, default, part) in places.items():
        above = pflow_directory(variable, default)
        place = os.path.join(above, part).rstrip("/") if above else ""
        if not place:
            yield Line(about, ADVICE, "it has no place, and is not kept", "set HOME")
        elif not os.path.lexists(place) and _may_write(place):
            yield Line(about, WELL, f"there is nothing in '{place}' yet")
        else:
            yield _place(about, place, variable)


def _place(about: str, place: str, variable: str) -> Line:
    size, reachable = _look_through(place)
    text = f"{size / 1e6:.1f} MB in '{place}'"
    if reachable:
        todo = f"chmod -R go= {shlex.quote(place)}"
        return Line(about, BROKEN, f"{text}; others may reach '{reachable[0]}'", todo)
    if not _may_write(place):
        todo = f"make it yours, or set {variable} to another place"
        return Line(about, BROKEN, f"{text}; it cannot be written", todo)
    return Line(about, WELL, text)


def _look_through(place: str) -> tuple[int, list[str]]:
    """The bytes of all files in a directory, and what others than its owner can reach."""
    size, reachable, closed = 0, [], set()
    for folder, folders, files in os.walk(place):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            try:
                status = os.stat(path)
            except OSError:  # a run that is pruned just now, or a link to nowhere
                continue
            size += status.st_size
            if folder not in closed and status.st_mode & 0o077:
                reachable.append(path)
            elif path == folder:
                closed.add(folder)
        if folder in closed:
            closed.update(os.path.join(folder, name) for name in folders)
    return size, reachable


def _may_write(place: str) -> bool:
    """Whether a directory can be written, or be made."""
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    return os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)


CHECKS: dict[str, Callable[[Installation], Iterator[Line]]] = {
    "python": _python,
    "pflow": _pflow,
    "llm": _llm,
    "extras": _extras,
    "shells": _shells,
    "nodes": _nodes,
    "flows": _flows,
    "files": _files,
}
