"""pflow: LLM workflows out of small Unix programs. Each name is imported when it is asked for."""

__version__ = "0.1.0"

TYPE_CHECKING = False
"""The name of typing, which takes a stage too long to import. Type checkers know it."""

if TYPE_CHECKING:
    from collections.abc import Callable as Callable
    from collections.abc import Collection as Collection
    from collections.abc import Container as Container
    from collections.abc import Coroutine as Coroutine
    from collections.abc import Iterable as Iterable
    from collections.abc import Iterator as Iterator
    from collections.abc import Mapping as Mapping
    from collections.abc import MutableMapping as MutableMapping
    from collections.abc import Sequence as Sequence
    from typing import Any as Any
    from typing import NoReturn as NoReturn
else:  # for annotations alone, which are never evaluated
    Any = Callable = Collection = Container = Coroutine = Iterable = Iterator = None
    Mapping = MutableMapping = NoReturn = Sequence = None

__all__ = ["Flow", "Node", "NodeAwareSharedStore", "PflowError", "flow_safe", "load_node", "run", "step"]

_HOMES = {
    "Flow": "pflow.driver.flow",
    "Node": "pflow.node",
    "NodeAwareSharedStore": "pflow.binding.shared_store",
    "PflowError": "pflow.errors",
    "flow_safe": "pflow.node",
    "load_node": "pflow.driver.flow",
    "run": "pflow.driver.flow",
    "step": "pflow.driver.flow",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pflow' has no attribute {name!r}")
    home = __import__(_HOMES[name], fromlist=[name])
    return getattr(home, name)
