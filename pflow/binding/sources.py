"""Where a read comes from: a path, a template, one of several paths, or a constant."""

from __future__ import annotations

from pflow.binding.places import find, has
from pflow.paths import parse_path, write_path
from pflow.templates import TEMPLATE, expand, references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pflow.paths import Path


class Source:
    """A place that a value comes from. `paths` are all that it may look at; `origin` says it in a trace."""

    paths: tuple[Path, ...] = ()
    origin = ""
    flag = ""
    """The flag that it was given by, where it was."""

    def find(self, shared: Mapping[str, Any]) -> Any:
        """The value. Raises NotThere (66) where a path leads nowhere."""
        raise NotImplementedError

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        """The places that `find` looks at as things are."""
        return self.paths


class PathSource(Source):
    """One place of the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paths = (path,)
        self.origin = write_path(path)

    def find(self, shared: Mapping[str, Any]) -> Any:
        return find(shared, self.path)


class AlternativeSource(Source):
    """Several places, of which the one that was written last counts: `written_at` says when, as far as it is known."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.paths = paths
        self.origin = " or ".join(map(write_path, paths))
        self.written_at: Callable[[Path], int] = lambda path: 0

    def find(self, shared: Mapping[str, Any]) -> Any:
        return find(shared, self.choose(shared))

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        return (self.choose(shared),)

    def choose(self, shared: Mapping[str, Any]) -> Path:
        """The path of those that are there which was written last; the first of all where none is."""
        there = [path for path in self.paths if has(shared, path)]
        return max(there, key=self.written_at) if there else self.paths[0]


class TemplateSource(Source):
    """A text (or a list or an object with texts in it) whose references are replaced."""

    def __init__(self, written: Any, sources: Mapping[Path, Source] | None = None, *, flag: str = "") -> None:
        self.written = written
        self.flag = flag
        self.sources = {path: PathSource(path) for path in references(written)} if sources is None else sources
        self.paths = tuple(dict.fromkeys(path for source in self.sources.values() for path in source.paths))
        of = ", ".join(map(write_path, self.paths))
        self.origin = f"{flag} ({of})" if flag else f"template of {of}" if of else "template"

    def find(self, shared: Mapping[str, Any]) -> Any:
        return expand(self.written, lambda path: self.sources[path].find(shared))

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(path for source in self.sources.values() for path in source.places(shared)))


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
