"""The forms of constants: what each mark such as `[sql]` or `[positive]` demands, by the check of the nodes."""

from __future__ import annotations

import os

from pflow import Any, Callable
from pflow.errors import BAD_DATA, Attempt, check_natural, check_positive, shorten
from pflow.interface.common import is_shared
from pflow.interface.interface import Item
from pflow.text.naming import read_pairs, read_types
from pflow.values.encoding import split_encoding
from pflow.values.jsontext import BYTES
from pflow.values.paths import parse_path
from pflow.values.types import names_schema_file

_A_PATH, _A_REGEX = "a path is like items[0].name", "a regular expression of Python"


def check_form(item: Item, value: Any, *, opens_files: bool) -> None:
    """Check a constant of a flow by the marks of its item. Raises PflowError with what is allowed."""
    if isinstance(value, str) and item.name == "encoding" and is_shared(item) and value != BYTES:
        split_encoding(value)
    for form in [each for each in _CHECKS if each in item.marks]:
        type, check = _CHECKS[form]
        if isinstance(value, type) and not (form == "schema" and _is_unread(value, opens_files)):
            check(item.flag, value)


def _is_unread(schema: Any, opens_files: bool) -> bool:
    """Return True for a schema's file that may not be read, or is a pipe, which can be read only once."""
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
    "types": (list, lambda flag, texts: read_types(flag, map(str, texts))),  # before pairs, which says less
    "pairs": (list, lambda flag, texts: read_pairs(flag, map(str, texts))),
    "web": (str, _check_url),
}
"""The check of each form, and the type of the values that have one."""
