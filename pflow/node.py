"""What a node imports: pocketflow's Node whose params start from its interface, `flow_safe`, and types."""

from __future__ import annotations

import os
import sys

from pflow import TYPE_CHECKING
from pflow.binding.store import without_flow
from pflow.errors import BAD_DATA, PflowError
from pflow.interface.grammar import parse_interface
from pflow.interface.interface import Interface
from pflow.words.printable import clean

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


# What pocketflow imports and only its flows and async nodes use: asyncio alone takes 60 ms.
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
    """The interface in a node class's own docstring, parsed once; of a user's own without one, what its code shows.

    The grammar binds the nodes that come with pflow, and those with a secret: there, PflowError names file and line. In
    a user's own node else, what does not parse is prose: its interface is open, and `fault` says why.
    """
    interface = declared_interface(node)
    if interface.open and "_pflow_shown" not in node.__dict__:
        node._pflow_shown = _read_code(node) or interface  # type: ignore[attr-defined]
    return node._pflow_shown if interface.open else interface  # type: ignore[attr-defined]


def declared_interface(node: type) -> Interface:
    """The interface in a node class's own docstring, without a look at its code."""
    if "_pflow_interface" not in node.__dict__:
        node._pflow_interface = _parse_docstring(node)  # type: ignore[attr-defined]
    return node._pflow_interface  # type: ignore[attr-defined,no-any-return]


def _read_code(node: type) -> Interface | None:
    """What the code of a class shows, where its source is to be had."""
    from pflow.interface.source import read_class

    file = _file_of(node)
    try:
        return read_class(node.__qualname__, file) if file else None
    except (OSError, PflowError):
        return None


def _file_of(node: type) -> str | None:
    return getattr(sys.modules.get(node.__module__), "__file__", None)


def _parse_docstring(node: type) -> Interface:
    file = _file_of(node)
    if sys.flags.optimize > 1 and file:  # Python has dropped the docstring
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
    """The version that a node's class states; a class straight from pocketflow need not state one."""
    return clean(str(getattr(node, "version", "1.0.0")))


def class_of(node: Any) -> type:
    """The class of a node, or the node itself where it is a class."""
    return node if isinstance(node, type) else type(node)


def id_of(node: type) -> str:
    """What a node is called that nobody named: after its class, `llm` for Llm and LLMNode."""
    from pflow.words.naming import kebab

    name = kebab(node.__name__)
    return name.removesuffix("-node") or name


class Default:
    """A property that counts until the object has an attribute of that name."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self.find = find

    def __get__(self, found: Any, owner: type) -> Any:
        return self.find(owner if found is None else found)


class Node(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """A pocketflow.Node that runs unchanged under plain pocketflow with a plain dict.

    `params` holds every param that the docstring declares, from its default, under whatever `set_params` gives; a
    pocketflow Flow, which hands every node its own params, takes none of them away. A param that is called like a read
    stands in for it where the dict has no such key.
    """

    version = "1.0.0"
    flow_safe = False
    sink: Callable[[Any], None] | None = None
    not_kept = ""
    """Why what it just gave is not to be handed on another time, where that is so: the cache keeps it not."""

    tells_budget = False
    """Whether it tells pflow.words.budget of each answer itself, before it asks for the next."""

    def __init__(self, max_retries: int = 1, wait: float = 0) -> None:
        super().__init__(max_retries, wait)
        self.set_params({})

    @Default
    def id(self) -> str:
        return id_of(class_of(self))

    @Default
    def step_key(self) -> str:
        """What names this visit of a step in every try and resume of its run, for what must not be done twice; for an
        item of a batch the item's. Empty outside of a run.
        """
        return os.environ.get(STEP_KEY, "")

    def set_params(self, params: Mapping[str, Any]) -> None:
        self.params = {**declared_interface(type(self)).defaults(), **params}

    def _run(self, shared: Any) -> Any:
        return super()._run(without_flow(shared, declared_interface(type(self)), self.params))

    def emit(self, part: str | bytes) -> None:
        """Show a part of the `[pipe]` write as it arrives, to whoever listens. The parts in order are the write."""
        if self.sink is not None:
            self.sink(part)


def flow_safe(node: C) -> C:
    """Mark a node pure: same inputs and params, same outputs, no effects. An Effects line contradicts it."""
    if declared_interface(node).effects:
        raise PflowError(f"cannot take '{node.__name__}' as flow_safe: its interface has effects", exit=BAD_DATA)
    node.flow_safe = True  # type: ignore[attr-defined]
    return node
