"""The types of the interface grammar: parsing them, fitting values to them, reading them from a flag's text."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.jsontext import HIGHEST, LOWEST, decode, text_of
from pflow.paths import kind_of

if TYPE_CHECKING:
    from typing import Any

_PYTHON: dict[str, tuple[type, ...]] = {
    "str": (str,),
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

    __slots__ = ("choices", "fields", "items", "name")

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

    def takes(self, value: Any) -> bool:
        """Whether a value from the store is of this type, without any conversion; shapes are taken as they come."""
        if self.name == "any":
            return True
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if isinstance(value, bool):
            return self.name == "bool"
        if self.name == "int" and isinstance(value, float):
            return value.is_integer()
        return isinstance(value, _PYTHON[self.name])


def parse_type(text: str) -> tuple[Type, int]:
    """The type at the start of `text`, and where it ends. Raises ValueError, in words, when there is none."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def parse(self) -> tuple[Type, int]:
        return self.type(), self.at

    def type(self) -> Type:
        word = self.word()
        if self.peek("|"):
            return self.choice(word)
        if word == "list" and self.peek("["):
            return Type("list", items=self.bracketed())
        if word == "dict" and self.peek("{"):
            return Type("dict", fields=self.shape())
        if word != "any" and word not in _PYTHON:
            raise ValueError(f"'{word}' is none of {', '.join(_PYTHON)}, any or a|b|c")
        return Type(word)

    def choice(self, first: str) -> Type:
        choices = [first]
        while self.peek("|"):
            self.at += 1
            choices.append(self.word())
        return Type("choice", choices=tuple(choices))

    def bracketed(self) -> Type:
        self.at += 1
        items = self.type()
        self.expect("]")
        return items

    def shape(self) -> dict[str, Type]:
        fields: dict[str, Type] = {}
        self.at += 1
        while True:
            name = self.word()
            if name in fields:
                raise ValueError(f"'{name}' stands twice in the shape")
            self.expect(":")
            self.spaces()
            fields[name] = self.type()
            if not self.peek(","):
                self.expect("}")
                return fields
            self.at += 1
            self.spaces()

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_-."):
            self.at += 1
        if start == self.at:
            raise ValueError(f"a type is missing at '{self.text[start:]}'")
        return self.text[start : self.at]

    def peek(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def expect(self, sign: str) -> None:
        if not self.peek(sign):
            raise ValueError(f"'{sign}' is missing at '{self.text[self.at :]}'")
        self.at += 1

    def spaces(self) -> None:
        while self.peek(" "):
            self.at += 1


def from_text(type: Type, text: str) -> Any:
    """The value that a flag's or a variable's text stands for. Raises ValueError in words when it stands for none."""
    if type.choices:
        if text in type.choices:
            return text
        raise ValueError(f"it is none of {', '.join(type.choices)}")
    return _READERS[type.name](text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("its bytes are not UTF-8") from None
    return text


def _path(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isdecimal() and digits.isascii()):
        raise ValueError("it is not an int")
    if len(digits.lstrip("0")) > 20 or not LOWEST <= int(text) < HIGHEST:
        raise ValueError("it is past 64 bits")
    return int(text)


def _float(text: str) -> float:
    try:
        number = float(text) if text.isascii() and not set(text) & set("_ \t\n") else float("nan")
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise ValueError("it is not a number")
    return number


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return text == "true"


def _json(kind: type, word: str) -> Any:
    def read(text: str) -> Any:
        try:
            value = decode(text.encode())
        except ValueError as error:
            raise ValueError(f"it is not JSON: {error}") from None
        if not isinstance(value, kind):
            raise ValueError(f"it is not {word}")
        return value

    return read


_READERS: dict[str, Any] = {
    "str": _text,
    "any": _text,
    "path": _path,
    "bytes": os.fsencode,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list": _json(list, "a JSON list"),
    "dict": _json(dict, "a JSON object"),
}


def fit(type: Type, value: Any) -> Any:
    """A value of the store as a read of this type gets it. Raises ValueError naming both when it does not fit."""
    fitted = _FITTERS.get(type.name, _as_it_is)(type, value)
    if fitted is not _MISFIT:
        return fitted
    there = f"'{value}'" if type.choices and isinstance(value, str) else kind_of(value)
    raise ValueError(f"it is {there}, not {type}")


_MISFIT = object()


def _as_it_is(type: Type, value: Any) -> Any:
    return value if type.takes(value) else _MISFIT


def _fit_str(type: Type, value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            return _MISFIT
    return _MISFIT if value is None else text_of(value)


def _fit_int(type: Type, value: Any) -> Any:
    if not type.takes(value) or not LOWEST <= value < HIGHEST:
        return _MISFIT
    return int(value)


def _fit_path(type: Type, value: Any) -> Any:
    return os.fsdecode(value) if type.takes(value) else _MISFIT


def _fit_bytes(type: Type, value: Any) -> Any:
    return value.encode() if isinstance(value, str) else _as_it_is(type, value)


def _fit_list(type: Type, value: Any) -> Any:
    if not isinstance(value, list):
        return _MISFIT
    items = type.items
    return [fit(items, item) for item in value] if items else value


_FITTERS = {"str": _fit_str, "int": _fit_int, "path": _fit_path, "bytes": _fit_bytes, "list": _fit_list}
