"""Where a read comes from: a path, a template, one of several paths, or a constant."""

from __future__ import annotations

from pflow.flow.flow import TEMPLATE
from pflow.flow.places import find, has
from pflow.paths import parse_path, write_path
from pflow.templates import expand, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pflow.paths import Path


class Source:
    """A place that a value comes from. `paths` are all that it may look at; `origin` says it in a trace."""

    paths: tuple[Path, ...] = ()
    origin = ""

    def find(self, shared: Mapping[str, Any]) -> Any:
        """The value. Raises NotThere (66) where a path leads nowhere."""
        raise NotImplementedError


class PathSource(Source):
    """One place of the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paths = (path,)
        self.origin = write_path(path)

    def find(self, shared: Mapping[str, Any]) -> Any:
        return find(shared, self.path)


class AlternativeSource(Source):
    """Several places, of which the one that was written last counts; `age` tells how long ago that was."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.paths = paths
        self.origin = " or ".join(map(write_path, paths))

    def find(self, shared: Mapping[str, Any]) -> Any:
        return find(shared, self.choose(shared, lambda path: 0))

    def choose(self, shared: Mapping[str, Any], written_at: Callable[[Path], int]) -> Path:
        """The path of those that are there which was written last; the first of all where none is."""
        there = [path for path in self.paths if has(shared, path)]
        return max(there, key=written_at) if there else self.paths[0]


class TemplateSource(Source):
    """A text (or a list or an object with texts in it) whose references are replaced."""

    def __init__(self, written: Any, places: dict[Path, Source] | None = None) -> None:
        self.written = written
        self.places = {path: PathSource(path) for path in references(written)} if places is None else places
        self.paths = tuple(dict.fromkeys(path for source in self.places.values() for path in source.paths))
        self.origin = "template of " + ", ".join(map(write_path, self.paths)) if self.paths else "template"

    def find(self, shared: Mapping[str, Any]) -> Any:
        return expand(self.written, lambda path: self.places[path].find(shared))


class Constant(Source):
    """A value that stands in the flow itself."""

    def __init__(self, value: Any, origin: str) -> None:
        self.value = value
        self.origin = origin

    def find(self, shared: Mapping[str, Any]) -> Any:
        return self.value


def parse_source(written: str | list[str]) -> Source:
    """The source that a mapping names. Raises ValueError where a path does not parse."""
    if isinstance(written, list):
        return AlternativeSource(tuple(parse_path(path) for path in written))
    if written.startswith(TEMPLATE):
        return TemplateSource(written[len(TEMPLATE) :])
    return PathSource(parse_path(written))
