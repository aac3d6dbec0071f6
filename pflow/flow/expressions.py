"""The expressions in a flow: constants, templates and paths; and the types and forms that they must fit."""

from __future__ import annotations

import os

from pflow import Any, Callable, Iterable, Iterator, Mapping
from pflow.errors import BAD_DATA, Attempt, PflowError, check_natural, check_positive, shorten
from pflow.flow.flow import FlowSpec, Mapped, Step
from pflow.interface.common import is_shared
from pflow.interface.interface import Field, Interface
from pflow.text.naming import read_pairs, read_types
from pflow.values.encoding import split_encoding
from pflow.values.jsontext import BYTES, change_texts
from pflow.values.paths import Path, parse_path, write_path
from pflow.values.templates import TEMPLATE, Bare, parse_place, parse_template, references
from pflow.values.types import Type, fit, names_schema_file

INPUT, MAPPING, PARAM, OVER, OUTPUT = "input", "mapping", "param", "over", "output"


class Expression:
    """A value in a flow's file: constant, template or path. `role` and `key` say its use, `location` its place there.

    `paths` are the paths in it; `fault` says why they do not parse.
    """

    def __init__(self, location: Path, role: str, key: str, written: Any) -> None:
        self.location = location
        self.role = role
        self.key = key
        self.written = written
        self.is_template = role in (INPUT, PARAM)
        self.paths: list[Path] = []
        self.fault = ""
        try:
            self._parse(written)
        except ValueError as error:
            self.fault = str(error)

    def _parse(self, written: Any) -> None:
        if isinstance(written, str) and written.startswith(TEMPLATE) and self.role in (MAPPING, OUTPUT):
            self.is_template = True
            self.written = written = written[len(TEMPLATE) :]
        if self.is_template:
            self.paths = list(dict.fromkeys(references(written)))
        else:
            several = written if isinstance(written, list) else [written]
            or_template = self.role != OVER and several is not written
            self.paths = [parse_place(path, or_template=or_template) for path in several]


def expressions_of_step(step: Step, interface: Interface) -> Iterator[Expression]:
    """Yield every expression of a step, its batch first. The value of a `[verbatim]` field is never a template."""
    if step.batch is not None:
        yield Expression((*step.location, "batch", "over"), OVER, "", step.batch.over)
    for role, name, values in ((INPUT, "inputs", step.inputs), (PARAM, "params", step.params)):
        for key, value in values.items():
            expr = Expression((*step.location, name, key), role, key, value)
            if interface.is_verbatim(key):
                expr.paths, expr.is_template, expr.fault = [], False, ""
            yield expr
    for key, value in step.input_mappings.items():
        yield Expression(("mappings", step.id, "input_mappings", key), MAPPING, key, value)


def expressions_of_outputs(flow: FlowSpec) -> Iterator[Expression]:
    for name, value in flow.outputs.items():
        yield Expression(("outputs", name), OUTPUT, name, value)


def move_references(written: Any, places: Mapping[Path, Path]) -> Any:
    """Replace the references to paths in `places`. A template without such a reference keeps its text."""

    def change(text: str) -> str:
        parts = parse_template(text)
        if not any(part in places for part in parts if not isinstance(part, str)):
            return text
        moved = (part if isinstance(part, str) else places.get(part, part) for part in parts)
        return "".join([escape_dollars(part) if isinstance(part, str) else reference_text(part) for part in moved])

    return change_texts(written, change)


def move_source(source: Mapped, places: Mapping[Path, tuple[Path, ...]]) -> Mapped:
    """Return the source of a mapping with each path in `places` replaced by its places."""
    if isinstance(source, str) and source.startswith(TEMPLATE):
        single = {path: each[0] for path, each in places.items()}
        return TEMPLATE + str(move_references(source.removeprefix(TEMPLATE), single))
    paths = list(map(parse_path, source if isinstance(source, list) else [source]))
    is_same = not any(path in places for path in paths)
    return source if is_same else source_of(place for path in paths for place in places.get(path, (path,)))


def source_of(places: Iterable[Path]) -> Mapped:
    """Return the source for a mapping: a place, or a list of places, of which a run takes the one written last."""
    several = list(dict.fromkeys(map(path_text, places)))
    return several[0] if len(several) == 1 else several


def escape_dollars(value: Any) -> Any:
    """Return a template that gives exactly this value: each dollar in its texts is doubled."""
    return change_texts(value, lambda text: text.replace("$", "$$"))


def literal(field: Field | None, value: Any) -> Any:
    """Return a constant as a flow's file holds it for a field: escaped, unless the field is `[verbatim]`."""
    return value if field is not None and "verbatim" in field.marks else escape_dollars(value)


def reference_text(path: Path) -> str:
    """Write a reference to a path: `${a.b[0]}` with quoted keys where necessary, or `$a` if the flow writes it so."""
    if isinstance(path, Bare):
        return f"${path[0]}"
    return "${" + path_text(path) + "}"


def path_text(path: Path) -> str:
    """Write a path so that it reads the same in a mapping and between the braces of a template."""
    return write_path(path, in_template=True)


NO, MAYBE, YES = 0, 1, 2

_TAKEN = {
    "str": ("str", "url", "int", "float", "bool", "path", "bytes", "list", "dict", "choice"),
    "int": ("int",),
    "float": ("int", "float"),
    "bool": ("bool",),
    "path": ("str", "url", "path", "bytes", "choice"),
    "url": ("str", "url", "int", "float", "bool", "path", "bytes", "list", "dict", "choice"),
    "bytes": ("str", "url", "path", "bytes", "choice"),
    "list": ("list",),
    "dict": ("dict",),
    "choice": ("str", "url", "path"),
}
"""For each type, the types whose values all fit it by `pflow.values.types.fit` (for a choice, some of them do)."""


def fits(there: Type, wanted: Type) -> int:
    """Return how one type fits another: NO, MAYBE (some values fit) or YES (all fit, or the types do not tell)."""
    if wanted.name == "any":
        return YES
    if there.name == "any":
        return YES if wanted.name in ("str", "url") else MAYBE
    if there.choices and wanted.choices:
        common = set(there.choices) & set(wanted.choices)
        return YES if len(common) == len(set(there.choices)) else MAYBE if common else NO
    if there.name == "float" and wanted.name == "int":
        return MAYBE
    if there.name not in _TAKEN[wanted.name]:
        return NO
    return fits(there.items, wanted.items) if there.items and wanted.items else YES


def template_fits(there: Type, wanted: Type) -> int:
    """Return how a template that is one reference fits. Text is converted like a flag's; a list takes one item."""
    if there.name in ("str", "url", "choice", "any") and not (there.choices and wanted.choices):
        return YES
    if wanted.name == "list" and there.name != "list":
        return template_fits(there, wanted.items or Type("any"))
    return fits(there, wanted)


def misfit(field: Field, value: Any) -> str:
    """Say why a value in a flow does not fit a read or param; "" if it fits. Null may mean unset."""
    if value is None and field.default is None:
        return ""
    try:
        fit(field.type, value)
    except (ValueError, PflowError) as error:
        return str(error)
    return ""


def type_words(type: Type) -> str:
    """Name a type in words: `an int`, `a list[str]`, `plain or fancy`."""
    if type.choices:
        return shorten(" or ".join(type.choices), 200)
    return "any value" if type.name == "any" else f"an {type}" if type.name == "int" else f"a {type}"


def can_be_mapping(field: Field, value: Any) -> bool:
    """Return True if a mapping could replace the flag: its value is a text with references, not a list or an object."""
    if "verbatim" in field.marks or field.type.name in ("list", "dict"):
        return False
    return isinstance(value, str) and any(True for _ in references(value))


_A_PATH, _A_REGEX = "a path is like items[0].name", "a regular expression of Python"


def check_form(field: Field, value: Any, *, opens_files: bool) -> None:
    """Check a constant of a flow by the marks of its field. Raises PflowError with what is allowed."""
    if isinstance(value, str) and field.name == "encoding" and is_shared(field) and value != BYTES:
        split_encoding(value)
    for form in [each for each in _CHECKS if each in field.marks]:
        type, check = _CHECKS[form]
        if isinstance(value, type) and not (form == "schema" and _is_unread(value, opens_files)):
            check(field.flag, value)


def _is_unread(schema: Any, opens_files: bool) -> bool:
    """Return True for a schema's file that only the step may read: the check may open no files, or it is a pipe."""
    is_file = isinstance(schema, str) and names_schema_file(schema)
    return is_file and not (opens_files and (os.path.isfile(schema) or not os.path.exists(schema)))


def _check_schema(flag: str, schema: Any) -> None:
    from pflow.files.schema import load_schema

    load_schema(schema)


def _check_sql(flag: str, sql: str) -> None:
    from pflow.tables.query import check_query

    check_query(sql)


def _check_delimiter(flag: str, text: str) -> None:
    from pflow.tables.csv_text import delimiter_of

    delimiter_of(text)


def _check_url(flag: str, url: str) -> None:
    from pflow.web.address import parse_url

    parse_url(url)


def _check_place(flag: str, place: str) -> None:
    with Attempt(f"cannot take {flag}='{shorten(place)}'", of=ValueError, hint=_A_PATH, exit=BAD_DATA):
        parse_path(place or "all")


def _check_regex(flag: str, pattern: str) -> None:
    import re

    with Attempt(f"cannot take {flag}='{shorten(pattern)}'", of=re.error, hint=_A_REGEX, exit=BAD_DATA):
        re.compile(pattern)


_CHECKS: dict[str, tuple[Any, Callable[[str, Any], Any]]] = {
    "schema": (object, _check_schema),
    "sql": (str, _check_sql),
    "place": (str, _check_place),
    "regex": (str, _check_regex),
    "positive": (int | float, check_positive),
    "natural": (int | float, check_natural),
    "delimiter": (str, _check_delimiter),
    "types": (list, lambda flag, texts: read_types(flag, map(str, texts))),  # before pairs: its error says more
    "pairs": (list, lambda flag, texts: read_pairs(flag, map(str, texts))),
    "web": (str, _check_url),
}
"""For each form, the type of the values that have one, and the check. It is the check that the nodes use."""
