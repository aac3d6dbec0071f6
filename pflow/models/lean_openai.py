"""The openai library without the types that no chat uses: they are loaded when one is used, and take 0.2 s of CPU."""

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

_PACKAGES = ("openai.types", "openai.types.responses")
_loading = RLock()


class _LazyPackage(ModuleType):
    """A package whose modules can be imported, and whose own code runs when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        with _loading:
            if loader := vars(self).pop("_unused_loader", None):
                loader.exec_module(self)
        return super().__getattribute__(name)


def defer_types() -> None:
    """Let openai's packages of types be loaded at their first use; if openai is loaded or missing, do nothing."""
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
