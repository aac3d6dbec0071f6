"""llm's own settings: their directory, and the models they make. A malformed entry costs no other model."""

import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import RLock
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TextIO

import llm
import yaml  # type: ignore[import-untyped,unused-ignore]
from llm import Model
from llm.models import ModelWithAliases
from llm.plugins import load_plugins, pm

from pflow.errors import BAD_CONFIG, PflowError, reason_of, shorten
from pflow.files.directories import llm_directory, make_private
from pflow.files.reading import read_regular
from pflow.models.ending import Ending
from pflow.models.transport import reporting_to
from pflow.process.signals import HeldSignals
from pflow.terminal.messages import say
from pflow.web.route import fault_behind

faults: dict[str, str] = {}
"""The reasons why malformed entries of the settings are passed over, by the id and the aliases of their models."""

entries: dict[str, dict[str, Any]] = {}
"""The entries of extra-openai-models.yaml by model id."""

faults_of_files: list[str] = []
"""The reasons why whole files of settings are passed over, each with its file."""

PATIENCE = 5.0
"""The most seconds for a request with which a plugin looks for its models."""

_TEMPORARY = "pflow-without-home-"

_said: set[str] = set()

_failed: list[Exception] = []

_MEMBERS = {
    **dict.fromkeys(("model_id", "model_name", "api_base", "api_key_name"), (str, "text; put it in quotes")),
    "aliases": (list, "a list"),
    "headers": (dict, "an object"),
}
"""The members of an entry whose wrong type would make llm fail for all models: their types, also in words."""

_REQUIRED = ("model_id", "model_name")
_READ_BY_LLM = ("keys.json", "default_model.txt", "extra-openai-models.yaml")


def directory() -> Path:
    """Return llm's directory of settings, or a temporary one if it cannot be made (no HOME, or a read-only one)."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~")
    try:
        # Without a home click's path begins with a plain "~", and llm would make a directory of that name right here.
        if not os.environ.get("LLM_USER_PATH") and not os.path.isabs(home):
            raise FileNotFoundError("no home directory")
        make_private(llm_directory())  # the one that llm makes would be writable for others if the umask allows it
        return Path(llm.user_dir())  # type: ignore[no-untyped-call]
    except OSError as error:
        if path := os.environ.get("LLM_USER_PATH"):
            raise PflowError(f"cannot use LLM_USER_PATH '{path}': {reason_of(error)}", exit=BAD_CONFIG) from error
    with HeldSignals():  # a signal between the two lines would leave the directory behind
        made, maker = tempfile.mkdtemp(prefix=_TEMPORARY), os.getpid()
        # A forked child inherits atexit, and must not remove what its parent still uses.
        atexit.register(lambda: shutil.rmtree(made if os.getpid() == maker else "", ignore_errors=True))
    os.environ["LLM_USER_PATH"] = made
    return Path(made)


def is_temporary(directory: Path) -> bool:
    """Return True for a temporary directory of settings: what is written there is lost when the process ends."""
    return directory.name.startswith(_TEMPORARY)


def _load_plugins() -> None:
    """Load llm's plugins. If one fails, fail at each further call too: llm would go on with some models missing."""
    if _failed:
        raise _failed[0]
    try:
        load_plugins()  # type: ignore[no-untyped-call]
    except Exception as error:
        _failed.append(error)
        raise


def load_models() -> dict[str, Model]:
    """Load every model of llm's plugins, by id and by alias. Raises what a plugin raises."""
    defer_types()
    from llm.default_plugins import openai_models

    faults.clear()
    entries.clear()
    faults_of_files.clear()
    for file in (directory() / name for name in _READ_BY_LLM):
        if file.exists() and not file.is_file():  # llm would open a named pipe, and wait for ever
            raise PflowError(f"cannot read '{file}': not a regular file", exit=BAD_CONFIG)
    _load_plugins()
    # llm's plugin for OpenAI fails at the first malformed entry, and then has no model at all. Its code runs here with
    # another reader of that file, which leaves out such entries.
    names = {**vars(openai_models), "yaml": SimpleNamespace(safe_load=_usable_entries)}
    register_openai = FunctionType(openai_models.register_models.__code__, names)
    others = pm.subset_hook_caller("register_models", [openai_models])
    chosen = _aliases(directory() / "aliases.json")
    found: list[ModelWithAliases] = []

    def register(model: Model, async_model: Any = None, aliases: Iterable[str] | None = None) -> None:
        own = [alias for alias, id in chosen.items() if id == model.model_id]
        found.append(ModelWithAliases(model, async_model, {*(aliases or ()), *own}))

    with reporting_to(Ending(time_limit=PATIENCE)):  # llm-ollama asks its server without a time limit of its own
        register_openai(register)
        others(register=register, model_aliases=found)
    return {name: each.model for each in found if each.model for name in (*each.aliases, each.model.model_id)}


def new_faults() -> list[str]:
    """Return the faults of the settings that were not returned before."""
    found = [each for each in dict.fromkeys([*faults_of_files, *faults.values()]) if each not in _said]
    _said.update(found)
    return found


def report_faults() -> None:
    """Warn once of each entry or file of the settings that is passed over."""
    for fault in new_faults():
        say("pflow", f"warning: {fault}")


def broken(act: str, error: Exception) -> PflowError:
    """Return the error (78) for llm or a plugin that cannot load its models. It does not quote the file of keys."""
    if of_environment := fault_behind(error):
        return of_environment
    file = directory() / "keys.json"
    words = " ".join(f"{type(error).__name__}: {error}".split())
    is_marked = "BOM" in words or isinstance(error, UnicodeDecodeError)
    fault = _read(file)[1] or "llm wants UTF-8 without a byte order mark" * is_marked
    hint = "correct that file, or find the plugin with `llm plugins`"
    return PflowError(f"{act}: {f'{file}: {fault}' if fault else words}", hint=hint, exit=BAD_CONFIG)


def _usable_entries(file: TextIO) -> list[dict[str, Any]]:
    """Return the entries of extra-openai-models.yaml that make a model."""
    try:
        loader = yaml.SafeLoader(file.read())
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        faults_of_files.append(f"{file.name}: {_fault(error)}")
        return []
    if root is not None and not isinstance(root, yaml.SequenceNode):
        faults_of_files.append(f"{file.name}: it is not a list of models, each with model_id and model_name")
        return []
    usable = []
    for number, node in enumerate(root.value if root else [], 1):
        try:
            entry = loader.construct_document(node)
            fault = _fault_of_entry(entry)
        except yaml.YAMLError as error:
            fault = _fault(error)
        except ValueError:
            fault = "it has an impossible date; put it in quotes"
        if fault:
            _pass_over(file.name, number, node, fault)
        else:
            usable.append(entry)
            entries[entry["model_id"]] = entry
    return usable


def _fault_of_entry(entry: Any) -> str:
    """Return why an entry makes no model; "" if it makes one."""
    if not isinstance(entry, dict):
        return "it has no model_id and model_name"
    for name, (type, needed) in _MEMBERS.items():
        if name in _REQUIRED and name not in entry:
            return f"it has no {name}"
        if entry.get(name) is not None and not isinstance(entry[name], type):
            return f"its {name} is not {needed}"
    if not all(entry[name] for name in _REQUIRED):
        return "its model_id or model_name is empty"
    aliases = entry.get("aliases") or []
    return "" if all(isinstance(each, str) for each in aliases) else "an alias is not text; put it in quotes"


def _pass_over(file: str, number: int, node: yaml.Node, fault: str) -> None:
    """Note the fault of an entry under all its names, as the file spells them (`yes`, which YAML reads as True)."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    members = {key.value: each for key, each in pairs if isinstance(key, yaml.ScalarNode)}
    aliases = members.get("aliases")
    nodes = [members.get("model_id"), *(aliases.value if isinstance(aliases, yaml.SequenceNode) else [])]
    names = [each.value for each in nodes if isinstance(each, yaml.ScalarNode) and each.value]
    about = f"entry {number}" + (f" ('{shorten(names[0])}')" if names else "")
    for name in names or [f"{file} {number}"]:
        faults[name] = f"{file}: {about} is passed over: {fault}"


def _aliases(file: Path) -> dict[str, str]:
    aliases = _members(file)
    for alias, id in aliases.items():
        if not isinstance(id, str):
            faults[alias] = f"{file}: the alias '{shorten(alias)}' is passed over: it names no model"
    return {alias: id for alias, id in aliases.items() if isinstance(id, str)}


def default_options(model: Model) -> dict[str, Any]:
    """Return the options that `llm models options set` stored for a model."""
    options = _members(directory() / "model_options.json").get(model.model_id)
    report_faults()
    return options if isinstance(options, dict) else {}


def _members(file: Path) -> dict[str, Any]:
    """Read the members of a JSON object; empty if the file is missing or malformed."""
    found, fault = _read(file)
    if fault:
        faults_of_files.append(f"{file}: {fault}")
    return found


def _read(file: Path) -> tuple[dict[str, Any], str]:
    """Return a JSON object and "", or an empty one and what is wrong with the file. A missing file is empty."""
    try:
        found = json.loads(read_regular(str(file)))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        return {}, _fault(error)
    return (found, "") if isinstance(found, dict) else ({}, "it is not a JSON object")


def _fault(error: Exception) -> str:
    """Describe the fault of a file of settings without quoting the file."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        return f"{error.problem or 'it is not YAML'}{where}"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON at line {error.lineno}, column {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else type(error).__name__


_PACKAGES = ("openai.types", "openai.types.responses")
_loading = RLock()


class _LazyPackage(ModuleType):
    """A package whose own code runs only when one of its names is used; its modules can be imported before that."""

    def __getattr__(self, name: str) -> Any:
        with _loading:
            if loader := vars(self).pop("_unused_loader", None):
                loader.exec_module(self)
        return super().__getattribute__(name)


def defer_types() -> None:
    """Let openai's packages of types load at their first use, which saves 0.2 s of CPU: no chat needs most of them.

    Do nothing if openai is loaded already, or missing.
    """
    openai = None if "openai" in sys.modules else find_spec("openai")
    places = openai and openai.submodule_search_locations
    for name in _PACKAGES:
        spec = places and PathFinder.find_spec(name, places)
        if not spec or not spec.loader:
            return
        package = _LazyPackage(name)
        vars(package).update(vars(module_from_spec(spec)), _unused_loader=spec.loader)
        parent, _, own_name = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], own_name, package)
        sys.modules[name], places = package, spec.submodule_search_locations
