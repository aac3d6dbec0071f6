"""Nodes of a test's own: written into a folder that PFLOW_NODES names, and forgotten again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from pflow.catalog.find import forget_types
from pflow.catalog.registry import names_in

NODE = 'import pocketflow\n\n\nclass {name}(pocketflow.Node):\n    """{text}\n    """\n'


def put_node(folder: Path, name: str, items: str | None) -> None:
    """A node with these items of an interface; without any, one whose docstring is prose."""
    text = "Prose." if items is None else f"A node.\n\n    Interface:{items}"
    title = "".join(part.title() for part in name.split("_"))
    (folder / f"{name}.py").write_text(NODE.format(name=title, text=text))
    forget_types()


def hide_bundled(patch: pytest.MonkeyPatch, names: Iterable[str]) -> None:
    """Have no nodes of pflow's own by these names, for tests that have others."""
    hidden = {name.replace("_", "-") for name in names}
    left = [name for name in names_in("nodes") if name not in hidden]
    patch.setattr("pflow.catalog.find.names_in", lambda folder: left if folder == "nodes" else names_in(folder))


@contextmanager
def own_nodes(folder: Path, nodes: Mapping[str, str | None]) -> Iterator[None]:
    """These nodes, each with the items of its interface, are there to be found, and no others of a user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PFLOW_NODES", str(folder))
        hide_bundled(patch, nodes)
        for name, items in nodes.items():
            put_node(folder, name, items)
        yield
    forget_types()
