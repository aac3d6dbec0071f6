"""A flag's value as a person wrote it, and what becomes of it once its templates are replaced."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import Constant, TemplateSource
from pflow.errors import BAD_DATA, USAGE, PflowError, exit_code, reason_of, shorten
from pflow.values.jsontext import compact, decode
from pflow.values.paths import write_path
from pflow.values.templates import braced_references, expand, is_reference, references
from pflow.values.types import Type, fit, from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.interface.interface import Interface, Item
    from pflow.values.paths import Path


class Json(str):
    """What stands after `:=`: JSON, whatever the type of its flag."""

    __slots__ = ()


class Word(str):
    """A bare word, or a file's text: on a list one item, whatever it looks like."""

    __slots__ = ()


_MOST = 100_000_000
"""Bytes that a file may have whose text is a value."""


def read_text(flag: str, file: str) -> Word:
    """The text of the file that a flag names, without the newlines at its end, as `$(cat FILE)` has it.

    Raises PflowError: 2 where a file is not meant, 65 for what is no text, 77 above the root, else as the system says.
    """
    from pflow.files.root import hold_below_root

    if file in ("", "-", "/dev/stdin"):
        why = "stdin is not a file" if file else "there is no file behind it"
        hint = "a template names what the pipe brings: $stdin" if file else f"{flag}@FILE, or {flag}=VALUE"
        raise PflowError(f"cannot take {flag}@{file}: {why}", hint=hint, exit=USAGE)
    act, hint = f"cannot read '{shorten(file)}' for {flag}", f"{flag}=… is the text itself"
    if "\0" in file:
        raise PflowError(f"{act}: a path holds no NUL", exit=BAD_DATA)
    hold_below_root(file)
    try:
        with open(file, "rb") as opened:
            data = opened.read(_MOST + 1)
        text = str(data, "utf-8") if len(data) <= _MOST else ""
    except OSError as error:
        raise PflowError(f"{act}: {reason_of(error)}", hint=hint, exit=exit_code(error)) from None
    except UnicodeDecodeError:
        raise PflowError(f"{act}: it is not UTF-8", exit=BAD_DATA) from None
    if len(data) > _MOST:
        raise PflowError(f"{act}: it has more than {_MOST:,} bytes", hint="a pipe brings large data", exit=BAD_DATA)
    return Word(text.rstrip("\n"))


class FlagValue:
    """The value of a flag: as written where it has a reference, else converted to its type."""

    __slots__ = ("flag", "references", "value")

    def __init__(self, flag: str, type: Type, texts: list[str | bool], *, verbatim: bool) -> None:
        self.flag = flag
        self.references: list[Path] = []
        written = parse_texts(flag, type, texts, verbatim=verbatim)
        if not verbatim:
            try:
                self.references = list(references(written))
            except ValueError as error:
                raise PflowError(f"cannot take {flag}: {error}", exit=USAGE) from None
            if not self.references:
                written = expand(written, lambda path: None)
        self.value = written if self.references else flag_value(flag, type, written)

    def source(self) -> Source:
        """Where the value comes from: what its references lead to, or the flag itself."""
        if self.references:
            return TemplateSource(self.value, flag=self.flag)
        return Constant(self.value, self.flag)


def unfilled(
    item: Item, interface: Interface, text: Any, is_there: Callable[[Path], bool]
) -> Iterator[tuple[str, str]]:
    """What is said of each reference in a `[verbatim]` text to something that is there, and what to do."""
    if "verbatim" not in item.marks or not isinstance(text, str):
        return
    for path in filter(is_there, braced_references(text)):
        name = write_path(path)
        remedy = "values go in as arguments, or on stdin"
        if "args" in interface.reads:
            remedy = f"--args='{f'${name}' if name.isidentifier() else f'${{{name}}}'}' hands it over, as \"$1\""
        yield f"'${{{name}}}' in '{item.name}' is never filled, though there is {name}", remedy


def flag_value(flag: str, type: Type, written: Any, exit: int = USAGE) -> Any:
    """What was written as a value of its type. Raises PflowError (2, or `exit`)."""
    try:
        return converted(type, written)
    except ValueError as error:
        shown = shorten(written if isinstance(written, str) else compact(written))
        raise PflowError(f"cannot take {flag}='{shown}': {error}", hint=f"it wants {type}", exit=exit) from None


def expanded_value(flag: str, type: Type, written: Any, value: Any) -> Any:
    """A template's `value`, its references replaced, as its type; text is read as a flag's. None for a null alone.

    Raises PflowError (65) when it does not fit the type.
    """
    if type.name == "list" and isinstance(written, str) and not isinstance(value, list | None):
        value = [value]
    return None if value is None else flag_value(flag, type, value, BAD_DATA)


def converted(type: Type, value: Any) -> Any:
    """Text as its type reads it, anything else as it fits; in a list, each item. Raises ValueError in words."""
    if type.name == "list" and isinstance(value, list):
        return [converted(type.items or Type("any"), item) for item in value]
    if isinstance(value, str):
        return from_text(type, value)
    _check_texts(value)
    return fit(type, value)


def _check_texts(value: Any) -> None:
    """Refuse what a template may bring into the texts of a list or an object: bytes that are not UTF-8."""
    if isinstance(value, str):
        from_text(Type("any"), value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_texts(item)


def parse_texts(flag: str, type: Type, texts: list[str | bool], *, verbatim: bool) -> Any:
    """What stands after a flag: JSON taken apart for lists and objects, so that templates work inside."""
    text = texts[0]
    if isinstance(text, bool):
        return "true" if text else "false"
    if isinstance(text, Json) and type.name != "list":
        return _parse_json(flag, text)
    if type.name == "dict" and text.lstrip().startswith("{"):
        return _parse_json(flag, text)
    if type.name != "list":
        return str(text)
    if len(texts) == 1 and not verbatim and not isinstance(text, Word) and is_reference(text):
        return text
    items: list[Any] = []
    for each in texts:
        is_text = not isinstance(each, Json) and (isinstance(each, Word) or not str(each).lstrip().startswith("["))
        item = str(each) if is_text else _parse_json(flag, str(each))
        items += item if isinstance(item, list) else [item]
    return items


def _parse_json(flag: str, text: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        raise PflowError(f"cannot take {flag}='{shorten(text)}': it is not JSON: {error}", exit=USAGE) from None
