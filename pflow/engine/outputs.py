"""What a flow's store begins with by itself, and what of it goes out in the end."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import assign, has
from pflow.errors import MISSING, PflowError
from pflow.interface.interface import fresh

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow


def set_defaults(flow: WiredFlow, store: Any) -> None:
    """Put the default of each input that is not there into a store."""
    for given in flow.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.default))


def outputs_of(flow: WiredFlow, store: Any) -> dict[str, Any]:
    """The declared outputs of a flow; one that is not there was not reached."""
    found = {}
    for name, source in flow.outputs.items():
        try:
            found[name] = source.find(store)
        except PflowError as error:
            if error.exit != MISSING:
                raise
    return found
