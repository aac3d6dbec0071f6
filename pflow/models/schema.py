"""A JSON schema for an answer: reading it, putting it into the prompt for some models, and checking the answer.

jsonschema is imported where a schema is checked: few calls have one, and it takes 60 ms of CPU.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from llm import schema_dsl

from pflow.errors import BAD_DATA, MISSING, PflowError, exit_code, reason_of
from pflow.files.beneath import open_file
from pflow.files.reading import read_to_end
from pflow.values.jsontext import WHITESPACE, encode, plain_words, scan
from pflow.values.types import names_schema_file
from pflow.words.printable import one_line


def load_schema(given: str | dict[str, Any]) -> dict[str, Any]:
    """Return the schema given as JSON, in llm's short form or as a path. Raises PflowError: a read's code, or 65."""
    is_json = isinstance(given, dict) or given.lstrip().startswith("{")
    name = "the schema" if is_json else f"the schema '{one_line(str(given))}'"
    try:
        return _checked(given if isinstance(given, dict) else _read(given, name), name)
    except RecursionError as error:
        raise _endless(name) from error


def _read(given: str, name: str) -> Any:
    try:
        if names_schema_file(given):
            with open(open_file(given), "rb", buffering=0) as file:
                return json.loads(read_to_end(file.fileno(), f"cannot read {name}").decode("utf-8-sig"))
        if given.lstrip().startswith("{"):
            return json.loads(given)
        schema = schema_dsl(given)  # llm's short form, `name, amount int: in euros`
        if not schema["properties"]:
            raise ValueError("it names no field")
        return schema
    except OSError as error:
        hint = "an inline schema is JSON, or short: 'name, amount int'" if exit_code(error) == MISSING else ""
        raise PflowError(f"cannot read {name}: {reason_of(error)}", hint=hint, exit=exit_code(error)) from error
    except UnicodeDecodeError as error:
        raise PflowError(f"cannot read {name}: it is not UTF-8", exit=BAD_DATA) from error
    except json.JSONDecodeError as error:
        what = f"cannot read {name} at line {error.lineno}, column {error.colno}: {plain_words(error.msg)}"
        raise PflowError(what, exit=BAD_DATA) from error
    except ValueError as error:
        what = str(error).removeprefix("Invalid schema DSL: ")
        hint = "fields are NAME [TYPE][: WHAT IT IS], separated by commas; --schema@FILE takes any file"
        raise PflowError(f"cannot read {name}: {what}", hint=hint, exit=BAD_DATA) from error


def _checked(schema: Any, name: str) -> dict[str, Any]:
    """Return the schema if it is valid. An endless one is refused here, before an answer is paid for."""
    if not isinstance(schema, dict):
        raise PflowError(f"cannot use {name}: it is not a JSON object", exit=BAD_DATA)
    from jsonschema import SchemaError  # type: ignore[import-untyped,unused-ignore]

    try:
        _validator_class(schema).check_schema(schema)
    except SchemaError as error:
        raise PflowError(f"cannot use {name}: {_misfit(error)}", exit=BAD_DATA) from error
    with suppress(PflowError):  # a $ref that leads nowhere may stand where no answer reaches it
        list(_misfits(schema, None))
    return schema


def _misfits(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yield each error of a value. Raises PflowError (65) for a $ref that leads nowhere, and RecursionError."""
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    # With a registry of its own the validator fetches no $ref from the network.
    validator = _validator_class(schema)(schema, registry=EMPTY_REGISTRY)
    try:
        yield from validator.iter_errors(value)
    except Unresolvable as error:
        raise PflowError(f"cannot use the schema: nothing is at its $ref '{error.ref}'", exit=BAD_DATA) from error


def _validator_class(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=Draft202012Validator)


def _misfit(error: Any) -> str:
    return one_line(f"{error.json_path}: {error.message}")


def _endless(name: str) -> PflowError:
    why = "it is nested too deeply, or leads back to itself"
    return PflowError(f"cannot use {name}: {why}", exit=BAD_DATA, is_permanent=True)


def ask_for(prompt: str, schema: dict[str, Any]) -> str:
    """Return the prompt with the schema in words after it, for a model that takes no schemas."""
    wish = "Answer with JSON that fits this JSON schema, and with nothing else:\n" + str(encode(schema), "utf-8")
    return f"{prompt}\n\n{wish}" if prompt else wish


def read_answer(text: str, schema: dict[str, Any], model_id: str) -> Any:
    """Return the value in an answer, bare or in a Markdown fence, that fits the schema. Raises PflowError (65)."""
    from jsonschema.exceptions import best_match

    value = _value(text, model_id)
    try:
        wrong = best_match(_misfits(schema, value))
    except RecursionError as error:
        raise _endless("the schema") from error
    if wrong is not None:
        raise _unfit(model_id, _misfit(wrong))
    return value


def _value(text: str, model_id: str) -> Any:
    bare = _without_fence(text.strip())
    try:
        value, end = scan(bare, 0)
    except ValueError:
        raise _unfit(model_id, f"it is not JSON: {_beginning(bare)}") from None
    if bare[end:].strip(WHITESPACE):
        raise _unfit(model_id, f"after the JSON comes {_beginning(bare[end:].strip())}")
    return value


def _without_fence(text: str) -> str:
    """Return the text between the first ``` line and the last, unless the answer is JSON from its start."""
    start = text.find("```")
    end = text.rfind("```")
    if text[:1] in ("{", "[") or start == end:
        return text
    return text[start:end].partition("\n")[2].strip()


def is_bare(text: str) -> bool:
    """Return True if an answer is the value alone, bare or in a fence."""
    bare = text.strip()
    return _without_fence(bare) == bare or (bare.startswith("```") and bare.endswith("```"))


def _beginning(text: str) -> str:
    return f"'{one_line(text[:60])}'" if text else "nothing"


def _unfit(model_id: str, why: str) -> PflowError:
    what = f"cannot take the answer of '{model_id}': it does not fit the schema: {why}"
    return PflowError(what, hint="--retries asks again", exit=BAD_DATA)
