"""What the flags of a stage ask of the cache."""

from __future__ import annotations

import sys

from pflow import TYPE_CHECKING
from pflow.cache.use import CachedNode
from pflow.cache.wishes import REQUIRE, is_off
from pflow.catalog.interfaces import BUNDLED, PROGRAM, PYTHON, Kind
from pflow.node import version_of

if TYPE_CHECKING:
    from typing import Any

    from pflow.stage.flags import Flags


def cached_node(name: str, file: str | None, node_class: Any, flags: Flags) -> CachedNode | None:
    """The use that a stage makes of the cache; None where that is turned off. Without a file the node is pflow's."""
    if is_off():
        return None
    origin = BUNDLED if file is None else PYTHON if file.endswith(".py") else PROGRAM
    kind = Kind(name, origin, file or str(sys.modules[node_class.__module__].__file__))
    cached = CachedNode(
        kind,
        version_of(node_class),
        flags.interface,
        is_required=flags.cache == REQUIRE,
        refreshes=bool(flags.refresh),
    )
    cached.is_asked = True
    return cached
