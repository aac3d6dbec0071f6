"""Values that a node's reads and params take, made from their types or given by the user."""

from __future__ import annotations

from pflow.interface import fresh
from pflow.jsontext import text_of
from pflow.stage.flags import parse_flags, take_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface, Item
    from pflow.types import Type

FILE, FOLDER, COMMAND = "sample.txt", "folder", "cat"
TEXT = "Hello, world: one two\n"
FILES = {FILE: TEXT, f"{FOLDER}/other.txt": "another\n"}
"""What stands in the directory that a node runs in."""

_VALUES: dict[str, Any] = {
    "str": TEXT,
    "any": TEXT,
    "int": 3,
    "float": 1.5,
    "bool": True,
    "path": FILE,
    "bytes": TEXT.encode(),
    "list": ["a", "b"],
    "dict": {"a": 1},
}
_FOLDERS = ("directory", "dir", "folder")
_MISFITS: dict[str, Any] = {
    "str": None,
    "int": "seven",
    "float": "much",
    "bool": "yes",
    "path": 7,
    "bytes": 7,
    "list": {"a": 1},
    "dict": [1],
    "choice": "no such choice",
}


def value_of(type: Type) -> Any:
    """A value of a type."""
    if type.choices:
        return type.choices[0]
    if type.items:
        return [value_of(type.items)] * 2
    if type.fields:
        return {name: value_of(field) for name, field in type.fields.items()}
    return fresh(_VALUES[type.name])


def misfit_of(type: Type) -> Any:
    """A value that is none of a type; None where every value is one (`any`), and for str, which takes all but null."""
    return _MISFITS.get(type.name)


class Samples:
    """What a node gets when it is to succeed: members of the document, and words after its name.

    A read that is [explicit] has a flag; any other that is required, or that the pipe fills, is a member. `given` are
    the words that the user wrote for it: data is sent as the others are, params and common flags as they stand.
    """

    def __init__(self, interface: Interface, given: list[str]) -> None:
        self.interface = interface
        flags = parse_flags(given, interface)
        self.words: dict[str, list[str]] = {}
        for name, texts in take_words(given, flags.items, is_open=interface.open).items():
            self.words[name] = [_word(name, text) for text in texts]
        self.members: dict[str, Any] = {}
        for name, item in interface.reads.items():
            self._add_read(name, item, flags.data.get(name))
        for name, item in interface.params.items():
            if item.required and name not in self.words and "secret" not in item.marks:
                self.words[name] = flag_words(item, value_of(item.type))

    def _add_read(self, name: str, item: Item, given: Any) -> None:
        if given is not None and (given.references or "explicit" in item.marks):
            return
        if given is not None:
            del self.words[name]
            self.members[name] = given.value
        elif "explicit" in item.marks and item.required:
            value = self._value(item)
            self.words[name] = flag_words(item, value.strip() if isinstance(value, str) else value)
        elif item.required or "pipe" in item.marks:
            self.members[name] = self._value(item)

    def _value(self, item: Item) -> Any:
        if "verbatim" in item.marks and "runs commands" in self.interface.effects:
            return COMMAND
        if item.type.name == "path" and item.name in _FOLDERS:
            return FOLDER
        return value_of(item.type)

    @property
    def pipe(self) -> str | None:
        """The read that the pipe fills, where it is a member."""
        read = self.interface.pipe_read
        return read.name if read is not None and read.name in self.members else None

    def words_without(self, *names: str) -> list[str]:
        return [word for name, words in self.words.items() if name not in names for word in words]

    def all_words(self, *, without: str | None = None, apart: bool = False) -> list[str] | None:
        """Every value as a flag, none in the document; None where one has no flag (a secret)."""
        words = self.words_without()
        for name, value in self.members.items():
            item = self.interface.reads[name]
            if name == without:
                continue
            if "secret" in item.marks or value is None:
                return None
            words += flag_words(item, value, apart=apart)
        return words


def flag_words(item: Item, value: Any, *, apart: bool = False) -> list[str]:
    """A value as the words of a flag; `apart` puts the value into a word of its own."""
    flag = "--" + item.name.replace("_", "-")
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag[2:]}"]
    text = _text(value, verbatim="verbatim" in item.marks)
    return [flag, text] if apart else [f"{flag}={text}"]


def _text(value: Any, *, verbatim: bool) -> str:
    text = value.decode(errors="surrogateescape") if isinstance(value, bytes) else text_of(value)
    return text if verbatim else text.replace("$", "$$")


def _word(name: str, text: str | bool) -> str:
    flag = "--" + name.replace("_", "-")
    if isinstance(text, bool):
        return flag if text else f"--no-{flag[2:]}"
    return f"{flag}={text}"
