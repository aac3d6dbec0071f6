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
"""The members that can be left out of a request, each with the member that takes its value ("" if none does)."""

HINTS = {"stream": "-o stream=false", "max_tokens": "-o max_completion_tokens=N"}
"""The options that keep a member from being sent, to spare the server a refusal."""

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
"""The words of a refusal that come with a status for the server's own faults (500)."""

_OF_RANGE = re.compile(
    r"too (large|small|high|low|long|many)|at (least|most)|exceed|maximum|minimum|less than|greater|between|positive",
    re.IGNORECASE,
)

_refused: dict[tuple[str, str], set[str]] = {}
"""The members and schemas that models have refused in this process, by the model's address and name."""

_IGNORED = "ignored "
"""The prefix of a schema that a model accepted, although its answer did not fit the schema."""


def refused_member(error: Any, members: Iterable[str]) -> str:
    """Return the member of a request that a provider's error refuses by name; "" if it names none of `members`.

    An error about a limit that is too large does not refuse the limit's member.
    """
    _, kind, reason = meaning_of(error)
    param = str(getattr(error, "param", None) or "")
    said = " ".join([reason.words, *reason.codes, param])
    denies = _NEVER if kind == "down" else _DENIES
    if isinstance(error, PflowError) or kind not in _KINDS or not denies.search(said):
        return ""
    is_range = bool(_OF_RANGE.search(said))
    fixed = ("messages", "" if kind == "model" else "model")  # every question needs these
    members = [name for name in members if not (is_range and name.endswith("_tokens")) and name not in fixed]
    places = {name: match.start() for name in members if (match := _pattern(name).search(said))}
    named = param.partition(".")[0]
    return named if named in places else min(places, key=places.__getitem__, default="")


def _pattern(name: str) -> re.Pattern[str]:
    words = _WORDS.get(name) or name.replace("_", "[_ ]?")
    return re.compile(rf"(?<![a-z0-9_])({words})(?![a-z0-9_])", re.IGNORECASE)


def refused_by(model: Any) -> set[str]:
    """Return the members that a model at its address has refused in this process: a set to which more are added."""
    place = str(getattr(model, "api_base", None)), getattr(model, "model_name", None) or model.model_id
    return _refused.setdefault(place, set())


def takes_schema(model: Any, schema: Any) -> bool:
    """Return True if a schema is sent beside the prompt; otherwise it stands in the prompt.

    An older Claude gets it in the prompt: llm-anthropic would make it answer with the call of a tool, without a text.
    """
    is_able = model.supports_schema and getattr(model, "use_structured_outputs", True)
    return bool(schema and is_able) and compact(schema) not in refused_by(model)


def takes_grammar(model: Any) -> bool:
    """Return True if a grammar can constrain a model's answers: that of a GGUF file, or of a llama-server."""
    return GRAMMAR not in refused_by(model) and (GRAMMAR in model.Options.model_fields or _is_llama(model))


def _is_llama(model: Any) -> bool:
    """Return True if the model's server says that it is llama.cpp's."""
    with Ignoring(Exception):  # a missing server, or one whose list has another form, takes no grammar
        if "stop" in model.Options.model_fields and (
            split_address(model.model_id) or runs_here(model.model_name, model.api_base)
        ):
            listed = model.get_client(model.get_key()).with_options(max_retries=0, timeout=2).models.list()
            return any(each.owned_by == "llamacpp" for each in listed)
    return False


_WARM = 0.8
"""The temperature of every draw after the first, so that the draws differ."""


def with_grammar(model: Any, grammar: str, draw: int = 0) -> dict[str, Any]:
    """Return the options that constrain an answer of one line to a grammar.

    The `draw` 0 asks for the likeliest answer, and each other number for another sample. The `model` must be a copy,
    since its options are extended if they have no grammar.
    """
    line = {"temperature": _WARM if draw else 0, "seed": draw, "max_tokens": 120, "stop": "\n"}
    if GRAMMAR in model.Options.model_fields:
        return {**line, GRAMMAR: grammar}
    model.Options = create_model("Options", __base__=model.Options, extra_body=(dict[str, Any], ...))
    return {**line, "extra_body": {GRAMMAR: grammar, "repeat_penalty": 1, "logprobs": True, "top_logprobs": 20}}


def keeps_to(model: Any, schema: Any) -> bool:
    """Return False if the model ignored this schema earlier in this process: it must be in the prompt too."""
    return _IGNORED + compact(schema) not in refused_by(model)


def note_ignored(model: Any, schema: Any) -> None:
    refused_by(model).add(_IGNORED + compact(schema))


def change_form(model: Any, member: str, schema: Any = None) -> bool:
    """Remember that `model` refuses a member; return True if the question can be asked in another form.

    If it refuses the form of the answer, the `schema` that was sent goes into the prompt from now on.
    """
    refused = refused_by(model)
    if member in (FORMAT, "text") and schema:  # OpenAI's newer protocol has the schema in `text`
        refused.add(compact(schema))
        return True
    if member in _CHANGES:
        refused.add(member)
    return member in _CHANGES


def fit_form(model: Any, members: dict[str, Any]) -> dict[str, Any]:
    """Return the members of a request in the form that `model` takes."""
    fitted = dict(members)
    for name in refused_by(model) & fitted.keys() & _CHANGES.keys():
        if name == "stream" and fitted[name]:  # another thread was refused meanwhile, but llm already expects a stream
            continue
        value = fitted.pop(name)
        fitted |= {_CHANGES[name]: value} if _CHANGES[name] else {}
    return fitted


BRIEF = 200
"""The most tokens of a text by the small model, if no limit is set: in a longer one it only repeats and invents."""


def parse_options(params: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options in the param `option` and in these params. Of several with one name the last counts."""
    pairs = read_pairs("--option", params["option"] or [])
    options: dict[str, Any] = {name.strip().replace("-", "_"): value for name, value in pairs}
    return options | {name: params[name] for name in names if params[name] is not None}


def fit_options(model: Model, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return `wanted` in the names and types of this model. Raises PflowError (2) for an unknown name or bad value."""
    return {_name(model, name): _fit(model, _name(model, name), value) for name, value in wanted.items()}


def options_for(model: Model, wanted: Mapping[str, Any], *, has_schema: bool = False) -> dict[str, Any]:
    """Return all options of a call: the `wanted` ones, llm's stored defaults, and the limit of the small model."""
    usual = {"max_tokens": BRIEF} if is_small(model) and not has_schema else {}
    return fit_options(model, {**usual, **default_options(model), **wanted})


def _name(model: Model, name: str) -> str:
    known = model.Options.model_fields
    if name == "max_tokens":
        name = next((other for other in MAX_TOKENS if other in known), name)
    if name == "max_completion_tokens" and "max_tokens" in known and hasattr(model, "get_client"):
        refused_by(model).add(name := "max_tokens")  # llm knows only max_tokens; fit_form renames it in the request
    if name in known or name == "stream":
        return name
    hint = f"it has {', '.join(sorted(known)) or 'no options'}"
    raise PflowError(f"cannot set '{name}': the model '{model.model_id}' has no such option", hint=hint, exit=USAGE)


def _fit(model: Model, name: str, value: Any) -> Any:
    """Return the value as text if the option takes text, else decoded from JSON."""
    if name in MAX_TOKENS and isinstance(value, int) and value < 1:
        raise PflowError(f"cannot set '{name}' to '{value}': it must be at least 1", exit=USAGE)
    try:
        if name == "stream" and name not in model.Options.model_fields:  # an option of ours, not of the model's
            return TypeAdapter(bool).validate_python(value)
        return getattr(model.Options(**{name: value}), name)
    except ValueError as error:
        said = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)
    try:
        return getattr(model.Options(**{name: decode(value.encode()) if isinstance(value, str) else value}), name)
    except ValueError:
        shown, why = " ".join(str(value).split())[:80], said.removeprefix("Value error, ")
        raise PflowError(f"cannot set '{name}' to '{shown}': {clause(why)}", exit=USAGE) from None
