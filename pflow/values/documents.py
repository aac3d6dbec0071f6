"""Documents that others wrote, held to a model of pydantic, with pflow's words for what does not fit.

No stage of a plain node and no `pflow run` of pipe syntax loads this: importing pydantic takes longer than they do.
"""

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from pflow.errors import PflowError, shorten
from pflow.text.printable import one_line
from pflow.values.paths import kind_of, write_path

T = TypeVar("T")

_WANTED = {
    "string_type": "a str",
    "list_type": "a list",
    "dict_type": "a dict",
    "model_type": "a dict",
    "bool_type": "a bool",
    "int_type": "an int",
    "float_type": "a number",
}
"""What should be there, by pydantic's name for the fault that something else is."""


def read_as(kind: type[T], document: Any, act: str, *, hint: str = "", exit: int) -> T:
    """Return a document in this form. Raises PflowError, which says after `act` what the first misfit is."""
    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        raise PflowError(f"{act}: {misfit(error)}", hint=hint, exit=exit) from None


def misfit(error: ValidationError) -> str:
    """Return the first misfit without its value, which may be a secret: `'m.input' is a str, not a number`."""
    first = error.errors()[0]
    place = f"'{shorten(one_line(write_path(first['loc'])))}'" if first["loc"] else "it"
    if first["type"] == "missing":
        return f"{place} is missing"
    if wanted := _WANTED.get(first["type"]):
        return f"{place} is {kind_of(first['input'])}, not {wanted}"
    return f"{place} {first['msg'].partition(' ')[2]}"  # "Input should be …"
