"""The form of a request to a model: its options, and the members that a server refuses.

A request whose member was refused is sent again without it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from llm import Model
from pydantic import TypeAdapter, ValidationError, create_model

from pflow.errors import USAGE, Ignoring, PflowError
from pflow.models.errors import meaning_of
from pflow.models.known import is_small, runs_here, split_address
from pflow.models.prices import MAX_TOKENS
from pflow.models.settings import default_options
from pflow.text.naming import read_pairs
from pflow.text.printable import clause
from pflow.values.jsontext import compact, decode

FORMAT, GRAMMAR = "response_format", "grammar"

_KINDS = ("value", "model", "other", "down", "")
"""The kinds of error (pflow.web.reasons) that may refuse a member."""

_CHANGES = {"stream": "", "stream_options": "", "max_tokens": "max_completion_tokens", GRAMMAR: ""}
"""The members without which a request asks the same, each with the member that takes its value, if any does."""

HINTS = {"stream": "-o stream=false", "max_tokens": "-o max_completion_tokens=N"}
"""What a person can type so that a member is not sent."""

_WORDS = {
    "stream": r"stream(s|ed|ing)?",
    FORMAT: r"(response|output)[_ ]?formats?|(\w+[_ ])?schemas?|json[_ ]mode|structured[_ ]outputs?|guided\w*"
    r"|validate json|gramm[ae]rs?|text\.format",
    GRAMMAR: r"gramm[ae]rs?|gbnf",
}

_DENIES = re.compile(
    r"\b(no|not|non|only|must|should|cannot|instead|extra|forbidden|disabled?|invalid|illegal|unavailable|failed|unable)"
    r"\b|n't\b|\bun(support|known|recogni[sz]ed|expected|implemented)|deprecated",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\b(not |un)(yet )?(support|implement|recogni[sz])|\b(must|should) be\b", re.IGNORECASE)
"""What a server that calls a refusal its own fault (500) says of a member."""

_OF_RANGE = re.compile(
    r"too (large|small|high|low|long|many)|at (least|most)|exceed|maximum|minimum|less than|greater|between|positive",
    re.IGNORECASE,
)

_refused: dict[tuple[str, str], set[str]] = {}
"""The members and schemas that models refused in this process, by address and name."""

_IGNORED = "ignored "
"""Stands before a schema that a model took and did not keep to."""


def refused_member(error: Any, members: Iterable[str]) -> str:
    """Return which of the `members` of a request a provider's error refuses by name; "" if it names none.

    A server that finds a limit too large does not refuse its member.
    """
    _, kind, reason = meaning_of(error)
    param = str(getattr(error, "param", None) or "")
    said = " ".join([reason.words, *reason.codes, param])
    denies = _NEVER if kind == "down" else _DENIES
    if isinstance(error, PflowError) or kind not in _KINDS or not denies.search(said):
        return ""
    is_range = bool(_OF_RANGE.search(said))
    fixed = ("messages", "" if kind == "model" else "model")  # which every question has
    members = [name for name in members if not (is_range and name.endswith("_tokens")) and name not in fixed]
    places = {name: match.start() for name in members if (match := _pattern(name).search(said))}
    named = param.partition(".")[0]
    return named if named in places else min(places, key=places.__getitem__, default="")


def _pattern(name: str) -> re.Pattern[str]:
    words = _WORDS.get(name) or name.replace("_", "[_ ]?")
    return re.compile(rf"(?<![a-z0-9_])({words})(?![a-z0-9_])", re.IGNORECASE)


def refused_by(model: Any) -> set[str]:
    """Return the members that a model has refused in this process, by its address; more may be added."""
    place = str(getattr(model, "api_base", None)), getattr(model, "model_name", None) or model.model_id
    return _refused.setdefault(place, set())


def takes_schema(model: Any, schema: Any) -> bool:
    """Return True if a model gets a schema beside the prompt, not in it.

    llm-anthropic would make an older Claude answer with the call of a tool, without a text.
    """
    is_able = model.supports_schema and getattr(model, "use_structured_outputs", True)
    return bool(schema and is_able) and compact(schema) not in refused_by(model)


def takes_grammar(model: Any) -> bool:
    """Return True if a model's answer can be held to a grammar: one of a file, or of a llama-server at an address."""
    return GRAMMAR not in refused_by(model) and (GRAMMAR in model.Options.model_fields or _is_llama(model))


def _is_llama(model: Any) -> bool:
    """Return True if a model's server says that it is llama.cpp's."""
    with Ignoring(Exception):  # no server answers, or its answer is not such a list
        if "stop" in model.Options.model_fields and (
            split_address(model.model_id) or runs_here(model.model_name, model.api_base)
        ):
            listed = model.get_client(model.get_key()).with_options(max_retries=0, timeout=2).models.list()
            return any(each.owned_by == "llamacpp" for each in listed)
    return False


_WARM = 0.8
"""The temperature of further draws."""


def with_grammar(model: Any, grammar: str, draw: int = 0) -> dict[str, Any]:
    """Return the options that hold an answer, one line, to a grammar; the `model`, a copy, is made to take them.

    The first `draw`, 0, is the likeliest answer; each further number is another.
    """
    line = {"temperature": _WARM if draw else 0, "seed": draw, "max_tokens": 120, "stop": "\n"}
    if GRAMMAR in model.Options.model_fields:
        return {**line, GRAMMAR: grammar}
    model.Options = create_model("Options", __base__=model.Options, extra_body=(dict[str, Any], ...))
    return {**line, "extra_body": {GRAMMAR: grammar, "repeat_penalty": 1, "logprobs": True, "top_logprobs": 20}}


def keeps_to(model: Any, schema: Any) -> bool:
    """Return False if a model was given a schema in this process, and kept to it only once it was in the prompt too."""
    return _IGNORED + compact(schema) not in refused_by(model)


def note_ignored(model: Any, schema: Any) -> None:
    refused_by(model).add(_IGNORED + compact(schema))


def change_form(model: Any, member: str, schema: Any = None) -> bool:
    """Remember that `model` refuses a member; return True if the same can be asked in another form.

    The `schema` that was sent is one that it refuses; it then goes into the prompt.
    """
    refused = refused_by(model)
    if member in (FORMAT, "text") and schema:  # as OpenAI's newer protocol names it
        refused.add(compact(schema))
        return True
    if member in _CHANGES:
        refused.add(member)
    return member in _CHANGES


def fit_form(model: Any, members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a request in the form that `model` takes."""
    fitted = dict(members)
    for name in refused_by(model) & fitted.keys() & _CHANGES.keys():
        if name == "stream" and fitted[name]:  # llm expects one: another thread was refused just now
            continue
        value = fitted.pop(name)
        fitted |= {_CHANGES[name]: value} if _CHANGES[name] else {}
    return fitted


BRIEF = 200
"""The most tokens of a text by the small local model, if no limit is set: a longer one only repeats and invents."""


def parse_options(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options in the param `option`, of which the last of a name counts, and these params, if set."""
    pairs = read_pairs("--option", params["option"] or [])
    options: dict[str, Any] = {name.strip().replace("-", "_"): value for name, value in pairs}
    return options | {name: params[name] for name in names if params[name] is not None}


def fit_options(model: Model, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return `wanted` as this model takes it. Raises PflowError (2) for an unknown option or a value it refuses."""
    return {_name(model, name): _fit(model, _name(model, name), value) for name, value in wanted.items()}


def options_for(model: Model, wanted: Mapping[str, Any], *, has_schema: bool = False) -> dict[str, Any]:
    """Return all options of a call: those that are `wanted`, llm's defaults for the model, a small one's limit."""
    usual = {"max_tokens": BRIEF} if is_small(model) and not has_schema else {}
    return fit_options(model, {**usual, **default_options(model), **wanted})


def _name(model: Model, name: str) -> str:
    known = model.Options.model_fields
    if name == "max_tokens":
        name = next((other for other in MAX_TOKENS if other in known), name)
    if name == "max_completion_tokens" and "max_tokens" in known and hasattr(model, "get_client"):
        refused_by(model).add(name := "max_tokens")  # so it is sent under the other name
    if name in known or name == "stream":
        return name
    hint = f"it has {', '.join(sorted(known)) or 'no options'}"
    raise PflowError(f"cannot set '{name}': the model '{model.model_id}' has no such option", hint=hint, exit=USAGE)


def _fit(model: Model, name: str, value: Any) -> Any:
    """Return the value as text if the option takes text, else decoded from JSON."""
    if name in MAX_TOKENS and isinstance(value, int) and value < 1:
        raise PflowError(f"cannot set '{name}' to '{value}': it must be at least 1", exit=USAGE)
    try:
        if name == "stream" and name not in model.Options.model_fields:  # of the call: pflow.models.ask
            return TypeAdapter(bool).validate_python(value)
        return getattr(model.Options(**{name: value}), name)
    except ValueError as error:
        said = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)
    try:
        return getattr(model.Options(**{name: decode(value.encode()) if isinstance(value, str) else value}), name)
    except ValueError:
        shown, why = " ".join(str(value).split())[:80], said.removeprefix("Value error, ")
        raise PflowError(f"cannot set '{name}' to '{shown}': {clause(why)}", exit=USAGE) from None
