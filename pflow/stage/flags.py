"""Flags: from a command's words to the data, params and common flags of one stage."""

from __future__ import annotations

from pflow.binding.given import Given, as_written
from pflow.common import COMMON
from pflow.errors import USAGE, PflowError, shorten
from pflow.paths import is_step_name, meet, parse_path
from pflow.stage.words import take_words
from pflow.templates import broken_references
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface, Item
    from pflow.paths import Path


class Flags:
    """What a command's words say: data and params by name, mappings by key, and each common flag as an attribute."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.data: dict[str, Given] = {}
        self.params: dict[str, Given] = {}
        self.map_in: dict[str, Path] = {}
        self.map_out: dict[str, Path] = {}
        self.warnings: list[str] = []
        self.given: set[str] = set()
        self._common: dict[str, Any] = {name: flag.default for name, flag in COMMON.items()}
        self.items: dict[str, Item] = {}
        for item in [*interface.reads.values(), *interface.params.values()]:
            self.items.update(dict.fromkeys([item.name, *item.flags], item))

    def __getattr__(self, name: str) -> Any:
        try:
            return self._common[name]
        except KeyError:
            raise AttributeError(name) from None

    def is_stored(self, key: str) -> bool:
        """Whether a flag's value also goes into the store."""
        read = self.interface.reads.get(key)
        return key in self.data and read is not None and read.is_stored

    def own_place(self, key: str) -> Path:
        """Where this step keeps a key: under its name where it has one."""
        return (self.id, key) if self.id else (key,)

    def place_of(self, key: str) -> Path:
        """Where a write goes: where --map-out says, else to its own place."""
        return self.map_out.get(key) or self.own_place(key)


def parse_flags(words: list[str], interface: Interface) -> Flags:
    """The flags in the words after a command's name. Raises PflowError (2) at the first that is wrong."""
    flags = Flags(interface)
    texts = take_words(words, flags.items, is_open=interface.open)
    flags.given = set(texts)
    for name in sorted(texts, key=lambda name: name != "verbatim"):  # it says how to take the others
        _settle(flags, name, texts[name])
    _check(flags)
    return flags


def _settle(flags: Flags, name: str, texts: list[str | bool]) -> None:
    """Convert one flag to what its declaration says, and put it where it belongs."""
    flag = "--" + name.replace("_", "-")
    if name in COMMON:
        _settle_common(flags, name, flag, texts)
        return
    item = flags.items.get(name)
    type = item.type if item else Type("str")
    verbatim = flags.verbatim or (item is not None and "verbatim" in item.marks)
    written = as_written(flag, type, texts, verbatim)
    given = Given(flag, type, written, verbatim=verbatim)
    if not verbatim:
        for text in texts:
            flags.warnings += [f"'{shorten(each)}' in {flag} is no reference" for each in broken_references(str(text))]
    if item is None or item.kind == "read":
        flags.data[name] = given
    if item is None or item.kind == "param":
        flags.params[name] = given


def _settle_common(flags: Flags, name: str, flag: str, texts: list[str | bool]) -> None:
    if COMMON[name].repeats:
        mapping = flags.map_in if name == "map_in" else flags.map_out
        for text in texts:
            _add_mapping(mapping, flag, str(text))
        return
    type = COMMON[name].type or Type("bool")
    text = texts[-1]
    flags._common[name] = text if isinstance(text, bool) else Given(flag, type, text, verbatim=True).value


def _add_mapping(mapping: dict[str, Path], flag: str, text: str) -> None:
    key, equals, path = text.partition("=")
    if not equals:
        raise PflowError(f"cannot take {flag}='{text}': no = in it", hint=f"{flag}=KEY=PATH", exit=USAGE)
    try:
        path.encode()
        steps = parse_path(path)
    except ValueError as error:
        raise PflowError(f"cannot take {flag}={key}=PATH: {error}", exit=USAGE) from None
    if key in mapping:
        raise PflowError(f"cannot take {flag}={key}=PATH twice", exit=USAGE)
    mapping[key] = steps


_YEARS = 10 * 365 * 24 * 3600
_RANGES = {"retries": (0, 1_000_000), "wait": (0, _YEARS), "timeout": (0.001, _YEARS)}


def _check(flags: Flags) -> None:
    """What each flag cannot see by itself."""
    forms = [f"--{name}" for name in ("raw", "json", "quiet") if flags._common[name]]
    if len(forms) > 1:
        raise PflowError(f"cannot print in two ways: {' and '.join(forms)}", hint="choose one", exit=USAGE)
    for name, (least, most) in _RANGES.items():
        value = flags._common[name]
        if value is not None and not least <= value <= most:
            raise PflowError(f"cannot take --{name}={value}: it is not in {least} … {most}", exit=USAGE)
    if flags.id is not None and not is_step_name(flags.id):
        hint = "letters, digits, _ and -, with a letter first; stdin is reserved"
        raise PflowError(f"cannot name a step '{shorten(flags.id)}'", hint=hint, exit=USAGE)
    _check_keys(flags, "--map-in", flags.map_in, flags.interface.reads)
    _check_keys(flags, "--map-out", flags.map_out, flags.interface.writes)
    for key, path in flags.map_out.items():
        if path[0] == "stdin" or str(path[0]).startswith("$") or not all(isinstance(step, str) for step in path):
            hint = "a path of names; stdin and what begins with $ are reserved"
            raise PflowError(f"cannot take --map-out={key}=PATH: no such place to write", hint=hint, exit=USAGE)
        for other in _keys_at(flags, path):
            if other != key:
                why = f"'{other}' goes to that place"
                raise PflowError(f"cannot take --map-out={key}=PATH: {why}", hint="choose another", exit=USAGE)


def _keys_at(flags: Flags, path: Path) -> list[str]:
    """The writes and the stored data flags whose places meet a path; a data flag may be written over whole."""
    writes = [key for key in {**flags.interface.writes, **flags.map_out} if meet(path, flags.place_of(key))]
    stored = [key for key in flags.data if flags.is_stored(key) and path != flags.own_place(key)]
    return writes + [key for key in stored if meet(path, flags.own_place(key))]


def _check_keys(flags: Flags, flag: str, mapping: dict[str, Path], items: dict[str, Item]) -> None:
    for key in mapping:
        if key not in items and not flags.interface.open:
            there = ", ".join(items) or "none"
            raise PflowError(f"cannot take {flag}={key}=PATH: no such key", hint=f"there is {there}", exit=USAGE)
