"""A flag's value as a person gave it, and what becomes of it once its templates are replaced."""

from __future__ import annotations

from pflow.binding.sources import Constant, TemplateSource
from pflow.errors import BAD_DATA, USAGE, PflowError, shorten
from pflow.jsontext import decode, text_of
from pflow.templates import expand, is_reference, references
from pflow.types import Type, fit, from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.paths import Path


_ANY = Type("any")
NoneType = type(None)


class Given:
    """A value as a person gave it: as written where it has a reference, else converted to its type."""

    __slots__ = ("flag", "references", "type", "value")

    def __init__(self, flag: str, type: Type, written: Any, *, verbatim: bool) -> None:
        self.flag = flag
        self.type = type
        self.references: list[Path] = []
        if not verbatim:
            self.references = self._references(written)
        if not verbatim and not self.references:
            written = expand(written, _nothing_to_look_up)
        self.value = written if self.references else self._convert(written, USAGE)

    def _references(self, written: Any) -> list[Path]:
        try:
            return list(references(written))
        except ValueError as error:
            raise PflowError(f"cannot take {self.flag}: {error}", exit=USAGE) from None

    def expanded(self, look_up: Callable[[Path], Any]) -> Any:
        """The value with its references replaced; None for one whole reference to null.

        Raises PflowError (65) when the outcome does not fit the type.
        """
        if not self.references:
            return self.value
        return settle(self.flag, self.type, self.value, expand(self.value, look_up))

    def source(self) -> Source:
        """Where the value comes from: the references, or the flag itself."""
        if self.references:
            return TemplateSource(self.value, flag=self.flag)
        return Constant(self.value, self.flag)

    def _convert(self, value: Any, exit: int) -> Any:
        return _convert_or_say(self.flag, self.type, value, exit)


def settle(flag: str, type: Type, written: Any, value: Any) -> Any:
    """What became of a template, as its type: text is read as a flag's text; None for one whole reference to null.

    Raises PflowError (65) when it does not fit the type.
    """
    if type.name == "list" and isinstance(written, str) and not isinstance(value, list | NoneType):
        value = [value]
    return None if value is None else _convert_or_say(flag, type, value, BAD_DATA)


def _convert_or_say(flag: str, type: Type, value: Any, exit: int) -> Any:
    try:
        return converted(type, value)
    except ValueError as error:
        shown = shorten(_as_json(value) if exit == BAD_DATA else _as_written(value))
        raise PflowError(f"cannot take {flag}='{shown}': {error}", hint=f"it wants {type}", exit=exit) from None


def _as_written(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value))


def _as_json(value: Any) -> str:
    try:
        return text_of(value)
    except PflowError:
        return str(value)


def _nothing_to_look_up(path: Path) -> Any:
    raise AssertionError(path)


def converted(type: Type, value: Any) -> Any:
    """Text as its type reads it, anything else as it fits; in a list, each item. Raises ValueError in words."""
    if type.name == "list" and isinstance(value, list):
        return [converted(type.items or _ANY, item) for item in value]
    if isinstance(value, str):
        return from_text(type, value)
    _check_texts(value)
    return fit(type, value)


def _check_texts(value: Any) -> None:
    """Refuse what a template may bring into the texts of a list or an object: bytes that are not UTF-8."""
    if isinstance(value, str):
        from_text(_ANY, value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_texts(item)


def as_written(flag: str, type: Type, texts: list[str | bool], verbatim: bool) -> Any:
    """A flag's text as its type writes it: JSON taken apart for lists and objects, so that templates work inside."""
    text = texts[0]
    if isinstance(text, bool):
        return "true" if text else "false"
    if type.name == "dict" and text.lstrip().startswith("{"):
        return _json(flag, text)
    if type.name != "list":
        return text
    if len(texts) == 1 and not verbatim and is_reference(text):
        return text
    items: list[Any] = []
    for each in map(str, texts):
        items += _json(flag, each) if each.lstrip().startswith("[") else [each]
    return items


def _json(flag: str, text: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        raise PflowError(f"cannot take {flag}='{shorten(text)}': it is not JSON: {error}", exit=USAGE) from None
