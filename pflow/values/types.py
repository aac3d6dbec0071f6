"""The types of the interface grammar: parsing them, fitting values to them, reading them from a flag's text."""

from __future__ import annotations

import os

from pflow import Any
from pflow.errors import result_of, shorten
from pflow.values.jsontext import BLANK, HIGHEST, LOWEST, decode, text_of, text_or_bytes
from pflow.values.paths import Path, fault_inside, look_inside, missing, type_name, write_path

_PYTHON: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "url": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "path": (str, bytes),
    "bytes": (bytes, str),
    "list": (list,),
    "dict": (dict,),
}


class Type:
    """A type: its `name`, the `choices` of a choice, what a `list` holds, the known `fields` of a dict."""

    def __init__(
        self,
        name: str,
        items: Type | None = None,
        fields: dict[str, Type] | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.items = items
        self.fields = fields or {}
        self.choices = choices

    def __str__(self) -> str:
        if self.choices:
            return "|".join(self.choices)
        if self.items:
            return f"{self.name}[{self.items}]"
        if self.fields:
            return self.name + "{" + ", ".join(f"{name}: {type}" for name, type in self.fields.items()) + "}"
        return self.name

    @property
    def is_path(self) -> bool:
        """True if its values are paths or lists of paths."""
        return self.name == "path" or (self.items is not None and self.items.is_path)

    @property
    def is_url(self) -> bool:
        """True if its values are URLs or lists of URLs."""
        return self.name == "url" or (self.items is not None and self.items.is_url)

    @property
    def holds_rows(self) -> bool:
        """True for a list of objects, such as the rows of a table."""
        return self.items is not None and self.items.name == "dict"

    def takes(self, value: Any) -> bool:
        """Return True if a value has this type without conversion; the shapes of dicts are not checked."""
        if self.name == "any":
            return True
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if isinstance(value, bool):
            return self.name == "bool"
        if self.name == "int" and isinstance(value, float):
            return value.is_integer() and LOWEST <= value < HIGHEST
        return isinstance(value, _PYTHON[self.name])


def parse_type(text: str, at: int = 0) -> tuple[Type, int]:
    """Parse the type at `text[at]`; return it and its end. Raises ValueError in words."""
    word, at = _word(text, at)
    if text.startswith("|", at):
        choices = [word]
        while text.startswith("|", at):
            word, at = _word(text, at + 1)
            choices.append(word)
        return Type("choice", choices=tuple(choices)), at
    if word == "list" and text.startswith("[", at):
        items, at = parse_type(text, at + 1)
        return Type("list", items=items), _expect(text, at, "]")
    if word == "dict" and text.startswith("{", at):
        return _parse_shape(text, at)
    if word != "any" and word not in _PYTHON:
        raise _unknown(word)
    return Type(word), at


def _unknown(word: str) -> ValueError:
    from pflow.text.naming import meant

    near = meant(word, [*_PYTHON, "any"])
    likely = f"did you mean {near}? " if near else ""
    return ValueError(f"unknown type '{word}'; {likely}types are {', '.join(_PYTHON)}, any and a|b|c")


def _parse_shape(text: str, at: int) -> tuple[Type, int]:
    fields: dict[str, Type] = {}
    while not fields or text.startswith(",", at):
        name, at = _word(text, _skip_spaces(text, at + 1))
        if name in fields:
            raise ValueError(f"'{name}' appears twice in the shape")
        fields[name], at = parse_type(text, _skip_spaces(text, _expect(text, at, ":")))
    return Type("dict", fields=fields), _expect(text, at, "}")


def _word(text: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(text) and (text[end].isalnum() or text[end] in "_-."):
        end += 1
    if end == at:
        raise ValueError(f"a type is missing at '{text[at:]}'")
    return text[at:end], end


def _skip_spaces(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(" "))


def _expect(text: str, at: int, character: str) -> int:
    if not text.startswith(character, at):
        raise ValueError(f"'{character}' is missing at '{text[at:]}'")
    return at + 1


def from_text(type: Type, text: str) -> Any:
    """Convert the text of a flag or variable to a value. Raises ValueError, in plain words, if it does not fit."""
    if type.choices and text not in type.choices:
        from pflow.text.naming import listed

        raise ValueError(f"it is not one of {listed(type.choices)}")
    if type.name == "path" and not text:
        raise ValueError("it is empty")
    if type.name == "bool" and text not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return _READERS[type.name](text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        wrong = ord(text[error.start]) - 0xDC00
        raise ValueError("its bytes are not UTF-8" + (f" (byte 0x{wrong:02x})" if 0 <= wrong < 256 else "")) from None
    return text


def _int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isdecimal() and digits.isascii()):
        raise ValueError("it is not an int")
    if len(digits.lstrip("0")) > 20 or not LOWEST <= int(text) < HIGHEST:
        raise ValueError("it does not fit in 64 bits")
    return int(text)


def _float(text: str) -> float:
    is_plain = text.isascii() and not set(text) & set("_ \t\n")
    number = result_of(float, text if is_plain else "nan", of=ValueError, otherwise=float("nan"))
    if not abs(number) < float("inf"):
        raise ValueError("it is not a number")
    return number


def _json(kind: type, word: str) -> Any:
    def read(text: str) -> Any:
        try:
            value = decode(text.encode())
        except ValueError as error:
            from pflow.values.json_input import place_of

            raise ValueError(f"it is not JSON: {place_of(text, error)}") from None
        if not isinstance(value, kind):
            raise ValueError(f"it is not {word}")
        return value

    return read


_READERS: dict[str, Any] = {
    "str": _text,
    "url": _text,
    "any": _text,
    "choice": str,
    "path": str,
    "bytes": os.fsencode,
    "int": _int,
    "float": _float,
    "bool": "true".__eq__,
    "list": _json(list, "a JSON list"),
    "dict": _json(dict, "a JSON object"),
}


def fit(type: Type, value: Any, *, is_input: bool = False) -> Any:
    """Convert a store's value for a read of this type. Raises ValueError naming both if it does not fit.

    The value of an input that a flow declares (`is_input`) may also be a text: it is read like a flag's text,
    without a final newline; for a list, it is split like the items of a batch.
    """
    if type.name == "list":
        value = items_in(value) if is_input else list_in(value)
    if type.name == "list" and type.items and isinstance(value, list):
        return _fit_items(type.items, value, is_input=is_input)
    if type.name in ("str", "url"):
        value = _as_text(value)
    elif type.name == "bytes" and isinstance(value, str):
        value = value.encode()
    if not type.takes(value):
        if is_input and isinstance(value, str):
            return from_text(type, value.removesuffix("\n"))
        if isinstance(value, bytes):
            from pflow.values.encoding import not_utf8

            if why := not_utf8(value):
                raise ValueError(why)
        there = f"'{value}'" if type.choices and isinstance(value, str) else type_name(value)
        raise ValueError(f"it is {there}, not {shorten(str(type), 200)}")
    if type.name == "path":
        return os.fsdecode(value)
    if type.name == "float" and is_input:
        return float(value)
    return int(value) if type.name == "int" else value


def _fit_items(type: Type, items: list[Any], *, is_input: bool) -> list[Any]:
    fitted: list[Any] = []
    try:
        for item in items:
            fitted.append(fit(type, item, is_input=is_input))
    except ValueError as error:
        raise ValueError(f"at [{len(fitted)}] {error}") from None
    return fitted


def names_schema_file(text: str) -> bool:
    """Return True if a schema's text is a file's path: neither JSON nor llm's short form, such as `name, age int`.

    A single word may be a field's name or a path: it is a path if the file exists.
    """
    is_word = not text.lstrip(BLANK).startswith("{") and "," not in text and len(text.split()) == 1
    return is_word and (not text.strip().isidentifier() or os.path.lexists(text))


def list_in(value: Any) -> Any:
    """Decode a text that holds a JSON list; return anything else unchanged."""
    inside = look_inside(value)
    return inside if isinstance(inside, list) else value


_CUT = ('["', "[{", "[[", '{"')
"""The beginnings of truncated JSON. `[2` is not among them, since a line of a log may begin with it."""


def items_in(value: Any) -> Any:
    """Return the items of a batch: the values of a list, or of the JSON list in a text, or the text's nonblank lines.

    Truncated JSON stays one text: its lines are not items.
    """
    value = list_in(value)
    if not isinstance(value, str):
        return value
    first = value.lstrip(BLANK).partition("\n")[0].rstrip()
    is_cut = (first in ("[", "{") or first.startswith(_CUT)) and look_inside(first) is first
    is_cut = is_cut or (first.startswith("[") and bool(fault_inside(first)))
    return value if is_cut else [line for line in value.split("\n") if line.strip()]


def _as_text(value: Any) -> Any:
    """Convert a value to text; null and bytes that are not UTF-8 stay unchanged."""
    if isinstance(value, bytes):
        return text_or_bytes(value)
    return None if value is None else text_of(value)


_LEAVES = {"int": "an int", "float": "a float", "bool": "a bool", "bytes": "bytes"}
"""Types whose values have no parts."""


def type_below(type: Type, path: Path, at: int) -> tuple[Type, str]:
    """Return the type at `path`, given the `type` at `path[:at]`, and a fault or "". An unknown type is `any`."""
    for n in range(at, len(path)):
        step, fault = path[n], ""
        if type.fields and str(step) in type.fields:
            type = type.fields[str(step)]
            continue
        if type.fields:
            fault = missing(str(step), list(type.fields), write_path(path[:n])).message
        elif type.name == "list" and isinstance(step, str) and not step.isdecimal():
            fault = f"no '{step}' in {write_path(path[:n])}; it is a list"
        elif type.name in _LEAVES:
            fault = f"no '{step}' in {write_path(path[:n])}; it is {_LEAVES[type.name]}"
        elif type.items is not None:
            type = type.items
            continue
        return Type("any"), fault
    return type, ""
