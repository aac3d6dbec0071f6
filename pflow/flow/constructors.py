"""The arguments of constructors of nodes in Python, which a flow cannot keep."""

from __future__ import annotations

import inspect
from typing import Any

from pflow.binding.store import is_same
from pflow.node import Node, pocketflow

_ARGUMENTS = "_pflow_arguments"


def remember_arguments() -> None:
    """From now on, keep the arguments of each node's constructor in this process, for `lost_arguments`.

    pocketflow's own `__new__` does it: a node made of a person's class tells nobody afterwards what it was given.
    """

    def new(node: type, *words: Any, **named: Any) -> Any:
        made: Any = object.__new__(node)
        setattr(made, _ARGUMENTS, (words, named))
        return made

    pocketflow.BaseNode.__new__ = new


def lost_arguments(node: Any) -> list[str]:
    """Name the constructor arguments that a flow does not keep: all but defaults, tries, wait and params."""
    words, named = getattr(node, _ARGUMENTS, ((), {}))
    parameters = inspect.signature(type(node).__init__).parameters
    bound = inspect.signature(type(node).__init__).bind(node, *words, **named).arguments
    kept = {name: each.default for name, each in parameters.items()} | node.params
    given: dict[str, Any] = {}
    for name, value in list(bound.items())[1:]:
        given |= value if parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:  # handed on to pocketflow's own constructor
            kept[name] = (getattr(node, "max_retries", 1), getattr(node, "wait", 0))[: len(value)]
    tries = ("max_retries", "wait")
    return [name for name in given if name not in tries and not is_same(given[name], kept.get(name, ...))]


def set_later(node: Any) -> list[str]:
    """Name the attributes set on a node after it was made, which another node made alike lacks.

    Values that no flow could hold, such as clients, are compared by class.
    """
    words, named = getattr(node, _ARGUMENTS, ((), {}))
    try:
        fresh = vars(type(node)(*words, **named))
    except Exception:  # a constructor that works only once
        return []
    kept = {*vars(Node()), "id", _ARGUMENTS}
    return [
        name for name, value in vars(node).items() if name not in kept and not _is_alike(value, fresh.get(name, ...))
    ]


def _is_alike(value: Any, other: Any) -> bool:
    is_plain = isinstance(value, str | int | float | list | dict | None)
    return is_same(value, other) if is_plain else type(value) is type(other)
