"""Asking a model: one request, its answer part by part, and what it used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm import Conversation, Model, Response
from pydantic import ValidationError

from pflow.errors import FAILED, TRY_AGAIN, USAGE, PflowError
from pflow.models import log
from pflow.models.attach import attach
from pflow.models.choose import check_key
from pflow.models.errors import BROKEN, CUT, FILTERED, LIMIT, Ending, explain, hide_keys, watch
from pflow.models.prices import cost_of, is_priced, no_price, no_tokens
from pflow.models.schema import ask_for, is_bare, load_schema, read_answer
from pflow.models.settings import default_options
from pflow.terminal.messages import say
from pflow.values.jsontext import decode
from pflow.words import budget
from pflow.words.printable import clause, one_line
from pflow.words.usage import Usage

MAX_TOKENS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict", "max_new_tokens")
"""What models call their limit; the first that a model has is meant."""


def parse_options(texts: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE texts by name; the last of a name counts. Raises PflowError (2)."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise PflowError(f"cannot read the option '{text}'", hint="it is written NAME=VALUE", exit=USAGE)
        options[name.strip().replace("-", "_")] = value
    return options


def fit_options(model: Model, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """`wanted` as this model takes it. Raises PflowError (2) for an option that it lacks or a value that it refuses."""
    return {_name(model, name): _fit(model, _name(model, name), value) for name, value in wanted.items()}


def _name(model: Model, name: str) -> str:
    known = model.Options.model_fields
    if name == "max_tokens":
        name = next((other for other in MAX_TOKENS if other in known), name)
    if name in known:
        return name
    raise PflowError(
        f"cannot set '{name}': the model '{model.model_id}' has no such option",
        hint=f"it has {', '.join(sorted(known))}" if known else "it has no options",
        exit=USAGE,
    )


def _fit(model: Model, name: str, value: Any) -> Any:
    """The value as text where the option takes text, else as the JSON that it is."""
    try:
        return getattr(model.Options(**{name: value}), name)
    except ValueError as error:
        said = str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error)
    try:
        return getattr(model.Options(**{name: decode(value.encode()) if isinstance(value, str) else value}), name)
    except ValueError:
        shown, why = " ".join(str(value).split())[:80], said.removeprefix("Value error, ")
        raise PflowError(f"cannot set '{name}' to '{shown}': {clause(why)}", exit=USAGE) from None


@dataclass
class Request:
    """What to ask: a prompt with what may go with it: what was `piped`, and what lies at `places`, paths or addresses.

    What is None or empty is not sent.
    """

    prompt: str
    piped: bytes | None = None
    places: list[str] = field(default_factory=list)
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    is_logged: bool = False


@dataclass
class Answer:
    """What came: a text, or a value when a schema was given; and `usage` (model, input, output, cost, conversation).

    `flaw` says why another answer to the same question may be better.
    """

    response: Any
    usage: dict[str, Any]
    flaw: str = ""


def ask(conversation: Conversation, request: Request, emit: Callable[[str], None]) -> Answer:
    """The answer of its model, after all that was said; `emit` gets each part as it comes, but none of a value.

    Raises PflowError.

    An answer that reached its token limit is an answer: unless a person set that limit, stderr says so.
    """
    schema = load_schema(request.schema) if request.schema is not None else None
    model, ending = watch(conversation.model)
    conversation.model = model
    response = _prepare(conversation, model, request, schema)
    is_limit_known = any(name in request.options for name in MAX_TOKENS)
    parts = []
    try:
        for part in parts_of(response, model):
            parts.append(part)
            if schema is None and part:
                emit(part)
        text = "".join(parts)
        check_ending(ending, response, model, text)
        answer = text if schema is None else read_answer(text, schema, model.model_id)
        usage = _usage(response, ending, model)
        if budget.is_priced and "cost" not in usage:
            raise no_tokens(model)
    except PflowError as error:
        error.hint = "it stops at its token limit: --max-tokens raises it" if ending.kind == LIMIT else error.hint
        if parts:
            used = Usage()
            used.add_answer(_usage(response, ending, model))
            error.usage = used.members()
        raise
    if ending.kind == LIMIT and not is_limit_known:
        print(f"the answer of '{model.model_id}' stops at its token limit: --max-tokens sets it", file=sys.stderr)
    if request.is_logged and log.write(response):
        usage["conversation"] = conversation.id
    return Answer(answer, usage, _flaw(ending, text, has_schema=schema is not None))


def _flaw(ending: Ending, text: str, *, has_schema: bool) -> str:
    if ending.kind == LIMIT:
        return "the answer stops at its token limit"
    return "it is empty" if not text.strip() else "it stands among other words" * (has_schema and not is_bare(text))


def _prepare(conversation: Conversation, model: Model, request: Request, schema: dict[str, Any] | None) -> Response:
    """The request as llm sees it; nothing is sent before its answer is read."""
    options = fit_options(model, {**default_options(model), **request.options})
    check_key(model)
    if budget.is_priced and not is_priced(model):
        raise no_price(model)
    more: dict[str, Any] = {}
    prompt, more["attachments"] = attach(model, request.prompt, request.piped, request.places)
    if schema and model.supports_schema:
        more["schema"] = schema
    elif schema is not None:
        prompt = ask_for(prompt, schema)
    log.set_system(conversation, request.system)
    try:
        return conversation.prompt(prompt, system=request.system, stream=model.can_stream, **more, **options)
    except Exception as error:
        raise explain(error, model) from error


def parts_of(response: Response, model: Model) -> Generator[str, None, None]:
    """The parts of an answer. What the provider raises is explained; what their reader raises passes by."""
    budget.begin_call(model.model_id)
    try:
        yield from response
    except Exception as error:
        raise explain(error, model) from error


def check_ending(ending: Ending, response: Response, model: Model, text: str) -> None:
    """Raise PflowError where an answer was cut (75), broke off (75) or was refused by the protocol (1)."""
    ending.look_at(response.response_json)
    words = one_line(hide_keys(ending.words or ending.refusal, model))
    said = f": {words}" if words else ""
    if ending.kind == CUT:
        what = "was cut before its end" if text else "did not come"
        hint = "try again, or let --retries do it" if text else "is the server's address right?"
        raise PflowError(f"cannot take the answer of '{model.model_id}': it {what}", hint=hint, exit=TRY_AGAIN)
    if ending.kind == BROKEN:
        raise PflowError(f"cannot take the answer of '{model.model_id}': the provider failed{said}", exit=TRY_AGAIN)
    if ending.kind == FILTERED or (ending.refusal and not text):
        raise PflowError(f"cannot get an answer from '{model.model_id}': it refused{said}", exit=FAILED)


def _usage(response: Response, ending: Ending, model: Model) -> dict[str, Any]:
    """What is known of tokens and cost: what the provider said, else what its price makes of the tokens."""
    details, said = response.token_details or {}, ending.usage
    known = {
        "model": model.model_id,
        "input": _first(response.input_tokens, said.get("prompt_tokens"), said.get("input_tokens")),
        "output": _first(response.output_tokens, said.get("completion_tokens"), said.get("output_tokens")),
        "cost": _first(details.get("cost"), said.get("cost")),
    }
    if known["cost"] is None:
        try:
            known["cost"] = cost_of(model, known["input"], known["output"], said or details)
        except PflowError as error:
            say("pflow", f"warning: the price of this answer is not known: {error.message}")
    return {name: value for name, value in known.items() if value is not None}


def _first(*values: Any) -> Any:
    return next((value for value in values if isinstance(value, int | float) and not isinstance(value, bool)), None)
