"""The code that a Python file runs: file and project modules, without comments, and the versions of distributions.

The project is the file's own directory, and every module that is neither in the standard library nor installed.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import warnings
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pflow import __version__
from pflow.errors import reason_of, result_of
from pflow.interface.source import in_words
from pflow.values.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OWN_TEXT = {"__doc__", "getdoc", "getsource", "getsourcelines"}
"""Names with which code reads its own text: then comments count too."""
_FOLLOWED = {"__import__", "import_module"}
_DYNAMIC = _FOLLOWED | {
    *("spec_from_file_location", "SourceFileLoader", "exec_module", "load_module", "run_path", "run_module"),
    *("load_node", "walk_packages", "iter_modules", "entry_points"),
}
"""Functions that import a module known only at run time; a call of one in `_FOLLOWED` may name it in a literal."""
_INSTALLED = ("site-packages", "dist-packages")
_distributions = cache(packages_distributions)
_STANDARD = {os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}


class CannotFollow(Exception):
    """The code that a file runs is unknown; the message says why."""


class PythonCode:
    """The code that a file runs: `parts` are digests by module and versions by distribution.

    `fault` says why the parts are incomplete. `watched` are the files and folders on which they depend, including
    missing ones.
    """

    def __init__(self, file: str) -> None:
        self.parts: dict[str, str] = {}
        self.watched: dict[str, None] = {}
        self.fault = ""
        self._sources: dict[str, bytes] = {}
        self._trees: dict[str, ast.Module] = {}
        package, root = _package_of(file)
        beside = dict.fromkeys([os.path.dirname(file), os.path.dirname(os.path.realpath(file))])
        self._folders = [*([folder] for folder in beside), [root, *map(os.path.abspath, sys.path)]]
        try:
            self._read(file, package, root)
        except CannotFollow as why:
            self.fault = str(why)
        except OSError as error:
            self.fault = f"'{error.filename}' cannot be read: {reason_of(error)}"
        except RecursionError:
            self.fault = "its code is nested too deeply"

    def _read(self, file: str, package: str, root: str) -> None:
        top = os.path.relpath(file, root).removesuffix(".py").split(os.sep)[0]
        if _is_installed(file) and top in _distributions():  # nodes in site-packages may be in no distribution
            self._add_distribution(top)
        else:
            self._add_source(os.path.basename(file), file, package)
        names = {_last_name(node) for tree in self._trees.values() for node in ast.walk(tree)}
        for name, tree in self._trees.items():
            self.parts[name] = digest_of(self._sources[name] if _OWN_TEXT & names else bare(tree))

    def _add_source(self, name: str, file: str, package: str) -> None:
        if name in self._trees:
            return
        self.watched[file] = None
        with open(file, "rb") as source:
            self._sources[name] = source.read()
        try:
            with warnings.catch_warnings():  # Python warns again when it runs the file
                warnings.simplefilter("ignore")
                self._trees[name] = tree = ast.parse(self._sources[name])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise CannotFollow(f"{name} is not valid Python: {in_words(error)}") from None
        for module, is_needed in _imports_of(tree, package, name):
            self._add_module(module, is_needed=is_needed, importer=name)

    def _add_module(self, module: str, *, is_needed: bool, importer: str) -> None:
        """Add a module of the project with its parent packages, or the distribution of an installed one.

        Modules in the file's own folder always count, although Python finds them only if the file is run as a script.
        """
        top, *rest = module.split(".")
        if top == "pflow":
            self.parts["pflow-shell"] = __version__
            return
        found = [places for folders in self._folders if (places := self._find(top, folders))]
        if not found and top not in sys.stdlib_module_names:
            found = _elsewhere(top)
            if not found and is_needed:
                raise CannotFollow(f"{importer} imports '{module}', which is not found")
            self.parts |= {} if found else {module: "missing"}
        for places in found:
            if _is_installed(places[0]):
                self._add_distribution(top)
            elif not _is_standard(places[0]):
                self._add_places(top, places)
                self._add_inside(top, places, rest)

    def _add_inside(self, name: str, places: list[str], rest: list[str]) -> None:
        """Add the modules of a dotted name inside a package; its last part may be a name in a module instead."""
        for part in rest:
            inits = [os.path.dirname(each) for each in places if os.path.basename(each) == "__init__.py"]
            folders = inits or [each for each in places if os.path.isdir(each)]
            if part == "*":
                self.watched |= dict.fromkeys(folders)
            for module in _modules_in(folders) if part == "*" else [part]:
                places = self._find(module, folders)
                self._add_places(f"{name}.{module}", places)
            name = f"{name}.{part}"

    def _add_places(self, module: str, places: list[str]) -> None:
        """Add a module's file. A folder without __init__.py has none."""
        path = module.replace(".", "/")
        for place in places:
            if os.path.basename(place) == "__init__.py":
                self._add_source(f"{path}/__init__.py", place, module)
            elif place.endswith(".py"):
                self._add_source(f"{path}.py", place, module.rpartition(".")[0])
            elif not os.path.isdir(place):
                self.watched[place] = None
                with open(place, "rb") as binary:
                    self.parts[path] = digest_of(binary.read())

    def _find(self, name: str, folders: Iterable[str]) -> list[str]:
        """Find a module as Python searches for it: one file or folder, or several folders of a namespace package."""
        spaces = []
        for folder in folders:
            inside = os.path.join(folder, name)
            if _is_installed(inside):
                self.watched[folder] = None
            elif not _is_standard(inside):
                self.watched |= {f"{inside}/__init__.py": None, f"{inside}.py": None}
            for file in (f"{inside}/__init__.py", *(inside + suffix for suffix in EXTENSION_SUFFIXES), f"{inside}.py"):
                if os.path.isfile(file):
                    return [file]
            if os.path.isdir(inside):
                spaces.append(inside)
        return spaces

    def _add_distribution(self, top: str) -> None:
        names = _distributions().get(top)
        if not names:
            raise CannotFollow(f"'{top}' is installed, but no distribution tells its version")
        self.parts |= {name: version(name) for name in names}


def _elsewhere(top: str) -> list[list[str]]:
    """Find a module with Python's import finders, to which editable installations add their own."""
    spec = result_of(find_spec, top, of=(ImportError, ValueError), otherwise=None)
    return [[spec.origin]] if spec is not None and spec.origin and os.path.isfile(spec.origin) else []


def _modules_in(folders: list[str]) -> list[str]:
    files = sorted(file for folder in folders for file in os.listdir(folder))
    return [file[:-3] for file in files if file.endswith(".py") and file != "__init__.py"]


def _package_of(file: str) -> tuple[str, str]:
    """Return the package to which a file's module belongs, and the folder that contains the package."""
    folder = os.path.dirname(file)
    names: list[str] = []
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return ".".join(names), folder


def _is_installed(place: str) -> bool:
    return any(part in _INSTALLED for part in place.split(os.sep))


def _is_standard(place: str) -> bool:
    real = os.path.realpath(place)
    return not _is_installed(real) and any(real.startswith(folder + os.sep) for folder in _STANDARD)


def _imports_of(tree: ast.Module, package: str, name: str) -> Iterator[tuple[str, bool]]:
    """Yield each module that a file imports, and True if the file fails without it. Raises CannotFollow."""
    optional = {id(inner) for node in ast.walk(tree) if _may_fail(node) for inner in ast.walk(node)}
    followed: set[int] = set()
    for node in ast.walk(tree):
        is_needed = id(node) not in optional
        if isinstance(node, ast.Import):
            yield from ((alias.name, is_needed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package, name)
            yield from ((f"{module}.{alias.name}", is_needed) for alias in node.names)
        elif isinstance(node, ast.Call) and _last_name(node.func) in _FOLLOWED and _text(node):
            followed |= {id(node.func)}
            yield _text(node), is_needed
    for node in ast.walk(tree):
        renamed = isinstance(node, ast.alias) and node.asname and node.name in _DYNAMIC
        if renamed or (_last_name(node) in _DYNAMIC and id(node) not in followed):
            line = getattr(node, "lineno", 1)
            raise CannotFollow(f"{name}, line {line}: it imports a module that its code does not name")


def _may_fail(node: ast.AST) -> bool:
    """Return True if modules imported inside may be missing: in a try, and under TYPE_CHECKING."""
    return isinstance(node, ast.Try) or (isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING")


def _absolute(node: ast.ImportFrom, package: str, name: str) -> str:
    parts = package.split(".") if package else []
    if node.level > len(parts):
        raise CannotFollow(f"{name}, line {node.lineno}: it imports from its package, but is not in a package")
    around = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*around, *([node.module] if node.module else [])])


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(call: ast.Call) -> str:
    """Return the module that a call names in a literal text; "" if it names none."""
    first = getattr(call.args[0], "value", None) if len(call.args) == 1 and not call.keywords else None
    return first if isinstance(first, str) and not first.startswith(".") else ""


def bare(node: Any) -> Any:
    """Return a tree as JSON, without comments, positions and docstrings, the same in all versions of Python."""
    if isinstance(node, list):
        return [bare(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    members = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        has_docstring = ast.get_docstring(node, clean=False) is not None
        members["body"] = node.body[has_docstring:]
    return [type(node).__name__, {name: bare(value) for name, value in members.items() if value not in (None, [])}]
