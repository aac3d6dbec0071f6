"""pflow: LLM workflows out of small Unix programs. Each name is imported when it is asked for."""

__version__ = "0.1.0"

TYPE_CHECKING = False
"""What typing calls so; typing itself takes a stage too long to import. Type checkers know the name."""

__all__ = ["Flow", "Node", "NodeAwareSharedStore", "PflowError", "flow_safe", "load_node", "step"]

_HOMES = {
    "Flow": "pflow.driver.flow",
    "Node": "pflow.node",
    "NodeAwareSharedStore": "pflow.binding.store",
    "PflowError": "pflow.errors",
    "flow_safe": "pflow.node",
    "load_node": "pflow.driver.flow",
    "step": "pflow.driver.flow",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pflow' has no attribute {name!r}")
    home = __import__(_HOMES[name], fromlist=[name])
    return getattr(home, name)
