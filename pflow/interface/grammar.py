"""The grammar of interfaces: parse a docstring, or a script's comments without markers.

Another person wrote the words, so characters that would control a terminal are escaped here, once for all uses.
"""

from __future__ import annotations

from pflow import Any, Callable, NoReturn
from pflow.errors import BAD_DATA, PflowError, result_of
from pflow.interface.common import LETTERS, OF_FLOWS, RESERVED, is_shared
from pflow.interface.interface import ANYTHING, FORMS, IMPLIES, IS, ONE_OF, UNLESS, Field, Interface, piped, word_reads
from pflow.text.printable import clean
from pflow.values.jsontext import decode, scan
from pflow.values.types import parse_type

_IMPLIES = IMPLIES + "PARAM=VALUE"
_BOTH = ("verbatim", "secret", *FORMS, "flag NAME", "short X", _IMPLIES)
MARKS = {
    "read": ("pipe", "beside", "explicit", "own", "word", *_BOTH),
    "write": ("pipe", "secret"),
    "param": ("env NAME", *_BOTH),
}
EFFECTS = ("reads files", "writes files", "network", "runs commands", ANYTHING)
_HARMLESS = {"reads files"}
"""The effects with which a node without a Repeats line may still run twice."""


def parse_interface(text: str, *, file: str | None = None, first_line: int | None = None) -> Interface:
    """Parse the interface in `text`, a docstring or comments without markers.

    `file` and `first_line`, the line where the text begins, are for the error message. Raises PflowError (65) for the
    first line that does not parse.
    """
    interface = Interface()
    lines = text.expandtabs().split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip() == "Interface:"), None)
    prose = [clean(line.strip()) for line in (lines if start is None else lines[:start])]
    interface.summary, interface.description = _split_prose(prose)
    if start is None:
        return interface
    interface.open, interface.repeats = False, ""
    end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
    seen: set[str] = set()
    for n in sorted(
        range(start + 1, len(lines)), key=lambda n: "Repeats:" in lines[n]
    ):  # last: it may name a later param
        try:
            if n < end:
                _take_line(interface, lines[n].strip(), seen)
            elif lines[n].strip().startswith(tuple(f"- {head}:" for head in _LINES)):
                _fail("the interface ended at an empty line")
        except ValueError as bad:
            raise _located(bad, lines[n], file, None if first_line is None else first_line + n) from None
    interface.repeats = interface.repeats or ("no" if set(interface.effects) - _HARMLESS else "yes")
    interface.infer_pipe()
    interface.examples = _examples(lines[end:])
    return interface


def _examples(lines: list[str]) -> tuple[str, ...]:
    """Return the shell lines of the `Examples:` block after the interface."""
    bare = [clean(line.strip()) for line in lines]
    if "Examples:" not in bare:
        return ()
    after = bare[bare.index("Examples:") + 1 :]
    return tuple(after[: after.index("")] if "" in after else after)


def _split_prose(lines: list[str]) -> tuple[str, str]:
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return " ".join(paragraphs[0].split("\n")), "\n\n".join(p.strip("\n") for p in paragraphs[1:])


def _located(bad: ValueError, line: str, file: str | None, number: int | None) -> PflowError:
    place = (f"{file}:{number}" if number else file) if file else f"line {number}" if number else "its docstring"
    return PflowError(
        f"cannot parse the interface at {place}: '{line.strip()}': {bad}",
        hint='each line is one item: - Reads: shared["key"]: TYPE [= DEFAULT] [marks]  # description',
        exit=BAD_DATA,
    )


def _take_line(interface: Interface, line: str, seen: set[str]) -> None:
    head, colon, rest = line.removeprefix("- ").partition(":")
    if not line.startswith("- "):
        _fail("a line of the interface begins with '- '")
    if head not in _LINES or not colon:
        _fail("a line begins with one of " + ", ".join(_LINES))
    if head in seen and head not in _ITEMS:
        _fail(f"there is already a line {head}")
    seen.add(head)
    _LINES[head](interface, rest.strip())
    if interface.flow_safe and interface.effects:
        _fail("a flow-safe node has no effects")


def _fail(why: str) -> NoReturn:
    raise ValueError(why)


def _take_param(interface: Interface, rest: str) -> None:
    name, colon, rest = rest.partition(":")
    if not colon:
        _fail("a param is written name: TYPE")
    _add(interface.params, interface, _parse_item("param", name.strip(), rest))


def _parse_shared(kind: str, rest: str) -> Field:
    head, close, tail = rest.partition('"]')
    if not head.startswith('shared["') or not close or not tail.lstrip().startswith(":"):
        _fail(f'a {kind} is written shared["key"]: TYPE')
    return _parse_item(kind, head[len('shared["') :], tail.lstrip()[1:])


def _add(fields: dict[str, Field], interface: Interface, field: Field) -> None:
    if field.name in fields:
        _fail(f"'{field.name}' is declared twice")
    if "pipe" in field.marks and piped(fields):
        _fail("another line has the mark [pipe]")
    if field.kind != "write":
        names, taken = {field.name, *field.flags}, interface.taken
        if any(names & {other.name, *other.flags} for other in taken):
            _fail(f"'{field.name}' has the same flag as another read or param")
        if (names & RESERVED and not is_shared(field)) or field.letter in LETTERS:
            whose = "step of a flow" if names & OF_FLOWS.keys() else "stage"
            _fail(f"'{field.name}' has the same flag as every {whose}")
        if field.letter and any(field.letter == other.letter for other in taken):
            _fail(f"'{field.name}' has the letter -{field.letter} of another read or param")
    if "word" in field.marks and any(read.type.name == "list" for read in word_reads(fields)):
        _fail(f"'{field.name}' never gets a bare word: the list before it takes them all")
    fields[field.name] = field


def _parse_item(kind: str, name: str, rest: str) -> Field:
    if not name.isidentifier() or not name.isascii():
        _fail(f"'{name}' is not a plain word (letters, digits, _)")
    if kind == "write" and name == "stdin":
        _fail("'stdin' is reserved for the pipe's content")
    rest = rest.strip()
    type, end = parse_type(rest)
    field = Field(kind, name, type)
    rest = rest[end:].lstrip()
    if rest.startswith("="):
        rest = _take_default(field, rest[1:].lstrip())
    while rest.startswith("["):
        mark, close, rest = rest[1:].partition("]")
        if not close:
            _fail("a mark ends with ']'")
        _take_mark(field, mark.strip())
        rest = rest.lstrip()
    if rest and not rest.startswith("#"):
        _fail(f"'{rest}' is not a default, a mark or a comment")
    if field.is_secret:
        if kind == "param" and not field.env:
            _fail("a [secret] param needs [env NAME]: no flag and no flow may give it")
        if field.letter or "word" in field.marks:
            _fail("a [secret] cannot have a letter or be a bare word")
    if "pairs" in field.marks and str(field.type) not in ("list", "list[str]", "list[any]"):
        _fail("[pairs] needs a list[str]")
    field.doc = clean(rest[1:].strip())
    if field.required and kind != "write" and not field.is_secret:
        field.default = stated_default(field, field.doc)
    return field


def stated_default(field: Field, words: str) -> Any:
    """Return the default in a description, `(default: "en")` or `(default gpt-4)`, else the default of the field."""
    rest = words.partition("(default")[2].partition(")")[0]
    text = rest.strip(" :=") if rest[:1] in " :=" else ""
    json = {"None": "null", "True": "true", "False": "false"}.get(text, text)
    value = result_of(decode, json.encode(), of=ValueError, otherwise=text)
    if not text or (value is text and " " in text):
        return field.default
    return value if value is None or field.type.takes(value) else field.default


def _take_default(field: Field, rest: str) -> str:
    if field.kind == "write":
        _fail("a write has no default")
    try:
        field.default, end = scan(rest)
    except ValueError:
        _fail("a default is written as JSON")
    if field.default is not None and not field.type.takes(field.default):
        _fail(f"the default does not have the type {field.type}")
    return rest[end:].lstrip()


def _take_mark(field: Field, mark: str) -> None:
    word, _, name = mark.partition(" ")
    name = name.strip().replace("-", "_")
    if mark in MARKS[field.kind] and not name:
        field.marks.add(mark)
    elif word == "short" and "short X" in MARKS[field.kind]:
        _take_letter(field, name)
    elif word == IMPLIES.strip() and _IMPLIES in MARKS[field.kind] and name.find("=") > 0:
        field.marks.add(IMPLIES + name)
    elif f"{word} NAME" not in MARKS[field.kind] or not (name.isidentifier() and name.isascii()) or name[0] == "_":
        _fail(f"a {field.kind} cannot have the mark [{mark}]")
    elif word == "env":
        field.env = name
    else:
        field.flags.append(name)


def _take_letter(field: Field, letter: str) -> None:
    if len(letter) != 1 or not (letter.isascii() and letter.isalpha()):
        _fail("a letter is marked [short X]")
    if field.letter:
        _fail("it has two marks [short X]")
    field.letter = letter


def _take_actions(interface: Interface, rest: str) -> None:
    names, _, interface.actions_doc = (clean(part.strip()) for part in rest.partition("#"))
    interface.actions, interface.declares_actions = tuple(name.strip() for name in names.split(",")), True
    if names.startswith(ONE_OF) and names.removeprefix(ONE_OF) in interface.reads:
        return
    for name in interface.actions:
        if not name.replace("-", "_").isidentifier():
            _fail(f"'{name}' is not the name of an action")


def _take_effects(interface: Interface, rest: str) -> None:
    effects = rest.partition("#")[0].strip()
    interface.effects = tuple(effect.strip() for effect in effects.split(",") if effect.strip() != "none")
    for effect in interface.effects:
        if effect not in EFFECTS:
            _fail(f"unknown effect '{effect}'; effects are {', '.join(EFFECTS)}, none")


def _take_repeats(interface: Interface, rest: str) -> None:
    text = rest.partition("#")[0].strip()
    name, is_value, values = text.removeprefix(UNLESS).partition(IS)
    name = name.strip().replace("-", "_")
    if text.startswith(UNLESS) and name.isidentifier():
        if name not in interface.params:
            _fail(f"there is no param '{name}'")
        text = UNLESS + name
        if is_value:
            text += IS + ", ".join(_take_values(interface.params[name], values))
    elif text not in ("yes", "no"):
        _fail("Repeats is yes, no, unless PARAM or unless PARAM is VALUE, VALUE")
    interface.repeats = text


def _take_values(param: Field, text: str) -> list[str]:
    values = [value.strip() for value in text.split(",")]
    if unknown := [value for value in values if value not in param.type.choices]:
        _fail(f"'{unknown[0]}' is not a choice of '{param.name}'")
    return values


def _take_version(interface: Interface, rest: str) -> None:
    if not rest or not all(part.isdigit() and part.isascii() for part in rest.split(".")):
        _fail("a version is written 1.0.0")
    interface.version = rest


def _take_flow_safe(interface: Interface, rest: str) -> None:
    if rest not in ("yes", "no"):
        _fail("Flow-safe is yes or no")
    interface.flow_safe = rest == "yes"


_ITEMS: dict[str, Callable[[Interface, str], None]] = {
    "Reads": lambda interface, rest: _add(interface.reads, interface, _parse_shared("read", rest)),
    "Writes": lambda interface, rest: _add(interface.writes, interface, _parse_shared("write", rest)),
    "Params": _take_param,
}
_LINES = {
    **_ITEMS,
    "Actions": _take_actions,
    "Effects": _take_effects,
    "Repeats": _take_repeats,
    "Version": _take_version,
    "Flow-safe": _take_flow_safe,
}
