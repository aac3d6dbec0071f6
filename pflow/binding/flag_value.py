"""Convert the text of a flag, or a value of the store, to the declared type."""

from __future__ import annotations

from pflow import Any, Callable, Iterator
from pflow.binding.sources import Constant, Source, TemplateSource, without_newline
from pflow.errors import BAD_DATA, USAGE, Attempt, PflowError, shorten
from pflow.interface.interface import AS_IT_IS, Field, Interface
from pflow.values.jsontext import BLANK, change_texts, compact, decode, texts_in
from pflow.values.paths import Path, write_path
from pflow.values.types import Type, fit, from_text

_ANY = Type("any")
_EXACT = {"str": str, "url": str, "bool": bool, "dict": dict, "int": int}
"""For some types, the class whose values all fit without a check."""


class Json(str):
    """The text after `:=`: JSON, whatever the type of its flag."""


class Word(str):
    """A bare word, or a file's text: always one item of a list, even if it looks like JSON."""


_MOST = 100_000_000
"""The largest file, in bytes, whose text may be a value."""


def read_text(flag: str, file: str) -> Word:
    """Read the file that a flag names, without the newlines at its end, like `$(cat FILE)`.

    Raises PflowError: 2 if the word names no file, 65 if the file is not text, 77 out of bounds, else the exit code
    of the system's error.
    """
    from pflow.files.beneath import open_file
    from pflow.values.encoding import text_in

    if file in ("", "-", "/dev/stdin"):
        why = "stdin is not a file" if file else "no file is named"
        value = "JSON" if flag.endswith(":") else "VALUE"
        hint = "$stdin is the value from the pipe" if file else f"{flag}@FILE, or {flag}={value}"
        raise PflowError(f"cannot take {flag}@{file}: {why}", hint=hint, exit=USAGE)
    act, hint = f"cannot read '{shorten(file)}' for {flag.removesuffix(':')}", f"{flag}=… is the text itself"
    if "\0" in file:
        raise PflowError(f"{act}: a path cannot contain NUL", exit=BAD_DATA)
    with Attempt(act, hint=hint), open(open_file(file), "rb") as opened:
        data = opened.read(_MOST + 1)
    if len(data) > _MOST:
        hint = "send large data through a pipe"
        raise PflowError(f"{act}: it has more than {_MOST:,} bytes", hint=hint, exit=BAD_DATA)
    return Word(text_in(data, act).rstrip("\n"))


class FlagValue:
    """The value of a flag: the text as `written` if it has a reference, else converted to its type."""

    def __init__(self, flag: str, type: Type, texts: list[str | bool], *, verbatim: bool) -> None:
        self.flag = flag
        self.references: list[Path] = []
        self.written = written = parse_texts(flag, type, texts, verbatim=verbatim)
        if not verbatim and not (isinstance(written, str) and "$" not in written):
            from pflow.values.templates import expand, references

            with Attempt(f"cannot take {flag}", of=ValueError, exit=USAGE):
                self.references = list(references(written))
            if not self.references:
                written = expand(written, lambda path: None)
        self.value = written if self.references else flag_value(flag, type, written)

    def source(self) -> Source:
        """Return the source of the value: its references, or the flag itself."""
        if self.references:
            return TemplateSource(self.value, flag=self.flag)
        return Constant(self.value, self.flag)


def unfilled(
    field: Field, interface: Interface, text: Any, is_there: Callable[[Path], bool]
) -> Iterator[tuple[str, str]]:
    """Yield a warning and its remedy for each `$name` of an existing value in a `[verbatim]` text.

    Such a text is not a template, so no name in it is ever filled.
    """
    if "verbatim" not in field.marks:
        return
    from pflow.values.templates import Bare, unfilled_references

    found: dict[str, str] = {}
    for paths in [paths for each in texts_in(text) for paths in unfilled_references(each)]:
        for path in [path for path in paths if is_there(path)][:1]:
            name = write_path(path)
            found[f"${name}" if isinstance(paths[0], Bare) else f"${{{name}}}"] = name
    for shown, name in found.items():
        remedy = "write the value itself"
        if "args" in interface.reads:
            value = f"'{f'${name}' if name.isidentifier() else f'${{{name}}}'}'"
            remedy = f'--args={value} hands it over, as "$1", and --input={value} on stdin'
        yield f"'{shown}' in '{field.name}' is never filled, though there is {name}", remedy


def flag_value(flag: str, type: Type, written: Any, exit: int = USAGE) -> Any:
    """Convert a text to its type; for a bare word, `flag` is "". Raises PflowError (2, or `exit`)."""
    try:
        return converted(type, written)
    except ValueError as error:
        from pflow.values.encoding import ELSE

        shown = shorten(written if isinstance(written, str) else compact(written))
        hint = f"it takes {type}" if type.items or type.fields else ""  # the error already names a simple type
        hint = ELSE if exit == BAD_DATA and "UTF-8" in str(error) else hint
        subject = f"{flag}='{shown}'" if flag else f"'{shown}'"
        raise PflowError(f"cannot take {subject}: {error}", hint=hint, exit=exit) from None


def expanded_value(flag: str, type: Type, written: Any, value: Any) -> Any:
    """Convert a template's `value` like a flag's text; null stays None. Raises PflowError (65) if it does not fit."""
    if type.name == "list" and isinstance(written, str) and not isinstance(value, list | None):
        value = [value]
    return None if value is None else flag_value(flag, type, value, BAD_DATA)


def converted(type: Type, value: Any) -> Any:
    """Parse a text as the type, and fit any other value to it; in a list, each item. Raises ValueError."""
    if type.name == "list" and isinstance(value, list):
        return [converted(type.items or Type("any"), item) for item in value]
    if isinstance(value, str):
        return from_text(type, value)
    change_texts(value, lambda text: from_text(Type("any"), text))  # a template may bring bytes that are not UTF-8
    return fit(type, value)


def parse_texts(flag: str, type: Type, texts: list[str | bool], *, verbatim: bool) -> Any:
    """Parse the texts of a flag; JSON of lists and objects is decoded, so that templates work inside."""
    text = texts[0]
    if isinstance(text, bool):
        return "true" if text else "false"
    if type.name != "list":
        is_json = isinstance(text, Json) or (type.name == "dict" and text.lstrip(BLANK).startswith("{"))
        return _parse_json(flag, text) if is_json else str(text)
    if len(texts) == 1 and not verbatim and not isinstance(text, Word) and "$" in text:
        from pflow.values.templates import is_reference

        if is_reference(text):
            return text
    items: list[Any] = []
    for each in texts:
        is_text = not isinstance(each, Json) and (isinstance(each, Word) or not str(each).lstrip(BLANK).startswith("["))
        item = str(each) if is_text else _parse_json(flag, str(each))
        items += item if isinstance(item, list) else [item]
    return items


def _parse_json(flag: str, text: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        from pflow.values.json_input import place_of

        what = f"cannot take {flag}='{shorten(text)}': it is not JSON: {place_of(text, error)}"
        raise PflowError(what, exit=USAGE) from None


class BoundField:
    """A read or param with its source: finds its value in a store."""

    def __init__(
        self, key: str, source: Source, field: Field | None, *, is_mapped: bool = False, exit: int = BAD_DATA
    ) -> None:
        self.key = key
        self.exit = exit
        self.source = source
        self.field = field
        self.type = field.type if field and AS_IT_IS not in field.marks else _ANY
        self.exact = _EXACT.get(self.type.name)
        self.is_input = field is not None and field.is_declared
        self.places: dict[tuple[Path, ...], tuple[str, ...]] = {}
        """The texts of the places that a value came from, cached by the paths of these places."""
        if isinstance(source, Constant):
            # A mapping without a reference is still a template, in which $$ is a dollar.
            fixed = (
                expanded_value(key, self.type, source.value, source.value) if is_mapped else self.fitted(source.value)
            )
            self.source = Constant(fixed, source.origin)

    def find(self, store: Any) -> Any:
        """Return the value as its type. Raises PflowError: 66 if it is not there, 65 (`exit`) if it does not fit."""
        source = self.source
        if isinstance(source, Constant):
            return source.value
        if not isinstance(source, TemplateSource):
            value = source.find(store)
            return self.fitted(without_newline(source.places(store), value) if self.type.is_path else value)
        value = source.find(store, self.type)
        return self.fitted(expanded_value(source.flag or self.key, self.type, source.written, value))

    def fitted(self, value: Any) -> Any:
        if self.type.name == "any":
            return value
        if value.__class__ is self.exact and not (isinstance(value, str) and "\0" in value):
            return value
        if value is None and self.field is not None and self.field.default is None:
            return None
        if self.type.holds_rows and isinstance(value, list) and None in value:
            from pflow.tables.rows import without_failed

            value = without_failed(value)
        try:
            if self.exact is str:
                from pflow.values.encoding import not_utf8, wide_bytes

                if wide := wide_bytes(value):
                    value = wide
                    raise ValueError(not_utf8(wide))
            return fit(self.type, value, is_input=self.is_input)
        except ValueError as error:
            origin = f" from {self.source.origin}" if self.source.origin else ""
            act, hint = f"cannot read '{self.key}'{origin}", f"--map-in {self.key}=PATH takes another place"
            if self.is_input:  # a wrong input has the same message as a wrong flag
                is_shown = isinstance(value, str) and self.field is not None and not self.field.is_secret
                what = f"{self.key}='{shorten(value)}'" if is_shown else f"'{self.key}'"
                what += origin if self.source.origin != self.key else ""
                act, hint = f"cannot take {what}", f"it takes {self.type}" * bool(self.type.items)
            if isinstance(value, bytes):
                from pflow.values.encoding import remedy

                hint = remedy(value)
            if self.type.holds_rows and isinstance(value, str | bytes):
                hint = "load-csv, load-json or load-jsonl makes rows of a text"
            raise PflowError(f"{act}: {error}", hint=hint, exit=self.exit) from None

    def origins(self, store: Any) -> tuple[str, ...]:
        places = self.source.places(store)
        if places not in self.places:
            self.places[places] = tuple(map(write_path, places))
        return self.places[places]
