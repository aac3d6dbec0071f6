"""Imports of a user's own file: a module beside it is found, and is another one than that of another directory."""

from __future__ import annotations

import builtins
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from itertools import count
from types import ModuleType

from pflow import Any

_PREFIX = "pflow_beside_"
_numbers = count()
_FIRST = {*sys.stdlib_module_names, "pflow", "pocketflow"}


def is_installed(place: str) -> bool:
    """Return True for a path of an installed distribution."""
    return any(part in ("site-packages", "dist-packages") for part in place.split("/"))


def import_beside(module: ModuleType, file: str, packages: dict[tuple[str, ...], ModuleType]) -> None:
    """Let the code of a module that is about to run import what is beside its file, as if that were on sys.path.

    The modules beside it are those of a package of ours, by their directory in `packages`.
    """
    folders = tuple(dict.fromkeys(map(os.path.dirname, (os.path.abspath(file), os.path.realpath(file)))))
    if folders not in packages:
        package = packages[folders] = ModuleType(f"{_PREFIX}{next(_numbers)}")
        package.__path__ = list(folders)
        sys.modules[package.__name__] = package
    if _Loader not in sys.meta_path:
        sys.meta_path.insert(0, _Loader)
    _add_imports(module, packages[folders])


def _add_imports(module: ModuleType, package: ModuleType) -> None:
    def import_(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        top = name.partition(".")[0]
        if level or not _is_beside(top, package.__path__):
            return builtins.__import__(name, globals, locals, fromlist, level)
        found = builtins.__import__(f"{package.__name__}.{name}", globals, locals, fromlist)
        return found if fromlist else getattr(package, top)

    vars(module)["__builtins__"] = vars(builtins) | {"__import__": import_}


def _is_beside(top: str, folders: Any) -> bool:
    """Return True if a module in the folders is meant: it comes after Python's own modules and installed ones."""
    beside, elsewhere = PathFinder.find_spec(top, folders), PathFinder.find_spec(top)
    if beside is None or elsewhere is None or top in _FIRST:
        return beside is not None and top not in _FIRST
    return beside.origin is not None and not is_installed(elsewhere.origin or "")


class _Loader(SourceFileLoader):
    """Finds and loads the modules of our packages, which import what is beside them too."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        spec = PathFinder.find_spec(name, path) if name.startswith(_PREFIX) else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path)
        return spec

    def exec_module(self, module: ModuleType) -> None:
        _add_imports(module, sys.modules[module.__name__.partition(".")[0]])
        super().exec_module(module)

    def set_data(self, path: str, data: Any, **more: Any) -> None:
        """Write no bytecode, which might be used for the next version of a file that was just written."""
