"""A JSON schema for an answer: words that ask for it in the prompt, and finding the value in the answer."""

import re
from contextlib import suppress
from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.files.schema import endless, error_text, worst_misfit
from pflow.text.printable import foreign_line
from pflow.values.json_input import fences, place_of
from pflow.values.jsontext import BLANK, TooLarge, compact, encode, scan_without_duplicates

_BRACKET = re.compile(r"[{}\[\]]")
_KINDS = {"object": dict, "array": list}

_MOST_FAULTS = 100
"""After so many brackets that begin no JSON, the search for a value ends."""


class Unfit(PflowError):
    """The failure of an answer without a value that fits. `why` is for the model, which is asked again.

    It is permanent for a number that is too large: the model would write it again.
    """

    def __init__(self, model_id: str, why: str, *, is_permanent: bool = False) -> None:
        what = f"cannot take the answer of '{model_id}': it does not fit the schema: {why}"
        hint = "the schema can ask for it as a string" if is_permanent else "--retries asks again"
        super().__init__(what, hint=hint, exit=BAD_DATA, is_permanent=is_permanent)
        self.why = why


def ask_for(prompt: str, schema: dict[str, Any], wrong: str = "") -> str:
    """Return the prompt, followed by the schema in words, and by what was `wrong` with an earlier answer."""
    wish = "Answer with JSON that fits this JSON schema, and with nothing else:\n" + str(encode(schema), "utf-8")
    again = f"An earlier answer does not fit the schema: {wrong}" if wrong else ""
    return "\n\n".join(filter(None, (prompt, wish, again)))


def read_answer(text: str, schema: dict[str, Any], model_id: str) -> Any:
    """Return the value in an answer, checked against the schema. There must be only one.

    It is the whole answer, or stands in a Markdown fence, begins a line, or follows a colon or a tag. A value within a
    sentence does not count. Raises Unfit (65) without a value that fits, or with two different ones, and PflowError
    (65) for a schema that cannot be used.
    """
    bare = text.strip(BLANK)
    found = _find(bare, _KINDS.get(str(schema.get("type")), (dict, list)))
    if len(found) != 1:
        raise _without_value(model_id, bare, [*found])
    value = next(iter(found.values()))
    try:
        wrong = worst_misfit(schema, value)
    except RecursionError as error:
        raise endless("the schema") from error
    if wrong is not None:
        raise Unfit(model_id, error_text(wrong))
    return value


def is_bare(text: str) -> bool:
    """Return True if an answer is the value alone, bare or in a fence."""
    bare = text.strip(BLANK)
    return bool(_whole(bare)) or (bare[:3] in ("```", "~~~") and bare[-3:] == bare[:3])


def _find(text: str, kind: Any) -> dict[str, Any]:
    """Return the values in a text by their JSON: the whole text, else those in its fences, else those among its words.

    If there are several, only those of the `kind` for which the schema asks count.
    """
    # A text that begins as JSON may hold a fence in a string, and a part of a value must not count as the value.
    parts = [text[start:end] for _, start, end in ([] if text[:1] in ("{", "[") else fences(text))]
    fenced = [value for part in parts for value in _whole(part) or _among_words(part)]
    found = {compact(value): value for value in _whole(text) or fenced or _among_words(text)}
    fitting = {each: value for each, value in found.items() if isinstance(value, kind)}
    return (fitting or found) if len(found) > 1 else found


def _whole(text: str) -> list[Any]:
    with suppress(ValueError):
        value, end = scan_without_duplicates(bare := text.strip(BLANK), 0)
        return [value] if end == len(bare) else []
    return []


def _among_words(text: str) -> list[Any]:
    """Return the objects and lists that begin a line, or follow a colon, a tag or another value in their line.

    Return none if the brackets do not match. JSON inside a bracket that begins no JSON does not count, since it may be
    a part of a value that is malformed.
    """
    found, faults, at, depth, end = list[Any](), 0, 0, 0, 0
    while depth >= 0 and faults < _MOST_FAULTS and (bracket := _BRACKET.search(text, at)):
        at = bracket.end()
        if bracket[0] in "}]":
            depth -= 1
            continue
        try:
            value, at = scan_without_duplicates(text, bracket.start())
        except ValueError:
            depth, faults = depth + 1, faults + 1
            continue
        before = text[max(bracket.start() - 100, 0) : bracket.start()].rstrip(" \t`*")  # and marks of Markdown
        if depth:
            continue
        if before[-1:] in ("", "\n", ":", ">") or (found and "\n" not in text[end : bracket.start()]):
            found.append(value)
            end = at
    return [] if depth else found


def _without_value(model_id: str, text: str, found: list[str]) -> Unfit:
    """Return the failure of a text without a value, or with several."""
    if found:
        many = "two values are" if len(found) == 2 else f"{len(found)} values are"
        return Unfit(model_id, f"{many} in it: {', '.join(map(_beginning, found[:2]))}")
    at = match.start() if (match := _BRACKET.search(text)) else 0
    try:
        scan_without_duplicates(text, at)
    except TooLarge as error:
        return Unfit(model_id, f"a number is too large: {place_of(text, error, at)}", is_permanent=True)
    except ValueError as error:
        where = f"{place_of(text, error, at)}: " if match else ""
        return Unfit(model_id, f"it is not JSON: {where}{_beginning(text)}")
    return Unfit(model_id, f"its JSON stands within a sentence, and begins no line: {_beginning(text)}")


def _beginning(text: str) -> str:
    return f"'{foreign_line(text[:60])}'" if text else "nothing"
