"""The types of the interface grammar: parsing them, fitting values to them, reading them from a flag's text."""

from __future__ import annotations

TYPE_CHECKING = False
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
