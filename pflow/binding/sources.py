"""The sources of a read (a path, a template, one of several paths, a constant), and access to the store by path."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Collection, Mapping, MutableMapping, Sequence
from pflow.errors import BAD_DATA, DENIED, MISSING, PflowError, shorten
from pflow.values.paths import Path, look_up, missing, parse_path, type_name, write_path

if TYPE_CHECKING:
    from pflow.interface.interface import Field
    from pflow.values.types import Type


class NotThere(PflowError, KeyError):
    """Nothing is at a path. Nodes see a KeyError; people see exit code 66 and the names that exist."""

    def __str__(self) -> str:
        return self.message


def find(store: Any, path: Path) -> Any:
    """Return the value at a path of a store. Raises NotThere, which names what exists."""
    value = store
    for step in path:
        if value.__class__ is not dict or step not in value:
            return _find(store, path)
        value = value[step]
    return value


def _find(store: Any, path: Path) -> Any:
    """Find a value the slow way, if something on the path is not a dict or is missing."""
    key = path[0] if isinstance(path[0], str) else str(path[0])
    if key not in store:
        raise _not_there(path, missing(key, list(store), "the store"))
    if len(path) == 1:
        return store[key]
    try:
        return look_up(store[key], path, 1)
    except PflowError as error:
        if error.exit == MISSING:
            raise _not_there(path, error) from None
        raise


def _not_there(path: Path, why: PflowError) -> NotThere:
    return NotThere(f"cannot find '{write_path(path)}': {why.message}", hint=why.hint, exit=MISSING)


def has(store: Any, path: Path) -> bool:
    """Return True if something is at a path."""
    if len(path) == 1 or str(path[0]) not in store:  # making the error with its list of names takes long
        return str(path[0]) in store
    try:
        find(store, path)
    except NotThere:
        return False
    return True


def assign(store: MutableMapping[str, Any], path: Path, value: Any) -> None:
    """Set the place at a path, making objects on the way. Raises PflowError (65) if something else is in the way."""
    container = store
    for at, step in enumerate(path[:-1]):
        container = container.setdefault(str(step), {})
        if not isinstance(container, dict):
            raise _in_the_way(path, at, container)
    container[str(path[-1])] = value


def check_place(store: Any, path: Path) -> None:
    """Raise the PflowError (65) that `assign` would raise."""
    container = store
    for at, step in enumerate(path[:-1]):
        if str(step) not in container:
            return
        container = container[str(step)]
        if not isinstance(container, dict):
            raise _in_the_way(path, at, container)


def _in_the_way(path: Path, at: int, there: Any) -> PflowError:
    place = write_path(path[: at + 1])
    why = f"'{place}' is {type_name(there)}, not an object"
    return PflowError(f"cannot write '{write_path(path)}': {why}", exit=BAD_DATA)


def remove(store: MutableMapping[str, Any], path: Path) -> None:
    """Remove the value at a path. Raises NotThere if it is missing, or inside a text that holds JSON."""
    find(store, path)
    container: Any = find(store, path[:-1]) if len(path) > 1 else store
    if isinstance(container, str):
        raise NotThere(f"cannot remove '{write_path(path)}': it is inside a text", exit=MISSING)
    key: Any = path[-1]
    del container[int(key) if isinstance(container, list) else str(key)]


class Source:
    """Where a value comes from. `paths` are all places that it may look at; `origin` names it in a trace."""

    paths: tuple[Path, ...] = ()
    origin = ""
    flag = ""
    """The flag that gave the source; empty if none did."""
    is_directories = False
    """True if it gives the directories of a path: a template inserts them as several names."""
    is_optional = False
    """True if a missing value leaves a read to the next rule."""

    def find(self, shared: Mapping[str, Any]) -> Any:
        """Return the value. Raises NotThere (66) if it is missing."""
        return find(shared, self.places(shared)[0])

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        """Return the places that `find` looks at in this store."""
        return self.paths


class PathSource(Source):
    """One place of the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paths = (path,)
        self.origin = write_path(path)


class AlternativeSource(Source):
    """Several places, of which the last written one counts. `written_at` orders them by time, if known."""

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.paths = paths
        self.origin = " or ".join(map(write_path, paths))
        self.written_at: Callable[[Path], int] = lambda path: 0

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        """Return the last written of the paths that exist; the first path if none exists."""
        there = [path for path in self.paths if has(shared, path)]
        return (max(there, key=self.written_at),) if there else self.paths[:1]


def without_newline(places: Sequence[Path], value: Any) -> Any:
    """Return a program's output without its newline if it is one line, such as a name; any other value unchanged."""
    is_printed = len(places) == 1 and places[0][-1] in ("stdin", "stdout") and isinstance(value, str)
    return value[:-1] if is_printed and value.find("\n") == len(value) - 1 else value


class Fallback(Source):
    """Several sources, of which the first with a value counts: the store's own key, then the pipe's."""

    is_optional = True

    def __init__(self, *sources: Source) -> None:
        self.sources = {source.paths: source for source in sources}
        self.paths = tuple(dict.fromkeys(path for paths in self.sources for path in paths))
        self.origin = ", else ".join(source.origin for source in sources)

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        for source in self.sources.values():
            place = source.places(shared)[0]
            if has(shared, place) and not is_whole_object(shared, place):
                return (place,)
        return self.paths[:1]


def is_whole_object(shared: Any, place: Path) -> bool:
    """Return True for the object that `--from=json` read. Its members are keys, so no inferred read takes the whole."""
    return place == ("stdin",) and has(shared, place) and isinstance(shared["stdin"], dict)


class TemplateSource(Source):
    """A text, or a list or object of texts, whose references are replaced."""

    def __init__(self, written: Any, sources: Mapping[Path, Source] | None = None, *, flag: str = "") -> None:
        from pflow.values.templates import references

        self.written = written
        self.flag = flag
        self.sources = {path: PathSource(path) for path in references(written)} if sources is None else sources
        self.paths = tuple(dict.fromkeys(path for source in self.sources.values() for path in source.paths))
        self.from_steps: Collection[Path] = ()
        """The references to values that steps wrote, as far as known."""
        of = ", ".join(map(write_path, self.paths))
        self.origin = f"{flag} ({of})" if flag else f"template of {of}" if of else "template"

    def find(self, shared: Mapping[str, Any], type: Type | None = None) -> Any:
        """Return the text. Raises PflowError (77) if a value from the store leads a path or a URL elsewhere."""
        from pflow.values.templates import Directories, expand, join_path

        is_path = type is not None and type.is_path
        join = join_path if is_path else None

        def find_one(path: Path) -> Any:
            source = self.sources[path]
            value = source.find(shared)
            if source.is_directories and isinstance(value, str):
                return Directories(value)
            return without_newline(source.places(shared), value) if is_path else value

        if type is not None and type.is_url:
            from pflow.values.templates import join_url

            self._refuse_written_host()
            join = join_url
        return expand(self.written, find_one, join)

    def leads(self) -> list[Path]:
        """Return the references at the beginning of the template."""
        from pflow.values.templates import leading_references

        return leading_references(self.written)

    def _refuse_written_host(self) -> None:
        """Refuse a URL that begins with a value that a step wrote. Raises PflowError (77)."""
        for path in self.leads():
            if path in self.from_steps:
                why = f"a step wrote '{write_path(path)}', and the host of a URL comes from a person"
                hint = "a mapping such as --map-in url=PATH takes a whole URL from a step"
                raise PflowError(f"cannot fill '{shorten(str(self.written))}': {why}", hint=hint, exit=DENIED)

    def places(self, shared: Mapping[str, Any]) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(path for source in self.sources.values() for path in source.places(shared)))


NAME, STEM, DIR = "name", "stem", "dir"


class NameSource(Source):
    """A `part` of the path at a place: its last component (NAME), that without suffix (STEM), or its directory (DIR).

    DIR takes only a relative path without `..`, and refuses any other (77).
    """

    def __init__(self, path: Path, part: str) -> None:
        self.part = part
        self.paths = (path,)
        self.origin = f"{'directory' if part == DIR else part} of {write_path(path)}"
        self.is_directories = part == DIR

    def find(self, shared: Mapping[str, Any]) -> Any:
        value = super().find(shared)
        if not isinstance(value, str | bytes):
            what = f"'{write_path(self.paths[0])}' is {type_name(value)}, not a path"
            raise PflowError(f"cannot take the {self.origin}: {what}", exit=BAD_DATA)
        whole = os.fsdecode(value).rstrip("/")
        directory, name = os.path.split(whole)
        if self.part != DIR:
            return os.path.splitext(name)[0] if self.part == STEM else name
        names = [each for each in directory.split("/") if each not in ("", ".")]
        if whole.startswith("/") or ".." in names or not name:
            what = f"'{shorten(os.fsdecode(value))}' is not a path below the working directory"
            raise PflowError(f"cannot take the {self.origin}: {what}", hint="list-files finds such paths", exit=DENIED)
        return "/".join(names)


def is_empty(value: Any) -> bool:
    """Return True for null, and for an empty text or list."""
    return value is None or (isinstance(value, str | bytes | list) and not value)


def is_blank(value: Any) -> bool:
    """Return True for an empty value, and for a text of white space only: a model can make nothing of either."""
    return is_empty(value) or (isinstance(value, str | bytes) and not value.strip())


DIRECTORY, HOST = "directory", "host"


def chosen_by_lead(field: Field | None) -> str:
    """Return what the beginning of a field's value chooses: DIRECTORY for a path, HOST for a URL, else ""."""
    return "" if field is None else DIRECTORY if field.type.is_path else HOST if field.type.is_url else ""


class Constant(Source):
    """A value written in the flow itself."""

    def __init__(self, value: Any, origin: str) -> None:
        self.value = value
        self.origin = origin

    def find(self, shared: Mapping[str, Any]) -> Any:
        return self.value


def parse_source(written: str | list[str]) -> Source:
    """Return the source that a mapping names. Raises ValueError if a path does not parse."""
    from pflow.values.templates import TEMPLATE

    if isinstance(written, list):
        return AlternativeSource(tuple(parse_path(path) for path in written))
    if written.startswith(TEMPLATE):
        return TemplateSource(written[len(TEMPLATE) :])
    return PathSource(parse_path(written))
