"""The secrets of one node: the values of all that its interface marks `[secret]`, wherever they come from."""

from __future__ import annotations

from pflow import Any, Iterator, Mapping
from pflow.binding.resolve import PARAM, Binding
from pflow.binding.sources import PathSource, Source, TemplateSource
from pflow.binding.store import REMOVED
from pflow.errors import PflowError
from pflow.interface.interface import Interface, Item


def has_secrets(interface: Interface) -> bool:
    """Return True if anything in the interface is marked `[secret]`."""
    items = (*interface.reads.values(), *interface.params.values(), *interface.writes.values())
    return any("secret" in item.marks for item in items)


def secret_names(interface: Interface) -> set[str]:
    """Return every name, flags included, of the secrets that the node takes."""
    items = _marked({**interface.reads, **interface.params})
    return {name for item in items for name in (item.name, *item.flags)}


def secret_values(binding: Binding, store: Any) -> Iterator[Any]:
    """Yield the secrets that the node will find; of a template also each value in it."""
    interface, params = binding.interface, binding.has[PARAM]
    assert isinstance(params, dict)
    for item in _marked(interface.reads):
        yield from _values(binding.sources.get(item.name) or PathSource((item.name,)), store)
    for item in _marked({**interface.reads, **interface.params}):
        yield from _values(params[item.name], store) if item.name in params else ()
        value = binding.params.get(item.name)
        if item.required or value != item.default:  # a default is public: the interface shows it
            yield value


def secret_writes(interface: Interface, view: Any) -> Iterator[Any]:
    """Yield the secrets that the node has written so far."""
    written = (dict.get(view, item.name) for item in _marked(interface.writes) if item.name in view.changed)
    return (value for value in written if value is not REMOVED)


def _marked(items: Mapping[str, Item]) -> Iterator[Item]:
    return (item for item in items.values() if "secret" in item.marks)


def _values(source: Source, store: Any) -> Iterator[Any]:
    for each in [source, *(source.sources.values() if isinstance(source, TemplateSource) else ())]:
        try:
            yield each.find(store)
        except PflowError:
            pass  # missing: the node will not start, and its error names the place
