"""Checking documents against a JSON schema (written as JSON, in llm's short form, or in a file) or a pydantic type.

jsonschema and pydantic are imported inside functions: few calls have a schema, and jsonschema takes 60 ms of CPU. Plain
stages and `pflow run` of pipe syntax use neither, and importing pydantic takes longer than their whole work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from pflow.errors import BAD_DATA, MISSING, PflowError, exit_code, reason_of, shorten
from pflow.files.beneath import open_file
from pflow.files.reading import read_to_end
from pflow.text.printable import foreign_line
from pflow.values.encoding import text_in
from pflow.values.json_input import place_of
from pflow.values.jsontext import BLANK, compact, decode
from pflow.values.paths import type_name, write_path
from pflow.values.types import names_schema_file

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
"""The types of llm's short form, each with its name in JSON schema."""

_WANTED = {
    "string_type": "a str",
    "list_type": "a list",
    "dict_type": "a dict",
    "model_type": "a dict",
    "bool_type": "a bool",
    "int_type": "an int",
    "float_type": "a number",
}
"""The wanted type, in our words, by pydantic's name for the fault."""

_REFERENCE = re.compile(r'"\$ref":"#(?=["/])')


def load_schema(schema: Any) -> dict[str, Any]:
    """Return a schema, which may be JSON, in llm's short form, or a path. Raises PflowError: a read's code, or 65."""
    is_word = isinstance(schema, str) and not _is_json(schema)
    name = f"the schema '{foreign_line(schema)}'" if is_word else "the schema"
    try:
        return _checked(_read(schema, name) if isinstance(schema, str) else schema, name)
    except RecursionError as error:
        raise endless(name) from error


def load_many(schema: Any) -> dict[str, Any]:
    """Return the schema of an object whose `items` all fit `schema`; its $refs are changed to fit their new place."""
    text = _REFERENCE.sub(r"\g<0>/properties/items/items", compact(load_schema(schema)))
    items = {"type": "array", "items": decode(text.encode())}
    return {"type": "object", "properties": {"items": items}, "required": ["items"]}


def _read(text: str, name: str) -> Any:
    try:
        if _is_json(text):
            return _decode(text, name)
        if names_schema_file(text):
            with open(open_file(text), "rb", buffering=0) as file:
                act = f"cannot read {name}"
                return _decode(text_in(read_to_end(file.fileno(), act), act).removeprefix("\ufeff"), name)
        return _short_form(text)
    except OSError as error:
        hint = "an inline schema is JSON, or short: 'name, amount int'" if exit_code(error) == MISSING else ""
        raise PflowError(f"cannot read {name}: {reason_of(error)}", hint=hint, exit=exit_code(error)) from error
    except ValueError as error:
        hint = f"fields are NAME [{'|'.join(_TYPES)}][: WHAT IT IS], separated by commas; --schema@FILE takes any file"
        raise PflowError(f"cannot read {name}: {error}", hint=hint, exit=BAD_DATA) from error


def _is_json(text: str) -> bool:
    return text.lstrip(BLANK).startswith(("{", "[")) or text.strip() in ("true", "false", "null")


def _decode(text: str, name: str) -> Any:
    try:
        return decode(text.encode("utf-8", "replace"))
    except ValueError as error:
        raise PflowError(f"cannot read {name} at {place_of(text, error)}", exit=BAD_DATA) from None


def _short_form(text: str) -> dict[str, Any]:
    """Return the schema that llm makes of `name, amount int: in euros`. Raises ValueError."""
    fields: dict[str, dict[str, str]] = {}
    for field in filter(str.strip, text.split("\n" if "\n" in text else ",")):
        said, _, about = field.partition(":")
        words = [*said.split(), "str"] if len(said.split()) == 1 else said.split()
        if len(words) != 2 or words[0] in fields:
            raise ValueError(f"'{field.strip()}' is not a field" if len(words) != 2 else f"'{words[0]}' appears twice")
        if words[1] not in _TYPES:
            raise ValueError(f"'{words[1]}' is not a type")
        fields[words[0]] = {"type": _TYPES[words[1]], **({"description": about.strip()} if about.strip() else {})}
    if not fields:
        raise ValueError("it names no field")
    return {"type": "object", "properties": fields, "required": list(fields)}


def _checked(schema: Any, name: str) -> dict[str, Any]:
    """Return a valid schema. A schema whose check never ends is refused here, before an answer is paid for."""
    if not isinstance(schema, dict):
        raise PflowError(f"cannot use {name}: it is not a JSON object", exit=BAD_DATA)
    from jsonschema import SchemaError  # type: ignore[import-untyped,unused-ignore]

    try:
        _validator_class(schema).check_schema(schema)
    except SchemaError as error:
        raise PflowError(f"cannot use {name}: {error_text(error)}", exit=BAD_DATA) from error
    with suppress(PflowError):  # a broken $ref does no harm unless an answer reaches it
        list(misfits(schema, None))
    return schema


def misfits(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yield each error of a value. Raises PflowError (65) for a $ref that leads nowhere, and RecursionError."""
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    # Its default registry would fetch a $ref from the network.
    validator = _validator_class(schema)(schema, registry=EMPTY_REGISTRY)
    try:
        yield from validator.iter_errors(value)
    except Unresolvable as error:
        raise PflowError(f"cannot use the schema: nothing is at its $ref '{error.ref}'", exit=BAD_DATA) from error


def worst_misfit(schema: dict[str, Any], value: Any) -> Any:
    """Return the most telling error of a value; None if it fits. Raises as `misfits` does."""
    from jsonschema.exceptions import best_match

    return best_match(misfits(schema, value))


def _validator_class(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=Draft202012Validator)


def error_text(error: Any) -> str:
    """Return the place and the message of an error of jsonschema's."""
    return foreign_line(f"{error.json_path}: {error.message}")


def endless(name: str) -> PflowError:
    """Return the failure of a schema whose check never ends."""
    why = "it is nested too deeply, or leads back to itself"
    return PflowError(f"cannot use {name}: {why}", exit=BAD_DATA, is_permanent=True)


def read_as(kind: type[T], document: Any, act: str, *, hint: str = "", exit: int) -> T:
    """Return a document as a value of the type `kind`. Raises PflowError: `act`, and the first fault."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        raise PflowError(f"{act}: {first_fault(error)}", hint=hint, exit=exit) from None


def first_fault(error: ValidationError) -> str:
    """Return the first fault without its value, which may be a secret: `'m.input' is a str, not a number`."""
    first = error.errors()[0]
    place = f"'{shorten(foreign_line(write_path(first['loc'])))}'" if first["loc"] else "it"
    if first["type"] == "missing":
        return f"{place} is missing"
    if wanted := _WANTED.get(first["type"]):
        return f"{place} is {type_name(first['input'])}, not {wanted}"
    return f"{place} {first['msg'].partition(' ')[2]}"  # pydantic says "Input should be …": our place is the subject
