"""Find the directories of nodes and the files of saved flows; load the class of a node."""

from __future__ import annotations

import os
import sys

from pflow import Any, Callable, Iterable
from pflow.errors import BAD_CONFIG, BAD_DATA, PflowError, result_of

PACKAGE = os.path.dirname(os.path.dirname(__file__))


def bundled_directory() -> str:
    """Return the directory of man/ and completions/: pflow/share/ of an installation, or the top of a checkout."""
    share = os.path.join(PACKAGE, "share")
    return share if os.path.isdir(share) else os.path.dirname(PACKAGE)


def load_file(file: str, name: str, read: Callable[[str], bytes] | None = None) -> type:
    """Load the class in a file. For a pack's file, `read` verifies and returns the source; no .pyc is used.

    Raises PflowError: 78 if an import is missing, 65 for other faults.
    """
    from pflow.node import pick_class

    module = "pflow_node_" + name.replace("-", "_")
    return pick_class(load_module(file, module, "load the node", is_node=True, read=read), name)


def load_module(
    file: str, name: str, act: str, *, is_node: bool = False, read: Callable[[str], bytes] | None = None
) -> Any:  # fmt: skip
    """Load a Python file as a module of this name. `act` begins error messages. A node may import modules beside it."""
    from _frozen_importlib import module_from_spec  # importlib.util has it too, but imports more
    from _frozen_importlib_external import SourceFileLoader, spec_from_file_location

    import pflow.node  # noqa: F401 - pocketflow without asyncio, before the file imports it
    from pflow.interface.source import in_words

    class Reading(SourceFileLoader):
        def get_code(self, fullname: str) -> Any:
            return self.source_to_code(read(file), file) if read else super().get_code(fullname)

    spec = spec_from_file_location(name, file, loader=Reading(name, file))
    if spec is None or spec.loader is None:
        raise PflowError(f"cannot {act} '{file}': it is not a Python file", exit=BAD_DATA)
    module = sys.modules[name] = module_from_spec(spec)
    if is_node:
        vars(module)["__builtins__"] = _builtins_beside(file, read)
    writes_no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = writes_no_bytecode or _has_fresh_files(os.path.dirname(file) or ".")
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        from pflow.files.installation import read_installation

        hint = read_installation().add(error.name) if error.name else ""
        if str(error.name).startswith("pflow."):  # another version of pflow wrote this tool's class
            hint = "another version of pflow had it; pflow mcp refresh writes the tools of MCP servers anew"
        raise PflowError(f"cannot {act} '{file}': {error}", hint=hint, exit=BAD_CONFIG) from error
    except PflowError as error:
        raise error.within(f"cannot {act} '{file}'") from error
    except (Exception, SystemExit) as error:
        raise PflowError(f"cannot {act} '{file}': {in_words(error)}", exit=BAD_DATA) from error
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
    return module


def _builtins_beside(file: str, read: Callable[[str], bytes] | None) -> dict[str, Any]:
    """Return Python's builtins with an import that finds modules beside a file, but not those of other directories."""
    import builtins

    def import_(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        place = "" if level else _beside(file, name)
        if not place:
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = BESIDE + place
        try:
            return sys.modules.get(module) or load_module(place, module, "import", is_node=True, read=read)
        except PflowError:
            del sys.modules[module]  # or the next import would find a module of which only a part ran
            raise

    return vars(builtins) | {"__import__": import_}


def _beside(file: str, name: str) -> str:
    """Return the file of a module beside a node; "" if there is none, or an installed module has that name."""
    from importlib.machinery import PathFinder

    places = [
        os.path.join(os.path.dirname(each), f"{name}.py") for each in (os.path.abspath(file), os.path.realpath(file))
    ]
    found = next(filter(os.path.isfile, places), "")
    spec = PathFinder.find_spec(name) if found else None
    is_installed = spec is not None and "-packages/" in (spec.origin or "")
    return "" if is_installed or name in sys.stdlib_module_names else found


BESIDE = "pflow_beside:"
"""A module beside a node is loaded under this and its path, so that only nodes of one directory share it."""

_FRESH = 2
"""Seconds in which a file may change but keep the time and size by which Python checks its bytecode."""


def _has_fresh_files(folder: str) -> bool:
    """Return True if a Python file in a folder is so new that its bytecode might be used for its next version."""
    import time

    since = time.time() - _FRESH
    try:
        with os.scandir(folder) as files:
            return any(file.name.endswith(".py") and file.stat().st_mtime > since for file in files)
    except OSError:
        return False


def own_directories() -> list[str]:
    """Return the directories of a user's own nodes: those of PFLOW_NODES, then pflow/nodes under XDG_DATA_HOME."""
    listed = [each for each in os.environ.get("PFLOW_NODES", "").split(os.pathsep) if each]
    own = data_directory("nodes")
    return [*listed, own] if own else listed


def data_directory(name: str) -> str | None:
    """Return pflow's directory of this name under XDG_DATA_HOME; None if the environment names no place."""
    from pflow.files import directories

    return directories.data_directory(name)


def needed_directory(name: str, what: str, hint: str = "set HOME") -> str:
    """Return pflow's directory of this name, which has `what`. Raises PflowError (78) if no home is known."""
    if folder := data_directory(name):
        return folder
    why = f"cannot find the place of {what}: neither XDG_DATA_HOME nor HOME names one"
    raise PflowError(why, hint=hint, exit=BAD_CONFIG)


def names_in(folder: str) -> list[str]:
    """Return the names of the plugins in a folder of pflow: `nodes`, `commands`, `store_commands` …"""
    files = sorted(os.listdir(os.path.join(PACKAGE, folder)))
    names = [file[:-3].replace("_", "-") for file in files if file.endswith(".py") and not file.startswith("_")]
    return [name for name in names if name != "main"]


SUFFIX = ".pflow.json"
"""The ending of a saved flow's file name."""


def is_flow_type(type: str) -> bool:
    """Return True if a step's type names a flow: `flow:NAME`, or a path to a file."""
    return type.startswith("flow:") or "/" in type or type.endswith(SUFFIX)


def flow_file(type: str, directory: str = ".") -> str | None:
    """Return the file of the flow that a type names, relative to `directory`; None if it does not exist."""
    saved = type.startswith("flow:")
    if saved:
        return saved_flow(type.removeprefix("flow:"))
    file = os.path.normpath(os.path.join(directory, type))
    return os.path.abspath(file) if os.path.isfile(file) else None


def saved_flow(name: str) -> str | None:
    """Return the file of the flow of this name: the user's own, else a pack's; None if there is none.

    Names that differ only in case, `-` and `_` are one name. Raises PflowError (78) if the packs cannot be read.
    """
    return own_flow(name) or pack_flow(name)


def own_flow(name: str) -> str | None:
    """Return the file of a flow that the user saved, or None."""
    folder = data_directory("flows")
    if folder is None or "/" in name or not name or name.startswith("."):
        return None
    file = os.path.join(folder, name + SUFFIX)
    if os.path.isfile(file):
        return file
    from pflow.interface.source import plain

    wanted = plain(name)
    near = next((each for each in own_flows() if plain(each) == wanted), None) if wanted else None
    return os.path.join(folder, near + SUFFIX) if near is not None else None


def pack_flow(name: str) -> str | None:
    """Return the file of a pack's flow, even if it is missing; None for an unknown name. Raises PflowError (78)."""
    from pflow.interface.source import plain

    wanted = plain(name) if name.replace("-", "").replace("_", "").isalnum() else ""
    return next((file for each, file in pack_flows().items() if plain(each) == wanted), None) if wanted else None


def pack_flows(besides: Iterable[str] = ()) -> dict[str, str]:
    """Return the files of the packs' flows by name, except for the names in `besides`.

    Raises PflowError (78).
    """
    from pflow.catalog.packs import installed_sources
    from pflow.interface.source import plain

    taken, found = set(map(plain, besides)), {}
    for name, file in [each for pack in installed_sources() for each in flows_of(pack).items()]:
        if plain(name) not in taken:
            taken.add(plain(name))
            found[name] = file
    return found


def flows_of(pack: Any) -> dict[str, str]:
    """Return the files of a pack's flows by their names."""
    named = [(flow_name(os.path.basename(file)), file) for _, file in pack.paths("flows")]
    return {name: file for name, file in named if name}


def saved_flows() -> list[str]:
    """Return the names of a user's saved flows and, if the packs can be read, of the packs' flows."""
    own = own_flows()
    return sorted([*own, *result_of(pack_flows, own, of=PflowError, otherwise={})])


def own_flows() -> list[str]:
    """Return the names of the flows that the user saved."""
    try:
        with os.scandir(data_directory("flows") or "/dev/null") as files:
            return sorted(flow_name(file.name) for file in files if flow_name(file.name) and _is_file(file))
    except OSError:
        return []


def flow_name(file: str) -> str:
    """Return the name of the saved flow with this file name; empty for other files."""
    return file.removesuffix(SUFFIX) if file.endswith(SUFFIX) and not file.startswith(".") else ""


def _is_file(file: os.DirEntry[str]) -> bool:
    return result_of(file.is_file, otherwise=False)  # it raises for a link to itself
