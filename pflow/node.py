"""What a node imports: pocketflow's Node with params from its interface, `flow_safe`, and types."""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING
from pflow.binding.resolve import environment
from pflow.binding.store import without_flow
from pflow.errors import BAD_DATA, PflowError, result_of
from pflow.interface.grammar import parse_interface
from pflow.interface.interface import Interface, fresh
from pflow.text.printable import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from typing import Any as Any
    from typing import TypeVar

    C = TypeVar("C", bound=type)
    Shared = MutableMapping[str, Any]
else:  # typing takes a stage too long to import
    Any, Shared = object, dict


STEP_KEY = "PFLOW_STEP_KEY"


class _LazyModule(type(sys)):  # type: ignore[misc]
    """Stands in for a module until one of its attributes is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        value = getattr(__import__(self.__name__), name)
        setattr(self, name, value)
        return value


# Only pocketflow's flows and async nodes use these; asyncio alone takes 60 ms.
_UNUSED = ("asyncio", "copy", "warnings")


def _import_pocketflow() -> Any:
    stand_ins = {name: _LazyModule(name) for name in _UNUSED if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        return __import__("pocketflow")
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


if TYPE_CHECKING:
    import pocketflow as pocketflow
else:
    pocketflow = _import_pocketflow()


def interface_of(node: type) -> Interface:
    """Return the interface in a node class's docstring, parsed once; if there is none, infer it from the code.

    In pflow's own nodes, and in nodes with a secret, a line that does not parse raises PflowError with file and line.
    In other nodes, the docstring then counts as prose: the interface is open, and its `fault` says why.
    """
    interface = declared_interface(node)
    if interface.open and "_pflow_shown" not in node.__dict__:
        node._pflow_shown = _read_code(node) or interface  # type: ignore[attr-defined]
    found: Interface = node._pflow_shown if interface.open else interface  # type: ignore[attr-defined]
    found.flow_safe = bool(getattr(node, "flow_safe", False))  # the decorator runs after the docstring was parsed
    return found


def declared_interface(node: type) -> Interface:
    """Return the interface in a node class's docstring, without reading its code."""
    if "_pflow_interface" not in node.__dict__:
        node._pflow_interface = _parse_docstring(node)  # type: ignore[attr-defined]
    return node._pflow_interface  # type: ignore[attr-defined,no-any-return]


def _read_code(node: type) -> Interface | None:
    """Infer an interface from the source of a class; None if the source is not available."""
    from pflow.interface.source import read_class

    file = _file_of(node)
    return result_of(read_class, node.__qualname__, file, of=(OSError, PflowError), otherwise=None) if file else None


def _file_of(node: type) -> str | None:
    return getattr(sys.modules.get(node.__module__), "__file__", None)


def _parse_docstring(node: type) -> Interface:
    file = _file_of(node)
    if sys.flags.optimize > 1 and file:  # python -OO drops docstrings
        from pflow.interface.source import read_interface

        return read_interface(file)
    try:
        return parse_interface(node.__doc__ or "", file=file)
    except PflowError as fault:
        if node.__module__.startswith("pflow.nodes.") or "[secret]" in (node.__doc__ or ""):
            raise
        interface = Interface()
        interface.fault = str(fault)
        return interface


def version_of(node: type) -> str:
    """Return the version of a node's class; pocketflow's own classes have none."""
    return clean(str(getattr(node, "version", "1.0.0")))


def class_of(node: Any) -> type:
    """Return the class of a node; if it is a class, return it."""
    return node if isinstance(node, type) else type(node)


def id_of(node: type) -> str:
    """Return the default name of a node, from its class: `llm` for Llm and LLMNode."""
    from pflow.text.naming import kebab

    name = kebab(node.__name__)
    return name.removesuffix("-node") or name


class Default:
    """A property that an attribute of the same name on the object overrides."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self.find = find

    def __get__(self, found: Any, owner: type) -> Any:
        return self.find(owner if found is None else found)


class Node(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """A pocketflow.Node that runs unchanged under plain pocketflow with a plain dict.

    `params` holds the default of every declared param, and `set_params` overrides some. A pocketflow Flow, which sets
    its own params on every node, removes no default. A param with the name of a read supplies it if the dict lacks that
    key.
    """

    version = "1.0.0"
    flow_safe = False
    sink: Callable[[Any], None] | None = None
    not_kept = ""
    """The reason not to cache the last result; empty if it may be cached."""

    warning = ""
    """A warning for the reader of the last result; the trace and the row of a map show it."""

    waits = False
    """True if it only waits for a network, and may do so in many threads at once. There, only the time limits of its
    connections interrupt it.
    """

    tells_budget = False
    """True if the node itself asks its `calls` before each call of a model, and reports the usage to them."""

    claim_file: Callable[[str], None] | None = None
    """In an item of a batch or a map, call it with the path of a file before writing it: it raises PflowError if
    another item has written the file.
    """

    def __init__(self, max_retries: int = 1, wait: float = 0) -> None:
        super().__init__(max_retries, wait)
        self.set_params({})

    @Default
    def id(self) -> str:
        return id_of(class_of(self))

    @Default
    def step_key(self) -> str:
        """The key of this visit or batch item, for work that must happen once: it is the same in every try and resume
        of a run. Empty outside of a run.
        """
        return os.environ.get(STEP_KEY, "")

    @Default
    def calls(self) -> Any:
        """The calls of models so far, and the gate that may limit them (pflow.values.usage.Calls). A run sets it."""
        from pflow.values.usage import Calls

        return Calls()

    def set_params(self, params: Mapping[str, Any]) -> None:
        self._given = params.keys()
        self.params = {**declared_interface(type(self)).defaults(), **fresh(dict(params))}

    def _run(self, shared: Any) -> Any:
        interface, before = declared_interface(type(self)), self.params
        for key, value in environment(interface, self._given).items():
            if key not in before or before[key] == interface.params[key].default:
                self.params = {
                    **self.params,
                    key: value,
                }  # only while it runs, since a flow must keep no secret
        try:
            return super()._run(without_flow(shared, interface, self.params))
        finally:
            self.params = before

    def emit(self, part: str | bytes) -> None:
        """Show a part of the `[pipe]` write as it arrives. The parts joined in order are the write."""
        if self.sink is not None:
            self.sink(part)


def flow_safe(node: C) -> C:
    """Mark a node as pure: the same inputs and params give the same outputs, without effects."""
    if declared_interface(node).effects:
        raise PflowError(f"cannot mark '{node.__name__}' flow_safe: its interface has effects", exit=BAD_DATA)
    node.flow_safe = True  # type: ignore[attr-defined]
    return node


def load_bundled(name: str) -> type:
    """Load the class of one of pflow's own nodes, by the name of its executable."""
    module = "pflow.nodes." + name.replace("-", "_")
    __import__(module)
    return pick_class(sys.modules[module], name)


def pick_class(module: Any, name: str) -> type:
    """Return the node class of a module: the class with the node's name, else the only node class.

    Raises PflowError (65) for a module without a node class, and for a class that is not a pocketflow.Node (PF09).
    """
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    nodes = [each for each in own if issubclass(each, pocketflow.Node)]
    choice = own
    if len(own) > 1:
        from pflow.interface.source import plain

        named = [each for each in own if plain(each.__name__) in (plain(name), plain(name) + "node")]
        choice = named or nodes or own
    if len(choice) != 1:
        what = "no class" if not choice else f"{len(choice)} classes"
        hint = f"name the class {''.join(part.title() for part in name.split('-'))}"
        hint += f"; pflow run {module.__file__} runs a flow"
        raise PflowError(f"cannot find the node in '{module.__file__}': it has {what}", hint=hint, exit=BAD_DATA)
    if choice[0] not in nodes:
        raise PflowError(
            f"cannot use '{choice[0].__name__}' in '{module.__file__}' as a node: PF09: it is not a pocketflow.Node",
            hint=f"class {choice[0].__name__}(pocketflow.Node)",
            exit=BAD_DATA,
        )
    return choice[0]
