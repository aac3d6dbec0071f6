"""Sources that stand inside an exported file, as modules under their own names: which ones, and how they are found."""

from __future__ import annotations

import ast
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOADER = '''

class _Embedded:
    """Finds the modules whose sources stand above."""

    def find_spec(self, name, path=None, target=None):
        if name not in MODULES:
            return None
        is_package = any(other.startswith(name + ".") for other in MODULES)
        return importlib.util.spec_from_loader(name, self, is_package=is_package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        module.__file__ = f"{__file__}/{name}"
        exec(compile(MODULES[name], module.__file__, "exec"), module.__dict__)

    def get_source(self, name):
        return MODULES[name]


sys.meta_path.insert(0, _Embedded())
'''

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def closure(modules: Iterable[str], own: dict[str, str]) -> dict[str, str]:
    """The sources of these modules and of every module of pflow's that they import, by name.

    `own` gives the sources of those that are not pflow's.
    """
    sources: dict[str, str] = {}
    todo = list(modules)
    for name in todo:
        source = own.get(name) or _source_of(name)
        if source is None or name in sources:
            continue
        sources[name] = source
        todo += imports_of(source)
    packages = {name[:at] for name in sources for at, sign in enumerate(name) if sign == "."}
    return dict(sorted({**{name: _source_of(name) or "" for name in packages}, **sources}.items()))


def imports_of(source: str) -> list[str]:
    """The modules that a source may import when it runs."""
    return list(_imports(ast.parse(source)))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module
        yield from (_module_of(node.module, alias.name) for alias in node.names)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "__import__":
        yield from (str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant))
    elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "pflow":
        yield _module_of("pflow", node.attr)
    is_for_type_checkers = isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    for child in [] if is_for_type_checkers else ast.iter_child_nodes(node):
        yield from _imports(child)


def _module_of(package: str, name: str) -> str:
    """The module behind `from package import name`; pflow itself hands on what others define."""
    if package != "pflow" or _source_of(f"pflow.{name}") is not None:
        return f"{package}.{name}"
    import pflow

    return str(getattr(getattr(pflow, name, None), "__module__", "pflow"))


def _source_of(module: str) -> str | None:
    """The source of one of pflow's own modules; None for any other."""
    package, *parts = module.split(".")
    if package != "pflow":
        return None
    for end in (os.path.join(*parts, "__init__.py"), *([os.path.join(*parts) + ".py"] if parts else [])):
        if os.path.isfile(file := os.path.join(_HERE, end)):
            with open(file, encoding="utf-8") as source:
                return source.read()
    return None


def packages_of(sources: Iterable[str]) -> list[str]:
    """What sources import that is neither Python's own nor pflow's."""
    roots = {name.partition(".")[0] for source in sources for name in imports_of(source)}
    return sorted(roots - set(sys.stdlib_module_names) - {"pflow", "__future__"})


def literal(source: str) -> str:
    """A Python literal of a source, as it is written wherever that can be."""
    for quotes in ("'''", '"""'):
        if quotes not in source and source[:1] != quotes[0] and source.endswith("\n") and "\r" not in source:
            return f"r{quotes}{source}{quotes}"
    return repr(source) if source else '""'
