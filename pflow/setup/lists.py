"""The lists of names that TAB offers: made at once after a setup, and taken away with it where it made them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def absent() -> list[str]:
    """What is not there yet of all that the lists, and what is remembered of nodes, are kept in: outermost first."""
    return [path for path in _kept_in() if not os.path.lexists(path)]


def forget(made: Iterable[str]) -> None:
    """Remove what was absent before a setup; a directory only when nothing else is in it."""
    made = set(made)
    for path in reversed(_kept_in()):
        if path not in made:
            continue
        try:
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        except OSError:
            continue


def _kept_in() -> list[str]:
    from pflow.catalog.offered import FLOWS, MODELS, NODES, RUNS, cache_directory, offered_file

    cache = cache_directory()
    if cache is None:
        return []
    files = [str(offered_file(kind)) for kind in (MODELS, NODES, FLOWS, RUNS)]
    return [os.path.dirname(cache), cache, os.path.join(cache, "nodes.json"), os.path.dirname(files[0]), *files]


def refresh() -> None:
    """Make the lists. One that cannot be made is made by a later run."""
    for make in _MAKERS:
        try:
            make()
        except Exception:  # a plugin of llm's may raise anything
            pass


def _nodes_and_flows() -> None:
    from pflow.catalog.lines import lines, offer_lines
    from pflow.flow.subflow import FlowCatalog

    offer_lines(lines(FlowCatalog()))


def _models() -> None:
    """Only where there is no list yet: every run of llm's makes it anew, and to load llm takes most of a second."""
    import tempfile

    from pflow.catalog.offered import MODELS, offered_file
    from pflow.models.choose import choose, has_settings

    path = offered_file(MODELS)
    if path is None or os.path.exists(path):
        return
    with tempfile.TemporaryDirectory() as scratch:
        if not has_settings():
            os.environ["LLM_USER_PATH"] = scratch  # llm would make its own directory, which --undo could not know
        choose(None)  # offers them all, whether or not one can be used


_MAKERS: tuple[Callable[[], None], ...] = (_nodes_and_flows, _models)
