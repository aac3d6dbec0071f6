"""A JSON schema for an answer: putting it into the prompt for some models, and checking the answer."""

from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.files.schema import endless, misfits, words_of
from pflow.values.jsontext import WHITESPACE, encode, scan
from pflow.words.printable import one_line


def ask_for(prompt: str, schema: dict[str, Any]) -> str:
    """Return the prompt with the schema in words after it, for a model that takes no schemas."""
    wish = "Answer with JSON that fits this JSON schema, and with nothing else:\n" + str(encode(schema), "utf-8")
    return f"{prompt}\n\n{wish}" if prompt else wish


def read_answer(text: str, schema: dict[str, Any], model_id: str) -> Any:
    """Return the value in an answer, bare or in a Markdown fence, that fits the schema. Raises PflowError (65)."""
    from jsonschema.exceptions import best_match

    value = _value(text, model_id)
    try:
        wrong = best_match(misfits(schema, value))
    except RecursionError as error:
        raise endless("the schema") from error
    if wrong is not None:
        raise _unfit(model_id, words_of(wrong))
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
