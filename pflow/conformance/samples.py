"""Samples to send to a node: values of its types, flags, store documents; and the parts of its answer."""

from collections.abc import Mapping
from typing import Any

from pflow.errors import PflowError
from pflow.interface.common import COMMON
from pflow.interface.interface import Field, Interface, flag_word, fresh, spell_flag
from pflow.stage.document import Document, read_document
from pflow.stage.flags import flags_of
from pflow.stage.words import take_words
from pflow.values.jsontext import text_of
from pflow.values.types import Type

FILE, FOLDER, COMMAND = "sample.txt", "folder", "cat"
TEXT = "Hello, world: one two\n"
FILES = {FILE: TEXT, f"{FOLDER}/other.txt": "another\n"}
"""The files in the directory that a node runs in."""

RUN = "01JD0000000000000000000000"
STEPS = [{"id": "before", "node": "before", "writes": {}}]

_VALUES: dict[str, Any] = {
    "str": TEXT,
    "url": "http://127.0.0.1:9/",
    "any": TEXT,
    "bytes": TEXT.encode(),
    "path": FILE,
    "int": 3,
    "float": 1.5,
    "bool": True,
    "list": ["a", "b"],
    "dict": {"a": 1},
}
_MISFITS: dict[str, Any] = {
    "str": None,
    "url": None,
    "int": "seven",
    "float": "much",
    "bool": "yes",
    "choice": "no such choice",
    "path": 7,
    "bytes": 7,
    "list": {"a": 1},
    "dict": [1],
}


def value_of(type: Type) -> Any:
    """Return a value of a type."""
    if type.choices:
        return type.choices[0]
    if type.items:
        return [value_of(type.items)] * 2
    if type.fields:
        return {name: value_of(field) for name, field in type.fields.items()}
    return fresh(_VALUES[type.name])


def misfit_of(type: Type) -> Any:
    """Return a value that does not fit a type; null for str, and for any, which every value fits."""
    return _MISFITS.get(type.name)


class Skipped(Exception):
    """Raised if a check does not apply; the message says why."""


class Samples:
    """The input with which a node should succeed: members of the document, and words after the node's name.

    The [pipe] read and required reads are members; an [explicit] read has a flag. `given` are the user's words.
    """

    def __init__(self, interface: Interface, given: list[str]) -> None:
        self.interface = interface
        given_words = take_words(given, {**COMMON, **flags_of(given, interface).fields}, is_open=interface.open)
        self.words = {name: [flag_word(name, text) for text in texts] for name, texts in given_words.items()}
        self.members: dict[str, Any] = {}
        for name, field in interface.reads.items():
            if name not in self.words:
                self._add_read(name, field)
        for name, field in interface.params.items():
            if field.required and name not in self.words and not field.is_secret:
                self.words[name] = flag_words(field, value_of(field.type))

    def _add_read(self, name: str, field: Field) -> None:
        value = self._value(field)
        if "pipe" in field.marks or (field.required and "explicit" not in field.marks):
            self.members[name] = value
        elif field.required:
            self.words[name] = flag_words(field, value.strip() if isinstance(value, str) else value)

    def _value(self, field: Field) -> Any:
        if "verbatim" in field.marks and "runs commands" in self.interface.effects:
            return COMMAND
        if field.type.name == "path" and field.name in ("directory", "dir", "folder"):
            return FOLDER
        return value_of(field.type)

    @property
    def pipe(self) -> str | None:
        """The read that the pipe fills, if it is a member of the document."""
        read = self.interface.pipe_read
        return read.name if read is not None and read.name in self.members else None

    def words_without(self, *names: str) -> list[str]:
        return [word for name, words in self.words.items() if name not in names for word in words]

    def short_words(self) -> list[str]:
        """Return the input and the defaults of params as words, bare or after a letter if the interface allows it."""
        lettered = {name: field for name, field in self.interface.params.items() if field.letter}
        given = {name: field.default for name, field in lettered.items() if not field.required and field.default}
        wanted = {name: flag_words(lettered[name], default) for name, default in given.items()}
        letters, bare = list[str](), list[str]()
        in_order = {name: self.words[name] for name in self.interface.reads if name in self.words}
        for name, words in {**wanted, **in_order, **self.words}.items():
            field = self.interface.reads.get(name) or self.interface.params[name]
            texts = [word.partition("=")[2] for word in words]
            if "word" in field.marks:
                bare += texts
            elif field.letter and field.type.name not in ("bool", "list"):
                letters += [word for text in texts for word in (f"-{field.letter}", text)]
            else:
                letters += words
        return [*letters, "--", *bare] if bare or lettered else []

    def all_words(self, *, without: str | None = None, apart: bool = False) -> list[str]:
        """Return every value as a flag, `without` one of the reads. Raises Skipped if a value has no flag."""
        words = self.words_without()
        for name, value in self.members.items():
            field = self.interface.reads[name]
            if name != without and (field.is_secret or value is None):
                raise Skipped("a read is secret, and has no flag")
            words += flag_words(field, value, apart=apart) if name != without else []
        return words


def flag_words(field: Field, value: Any, *, apart: bool = False) -> list[str]:
    """Return a value as the words of a flag; `apart` makes the value a word of its own."""
    if isinstance(value, bool):
        return [flag_word(field.name, value)]
    text = value.decode(errors="surrogateescape") if isinstance(value, bytes) else text_of(value)
    text = text if "verbatim" in field.marks else text.replace("$", "$$")
    flag = spell_flag(field.name)
    return [flag, text] if apart else [f"{flag}={text}"]


def document(members: Mapping[str, Any], last: str | None = None, **header: Any) -> bytes:
    """Make a store document in pflow's own layout; `last` is the key that the pipe carries."""
    about: dict[str, Any] = {"v": 1, "run": RUN, **({} if last is None else {"last": last}), "steps": STEPS, **header}
    made = Document(about)
    for key, value in members.items():
        made.set(key, value)
    return b"".join(map(bytes, made.pieces()))


class OutputDocument:
    """The document that a node wrote: its header, and its members by key. If it wrote none, `fault` says why."""

    def __init__(self, stdout: bytes) -> None:
        found, self.fault = None, f"{shown(stdout)} is not a document" if stdout.strip() else "nothing"
        try:
            found = read_document(stdout.strip())
        except PflowError as error:
            self.fault = error.message.removeprefix("cannot read the document on stdin: ")
        if found:
            self.fault = ""
        self.header = found.header if found else {}
        self.members: dict[str, Any] = dict(found or {})

    @property
    def error(self) -> dict[str, Any] | None:
        error = self.header.get("error")
        return error if isinstance(error, dict) else None

    @property
    def entry(self) -> dict[str, Any]:
        """The node's own entry in the header's steps."""
        steps = self.header.get("steps", [])
        last = steps[-1] if steps and isinstance(steps[-1], dict) else {}
        return last if last.get("id") != STEPS[-1]["id"] else {}

    @property
    def action(self) -> str:
        """The action that the node returned."""
        return str(self.entry.get("action") or self.header.get("action") or "default")

    @property
    def reads(self) -> list[str]:
        """The keys that the node read, according to its own entry."""
        reads = self.entry.get("reads")
        return [*reads] if isinstance(reads, dict) else []


def same(one: Any, other: Any) -> bool:
    """Return True for equal JSON values: 1 and 1.0 are equal, as jq writes them; 1 and true are not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def shown(data: bytes) -> str:
    """Return the beginning of an output, in quotes."""
    text = repr(data[:120].decode("utf-8", "backslashreplace"))
    return text if len(data) <= 120 else f"{text}…"
