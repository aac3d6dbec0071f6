"""Flags: the data, params and common flags of one stage, from the words of its command."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.binding.flag_value import FlagValue, Json, flag_value
from pflow.binding.store import INPUTS, key_mappings, named_place
from pflow.errors import USAGE, Attempt, PflowError, result_of, shorten
from pflow.interface.common import COMMON, OF_RUNS, is_shared
from pflow.interface.interface import ARGUMENT, Field, Interface, spell_flag, with_keys
from pflow.process.signals import Deadline
from pflow.stage.words import flags_in, is_on, take_words
from pflow.values.paths import Path, are_nested, is_step_name
from pflow.values.types import Type

if TYPE_CHECKING:
    from pflow.stage.words import Fields, Texts


class Flags:
    """The flags of a command: data and params by name, mappings by key, and each common flag as an attribute."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, interface: Interface) -> None:
        self.__dict__ = {name: flag.default for name, flag in COMMON.items()}
        self.interface = interface
        self.data: dict[str, FlagValue] = {}
        self.params: dict[str, FlagValue] = {}
        self.map_in: dict[str, Path] = {}
        self.map_out: dict[str, Path] = {}
        self.warnings: list[str] = []
        self.given: set[str] = set()
        self.fields = interface.fields

    def paths(self) -> list[Path]:
        """Return every path in a reference of a flag or in --map-in."""
        flags = [*self.data.values(), *self.params.values()]
        return [*(path for flag in flags for path in flag.references), *filter(None, self.map_in.values())]

    def own_place(self, key: str) -> Path:
        """Return the place of a key of this step: under the step's id, if it has one."""
        return (self.id, key) if self.id else (key,)

    def place_of(self, key: str) -> Path:
        """Return the place of a write: from --map-out, else its own."""
        return self.map_out.get(key) or self.own_place(key)


def parsing_limit(said: Mapping[str, list[str]]) -> Deadline:
    """Return the limit for reading the files that words name: the --timeout that `flags_in` found, if any."""
    texts = [*said.get("timeout", ())]
    # A wrong --timeout is refused later, with the other flags. Until then there is no limit.
    seconds = result_of(lambda: value_of(COMMON["timeout"], texts), of=PflowError, otherwise=None) if texts else None
    return Deadline(seconds, "--timeout", act="cannot begin")


def flags_of(words: list[str], interface: Interface) -> Flags:
    """Parse the words after a command's name. --help, --version and --describe work even beside wrong words.

    Raises PflowError (2), without secrets, for the first wrong flag.
    """
    fields, is_open = {**COMMON, **interface.fields}, interface.open
    said = flags_in(words, fields, is_open=is_open)
    try:
        with parsing_limit(said):
            return convert_texts(take_words(words, fields, is_open=is_open), interface)
    except PflowError as error:
        flags = Flags(interface)
        vars(flags).update({name: is_on(name, said) for name in ("help", "version", "describe", "verbose")})
        if flags.help or flags.version or flags.describe:
            return flags
        from pflow.values.secrets import mask_flags

        raise mask_flags(error, words, interface.secret_flags) from None


def add_keys(flags: Flags) -> Interface:
    """Add the keys that params name to the node's reads and writes, and map the keys that are paths.

    A flag of an added read becomes data under the read's name. Return the interface with these keys.
    """
    before = flags.interface
    known = {name: value.value for name, value in flags.params.items() if not value.references}
    flags.interface = with_keys(before, known)
    for key in flags.interface.reads.keys() - before.reads.keys():
        for name in [key, *flags.interface.reads[key].flags]:
            flags.params.pop(name, None)
            if name in flags.data:
                flags.data.setdefault(key, flags.data.pop(name))
    map_keys(flags, known)
    return flags.interface


def map_keys(flags: Flags, params: Mapping[str, Any]) -> None:
    """Map the keys that params name to their places, if they are paths."""
    for goal, made in key_mappings(params).items():
        for key in made:
            if (path := named_place(key)) != (key,):
                (flags.map_in if goal == INPUTS else flags.map_out).setdefault(key, path)


def convert_texts(texts: Texts, interface: Interface) -> Flags:
    """Convert these texts to the types of their flags. Raises PflowError (2) for the first wrong text."""
    flags = Flags(interface)
    flags.given = set(texts)
    for name in sorted(texts, key=lambda name: name != "verbatim"):  # --verbatim first: it turns all references off
        _set_flag(flags, name, texts[name])
    values = {name: flag.references or flag.value for name, flag in {**flags.data, **flags.params}.items()}
    for name, text in interface.implied(values).items():
        _set_flag(flags, name, [text])
    _check(flags)
    return flags


def _set_flag(flags: Flags, name: str, texts: list[str | bool]) -> None:
    """Convert one flag to its declared type and add it to the flags."""
    flag = spell_flag(name)
    if name in ("map_in", "map_out"):
        for text in texts:
            add_mapping(getattr(flags, name), flag, str(text))
        return
    field = flags.fields.get(name.replace("-", "_"))
    if name in COMMON and (field is None or is_shared(field)):
        setattr(flags, name, value_of(COMMON[name], texts))
        if field is None:
            return
    type = type_of(field, texts, is_open=flags.interface.open)
    verbatim = flags.verbatim or (field is not None and "verbatim" in field.marks)
    value = FlagValue(flag, type, texts, verbatim=verbatim)
    if not verbatim and any("$" in str(text) or "{{" in str(text) for text in texts):
        from pflow.values.templates import broken_references, double_braces

        broken = [each for text in texts for each in broken_references(str(text))]
        if broken and field is not None and field.is_template:
            what = f"cannot take {flag}: '{shorten(broken[0])}' is not a reference, and would be handed on"
            raise PflowError(what, hint="${name} is a reference, $$ a dollar", exit=USAGE)
        flags.warnings += [f"'{shorten(each)}' in {flag} is not a reference" for each in broken]
        braces = [each for text in texts for each in double_braces(str(text))]
        flags.warnings += [f"'{shorten(each)}' in {flag} is not a reference ({meant} is one)" for each, meant in braces]
    if field is None:
        from pflow.stage.wrong_words import doubts

        flags.warnings += doubts(flag, {**COMMON, **flags.fields})
    if field is None or field.kind == "read":
        flags.data[name] = value
    if field is None or field.kind == "param":
        flags.params[name] = value
    if name in COMMON and value.references:
        setattr(flags, name, COMMON[name].default)  # a template has no value before the node runs


def value_of(flag: Field, texts: list[str | bool]) -> Any:
    """Return the value of a flag that no node declares, of its type: a list has all texts, a switch may have a word.

    Raises PflowError (2) for a text that does not fit the type, and for a number out of range.
    """
    if flag.type.name == "list":
        return ["" if text is True else str(text) for text in texts]
    word, text = flag.word, texts[-1]
    is_word = bool(word) and text not in ("true", "false")
    if isinstance(text, bool) or (is_word and (word.isupper() or text in word.split("|"))):
        return text
    if is_word:
        what = f"cannot take {flag.flag}='{shorten(text)}': it does not take that word"
        raise PflowError(what, hint=f"{flag.flag}, or {flag.flag}={word}", exit=USAGE)
    value = flag_value("" if flag.kind == ARGUMENT else flag.flag, flag.type, text)
    least, most = flag.least, flag.most
    if not ((least is None or value >= least) and (most is None or value <= most)):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise PflowError(f"cannot take {flag.flag}={shorten(text)}: it must be {bounds}", exit=USAGE)
    return value


def values_of(texts: Texts, fields: Fields, convert: Callable[..., Any] = value_of) -> dict[str, Any]:
    """Return the value of each flag and bare word: `convert` makes it of the texts; without texts, it is the default.

    Raises PflowError (2).
    """
    named = {field.name: field for field in fields.values()}
    values = {name: convert(field, texts[name]) if name in texts else unsaid(field) for name, field in named.items()}
    check_pairs(named, values)
    return values


def check_pairs(fields: Fields, values: Mapping[str, Any]) -> None:
    """Raise PflowError (2) for two flags that exclude each other."""
    for flag in fields.values():
        for other in flag.excludes:
            if all(values.get(name) not in (None, False) for name in (flag.name, other)):
                what = f"cannot take both {flag.flag} and {spell_flag(other)}"
                raise PflowError(what, hint="choose one", exit=USAGE)


def unsaid(field: Field) -> Any:
    """Return the value of a flag or bare word that is not among the words."""
    empty = {"list": [], "bool": False}.get(field.type.name)
    return empty if field.required or field.default is None else field.default


def type_of(field: Field | None, texts: list[str | bool], *, is_open: bool) -> Type:
    """Return the type to which a flag's texts are converted: `any` for JSON given to an open node."""
    return Type("any") if field is None or (is_open and isinstance(texts[0], Json)) else field.type


def add_mapping(mapping: dict[str, Path], flag: str, text: str) -> None:
    """Add KEY=PATH to a mapping; --map-in=KEY= adds an empty path. Raises PflowError (2) for anything else."""
    from pflow.values.templates import parse_place

    key, equals, path = text.partition("=")
    if not equals:
        raise PflowError(f"cannot take {flag}='{text}': it has no =", hint=f"{flag}=KEY=PATH", exit=USAGE)
    with Attempt(f"cannot take {flag}={key}=PATH", of=ValueError, exit=USAGE):
        path.encode()
        steps = parse_place(path) if path or flag != "--map-in" else ()
    if key in mapping:
        raise PflowError(f"cannot take {flag}={key}=PATH twice", exit=USAGE)
    mapping[key] = steps


def check_common(values: Mapping[str, Any]) -> None:
    """Raise PflowError (2) for two forms of output, and flags that exclude each other."""
    forms = [f"--{name}" for name in ("raw", "stream", "json", "quiet") if values[name]]
    if len(forms) > 1 and forms != ["--raw", "--stream"]:
        raise PflowError(f"cannot print in two ways: {' and '.join(forms)}", hint="choose one", exit=USAGE)
    check_pairs(OF_RUNS, values)
    if values["refresh"] and values["cache"] in (False, "require"):
        form = "--no-cache" if values["cache"] is False else "--cache=require"
        raise PflowError(f"cannot take both --refresh and {form}", hint="choose one", exit=USAGE)


def _check(flags: Flags) -> None:
    check_common(vars(flags))
    if flags.id is not None and not is_step_name(flags.id):
        hint = "letters, digits, _ and -, with a letter first; stdin is reserved"
        raise PflowError(f"cannot name a step '{shorten(flags.id)}'", hint=hint, exit=USAGE)
    check_keys(flags.map_in, "--map-in", flags.interface.reads, is_open=flags.interface.open)
    check_keys(flags.map_out, "--map-out", flags.interface.writes, is_open=flags.interface.open)
    for key, path in flags.map_out.items():
        if path[0] == "stdin" or str(path[0]).startswith("$") or not all(isinstance(step, str) for step in path):
            hint = "a path of names; stdin and what begins with $ are reserved"
            raise PflowError(f"cannot take --map-out={key}=PATH: it is not a place to write to", hint=hint, exit=USAGE)
        for other, place in flags.map_out.items():
            if other != key and are_nested(path, place):
                why = f"'{other}' goes to that place"
                raise PflowError(f"cannot take --map-out={key}=PATH: {why}", hint="choose another", exit=USAGE)


def check_keys(mapping: dict[str, Path], flag: str, fields: dict[str, Field], *, is_open: bool) -> None:
    """Raise PflowError (2) for a key that the interface lacks, and for an empty path of a key that no pipe fills."""
    for key, path in mapping.items():
        if key not in fields and not is_open:
            there = ", ".join(fields) or "none"
            raise PflowError(f"cannot take {flag}={key}=PATH: no such key", hint=f"its keys: {there}", exit=USAGE)
        if not path and (key not in fields or "pipe" not in fields[key].marks):
            what = f"cannot take {flag}={key}=: the pipe does not fill '{key}'"
            raise PflowError(what, hint=f"{flag}={key}=PATH", exit=USAGE)
