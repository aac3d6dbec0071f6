"""`pflow doctor`: a table of checks of the installation; each check yields diagnoses.

Checks import in their functions, so that one damaged part does not stop the other checks.
"""

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points, requires, version
from pathlib import Path
from typing import NamedTuple

from pflow import __version__
from pflow.errors import PflowError, shorten
from pflow.files.directories import state_directory
from pflow.files.installation import NAME, UVX, Installation, read_installation, requirement_name
from pflow.interface.source import in_words
from pflow.text.printable import counted

WELL, ADVICE, BROKEN = "ok", "advice", "broken"


class Diagnosis(NamedTuple):
    """A part of the installation: its state in a word, a text about it, and the remedy."""

    about: str
    state: str
    text: str
    todo: str = ""


def examine() -> Iterator[Diagnosis]:
    """Yield the diagnoses of every check in order; a check that fails is a diagnosis too."""
    installation = read_installation()
    for about, check in CHECKS.items():
        try:
            yield from check(installation)
        except PflowError as error:
            yield Diagnosis(about, BROKEN, error.message, error.hint)
        except (Exception, SystemExit) as error:
            todo = installation.mend() if isinstance(error, ImportError) else ""
            yield Diagnosis(about, BROKEN, f"not checked: {in_words(error)}", todo)


def _python(installation: Installation) -> Iterator[Diagnosis]:
    yield Diagnosis("python", WELL, f"{platform.python_version()} in {sys.prefix}")


def _pflow(installation: Installation) -> Iterator[Diagnosis]:
    yield Diagnosis("pflow", WELL, f"{__version__}, installed with {installation.installer}")
    own, found = os.path.join(installation.prefix, "bin", "pflow-llm"), shutil.which("pflow-llm")
    if installation.installer == UVX:
        yield Diagnosis("pflow", ADVICE, "its programs are on PATH only below uvx", installation.to_path())
    elif found is None:
        yield Diagnosis("pflow", ADVICE, "pflow-llm is not on PATH", installation.to_path())
    elif os.path.isfile(own) and not os.path.samefile(found, own):
        text = f"'{found}' of another installation comes before this one on PATH"
        yield Diagnosis("pflow", ADVICE, text, installation.to_path())


def _packages(installation: Installation) -> Iterator[Diagnosis]:
    for requirement in [each for each in requires(NAME) or () if ";" not in each]:
        try:
            version(requirement_name(requirement))
        except ModuleNotFoundError:
            yield Diagnosis("pflow", BROKEN, f"it needs {requirement}, which is not installed", installation.mend())


def _llm(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.models import settings

    plugins = _plugins()
    faults = {name: fault for name, entry in plugins.items() if (fault := _fault_of(entry))}
    names = ", ".join(name for name in plugins if name not in faults)
    text = f"{version('llm')}, {f'with {names}' if names else 'without plugins'}"
    yield Diagnosis("llm", WELL, text, f"another provider: {installation.add('llm-NAME')}")
    for name, fault in faults.items():
        distribution = name.partition(" ")[0]
        yield Diagnosis("llm", BROKEN, f"the plugin '{distribution}' fails: {fault}", installation.remove(distribution))
    if not shutil.which("llm"):
        todo = f"alias llm={shlex.quote(os.path.join(installation.prefix, 'bin', 'llm'))} in your profile"
        yield Diagnosis("llm", ADVICE, "the command llm, which sets keys, is not on PATH", todo)
    keys = settings.directory() / "keys.json"
    if keys.is_file() and keys.stat().st_mode & 0o077:
        todo = f"chmod 600 {shlex.quote(str(keys))}"
        yield Diagnosis("llm", BROKEN, f"others can read the keys in '{keys}'", todo)


def _plugins() -> dict[str, EntryPoint]:
    """Return the plugins that llm loads, except pflow's own, by distribution and version."""
    wanted = os.environ.get("LLM_LOAD_PLUGINS")
    found = [(entry.dist, entry) for entry in entry_points(group="llm") if entry.dist and entry.dist.name != NAME]
    loaded = [(dist, entry) for dist, entry in found if wanted is None or dist.name in wanted.split(",")]
    return {f"{dist.name} {dist.version}": entry for dist, entry in loaded}


def _fault_of(plugin: EntryPoint) -> str:
    try:
        plugin.load()
    except (Exception, SystemExit) as error:
        return in_words(error)
    return ""


def _model(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.models import settings
    from pflow.models.choose import all_models, check_key, choose, choose_capable
    from pflow.models.known import better_models, is_small
    from pflow.models.local import LocalModel, engine_command

    all_models()
    for fault in settings.new_faults():
        yield Diagnosis("llm", BROKEN, fault, "correct that file")
    model = choose(os.environ.get("PFLOW_MODEL") or None)
    check_key(model)
    if isinstance(model, LocalModel) and (todo := engine_command()):
        yield Diagnosis("model", BROKEN, f"'{model.model_id}' is the default, but its engine is missing", todo)
    else:
        key = "has the key it needs" if model.needs_key else "needs no key"
        yield Diagnosis("model", WELL, f"'{model.model_id}' is the default, and {key}")
    if is_small(model):
        yield Diagnosis("model", ADVICE, f"'{model.model_id}' is for trying out and for short texts", better_models())
    try:
        check_key(planner := choose_capable(None))
        yield Diagnosis("model", WELL, f"'{planner.model_id}' plans flows from sentences")
    except PflowError as error:
        yield Diagnosis("model", ADVICE, error.message, error.hint)


def _prices(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.models.prices import own_prices

    if prices := own_prices():
        yield Diagnosis("prices", WELL, shorten(f"your own for {', '.join(prices)}", 200))


def _cluster(installation: Installation) -> Iterator[Diagnosis]:
    try:
        yield Diagnosis("cluster", WELL, f"dask's distributed {version('distributed')}, for pflow map --executor=dask")
    except ModuleNotFoundError:
        todo = installation.add(f"{NAME}[dask]")
        yield Diagnosis("cluster", WELL, f"pflow map --executor=dask needs more: {todo}")


def _shells(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.setup.setup import advise, ask_shells, share_directory

    answers = ask_shells()
    texts = {False: "does not find pflow's files", None: "cannot tell: its start-up files wait, or end the shell"}
    places = [Path(installation.prefix, "share")]
    with suppress(PflowError):  # without a home only the installation itself may have pages
        places.append(share_directory(None))
    filled = [place for place in places if (place / "man/man1/pflow.1").exists()]
    has_pages = any(not advise(place, {}).get("man", ("", []))[0] for place in filled)
    for program, (todo, lines) in advise(places[-1], answers).items():
        if not todo or (program == "man" and has_pages):
            yield Diagnosis(program, WELL, "finds pflow's pages" if program == "man" else "completes pflow-llm")
            continue
        todo = f"{todo}: {'; '.join(lines)}" if places[-1] in filled else "pflow setup"
        yield Diagnosis(program, ADVICE, texts[answers.get(program, False)], todo)


def _nodes(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.catalog.find import BUNDLED
    from pflow.catalog.lines import node_lines

    listed = node_lines()
    own = [each for each in listed if each.is_there and each.origin != BUNDLED]
    yield Diagnosis("nodes", WELL, f"{sum(each.is_there for each in listed)} found, {len(own)} of them your own")
    for each in listed:
        if each.fault:
            why = each.fault if each.file in each.fault else f"{each.file}: {each.fault}"
            yield Diagnosis("nodes", BROKEN, why, f"pflow test-node {shlex.quote(each.file)}")


def _packs(installation: Installation) -> Iterator[Diagnosis]:
    from pflow.catalog.find import nodes_of
    from pflow.catalog.packs import faults_of, installed_sources
    from pflow.catalog.registry import flows_of
    from pflow.process.confine import has_landlock

    packs = installed_sources()
    for pack in packs:
        count = f"{counted(len([*nodes_of(pack)]), 'node')}, {counted(len(flows_of(pack)), 'flow')}"
        yield Diagnosis("packs", WELL, f"{pack.label}: {count}, from {pack.address or 'a Python distribution'}")
        yield from [Diagnosis("packs", BROKEN, error.message, error.hint) for error in faults_of(pack).values()]
    if packs and not has_landlock():
        text = "this kernel does not confine the nodes of packs"
        yield Diagnosis("packs", ADVICE, text, "Linux 6.2 or later, with Landlock")


def _state(installation: Installation) -> Iterator[Diagnosis]:
    place = nearest = state_directory()
    if not place or not nearest:
        yield Diagnosis("state", ADVICE, "runs are not kept: the state directory is unknown", "set HOME")
        return
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest)
    sizes = (file.lstat().st_size for file in Path(place).rglob("*") if file.is_file())
    text = f"{sum(sizes) / 1e6:.1f} MB in '{place}'"
    if not os.path.isdir(nearest) or not os.access(nearest, os.W_OK | os.X_OK):
        todo = "make it a directory that you can write, or set XDG_STATE_HOME to another"
        yield Diagnosis("state", BROKEN, f"{text}; '{nearest}' cannot be written", todo)
    elif nearest == place and os.stat(place).st_mode & 0o077:
        yield Diagnosis("state", BROKEN, f"{text}; others can read it", f"chmod go= {shlex.quote(place)}")
    else:
        yield Diagnosis("state", WELL, text)


CHECKS: dict[str, Callable[[Installation], Iterator[Diagnosis]]] = {
    check.__name__[1:]: check
    for check in (_python, _pflow, _packages, _llm, _model, _prices, _cluster, _shells, _nodes, _packs, _state)
}
