"""Asking a model: the request, the answer as its parts come, and what the answer cost."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any

from llm import Conversation, Model, Response

from pflow.errors import OVER_BUDGET, TRY_AGAIN, PflowError, result_of
from pflow.files.schema import load_many, load_schema
from pflow.models import log
from pflow.models.attach import attach
from pflow.models.choose import check_key
from pflow.models.client import watch
from pflow.models.ending import (
    LIMIT,
    UNSAID,
    Ending,
    after_thoughts,
    called_tool,
    check_ending,
    no_answer,
    without_thoughts,
)
from pflow.models.errors import ErrorInAnswer, explain, explained, garbled
from pflow.models.prices import call_of, cost_of, no_tokens
from pflow.models.request_form import (
    FORMAT,
    HINTS,
    change_form,
    keeps_to,
    note_ignored,
    options_for,
    refused_by,
    refused_member,
    takes_grammar,
    takes_schema,
    with_grammar,
)
from pflow.models.schema import Unfit, ask_for, is_bare, read_answer
from pflow.models.transport import reporting_to
from pflow.process.signals import time_left
from pflow.process.worker import say_once
from pflow.terminal.messages import say
from pflow.values.usage import Calls, Usage, amount, answer_members, usage_of


@dataclass
class ModelRequest:
    """A prompt with its attachments (the `piped` bytes and the files and addresses in `places`), and how to ask it.

    `types` has the media types that a person gave for some of the places. `calls` asks the run's budget before each
    call. With `takes_any`, any answer of up to LONGEST characters is accepted unchecked. A `grammar` is sent only to a
    model that takes one; with it, `draw` 0 asks for the likeliest answer, and each other number for another sample.

    Two members change between tries: `wrong` says why an earlier answer did not fit the schema, and `attached` keeps
    the prompt and the attachments of the first try.
    """

    prompt: str
    piped: bytes | None = None
    places: list[str] = field(default_factory=list)
    types: Mapping[str, str] = field(default_factory=dict)
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    grammar: str = ""
    draw: int = 0
    is_multi: bool = False
    calls: Calls = field(default_factory=Calls)
    is_logged: bool = False
    allows_no_answer: bool = False
    takes_any: bool = False
    wrong: str = ""
    attached: tuple[str, list[Any]] | None = None


@dataclass
class ModelAnswer:
    """An answer: its text, or its value if there was a schema; and `usage` (model, input, output, cost, conversation).

    `flaw` says why another answer to the same question may be better; such an answer is not cached. `warning` is shown
    to the person who reads the answer. `no_text` is the failure of an answer without text that the request allows.
    `is_limited` is true if the answer stopped at its token limit.

    With a grammar, `guess` is the word of which the model was least sure, or empty, and `first_tokens` has the
    probability of each token with which the answer could have begun.
    """

    value: Any
    usage: dict[str, Any] = field(default_factory=dict)
    flaw: str = ""
    warning: str = ""
    no_text: PflowError | None = None
    is_limited: bool = False
    guess: str = ""
    first_tokens: dict[str, float] = field(default_factory=dict)


def ask(conversation: Conversation, request: ModelRequest, emit: Callable[[str], None]) -> ModelAnswer:
    """Ask the model of a conversation and return its answer. `emit` gets each part of a text; a value has no parts.

    An answer that reached its token limit is accepted with a warning, and one without text if the request allows it.
    A server that refuses a member of the request is asked again without that member. Raises PflowError.
    """
    schema = request.schema
    if schema is not None:
        schema = (load_many if request.is_multi else load_schema)(schema)
    chosen, before, used = conversation.model, (conversation.responses, conversation.loaded_messages), Usage()
    earlier = ""
    while True:
        model, ending = watch(chosen)
        conversation.model = model
        # llm has also recorded the answer that did not fit. The model must not see it as an earlier turn.
        conversation.responses, conversation.loaded_messages = [*before[0]], before[1]
        response = _prepare(conversation, model, request, schema)
        try:
            # In a map, the call suppresses a refusal by the provider, and the loop asks again.
            with call_of(request.calls, model, response.prompt) as call:
                answer = _answer(response, model, ending, request, schema, emit)
                call.usage = answer_members(answer.usage)
                used.add(call.usage)
                answer.usage |= used.as_write() if used.calls > 1 else {}
                if request.wrong and response.prompt.schema:
                    note_ignored(model, schema)
                return answer
        except PflowError as failure:
            # All steps get the same exception from the budget: words about this step would show up in the others.
            error = copy(failure) if failure.exit == OVER_BUDGET else failure
            error.message += earlier if error is not failure else ""
            used.add(usage_of(error))
            error.usage = used.members() or error.usage
            is_changed = change_form(model, ending.refused, response.prompt.schema)
            if not is_changed and not _is_asked_once_more(error, request, ending):
                raise error from failure.__cause__
            earlier += _why_again(ending, error)


def _why_again(ending: Ending, error: PflowError) -> str:
    """Return words for the message of a later failure: why the question was asked again, and how to avoid that."""
    why, hint = error.message.partition("': ")[2], HINTS.get(ending.refused)
    beforehand = f" ({hint} says so beforehand)" if hint else ""
    return f"; the server refused '{ending.refused}': {why}{beforehand}" if ending.refused else f"; at first, {why}"


def _is_asked_once_more(error: PflowError, request: ModelRequest, ending: Ending) -> bool:
    """Return True for the first answer that does not fit the schema. The fault goes into the next prompt.

    A second answer that does not fit is final, but each of --retries asks again, with the fault in the prompt.
    """
    if not isinstance(error, Unfit):
        return False
    is_first, request.wrong = not request.wrong, error.why
    if ending.kind == LIMIT:
        error.hint = "it stops at its token limit: --max-tokens raises it"
    return is_first and not error.is_permanent and ending.kind != LIMIT


def _answer(
    response: Response, model: Model, ending: Ending, request: ModelRequest, schema: Any, emit: Callable[[str], None]
) -> ModelAnswer:
    """Send a request, read, judge and log its answer, and warn if it may be incomplete."""
    try:
        text = _read(response, model, ending, emit if schema is None else lambda _: None, request)
        check_ending(ending, response, model, text)
        no_text = no_answer(ending, response, model, text, request.options)
        if no_text and not _may_be_empty(no_text, request):
            raise no_text
        if request.takes_any:
            usage, is_limited = usage_in(response, ending, model), ending.kind == LIMIT
            return ModelAnswer(
                text,
                usage,
                no_text=no_text,
                is_limited=is_limited,
                guess=ending.guess,
                first_tokens=ending.first_tokens,
            )
        value = text if schema is None else read_answer(text, schema, model.model_id)
        usage = usage_in(response, ending, model)
        if request.calls.is_priced and "cost" not in usage:
            raise no_tokens(model)
    except PflowError as error:
        spent, is_begun = usage_in(response, ending, model), bool(response._chunks)
        # Without any text, providers still bill a refused question, and thoughts that used up the token limit.
        if is_begun or "input" in spent or "output" in spent:
            error.usage = answer_members(spent)
        # A map repeats a refused call silently. A part that was already emitted would then come twice.
        error.refusal = "" if is_begun else error.refusal
        raise
    warning = no_text.message.partition("': ")[2] if no_text else _warn(ending, usage, model, request.calls)
    conversation: Any = response.conversation
    if request.is_logged and not no_text and log.write(response, text):
        usage["conversation"] = conversation.id
    flaw = warning or "it stands among other words" * (schema is not None and not is_bare(text))
    return ModelAnswer(value, usage, flaw, warning)


def _may_be_empty(no_text: PflowError, request: ModelRequest) -> bool:
    if request.takes_any:
        return not no_text.is_permanent
    return request.allows_no_answer if request.schema is None else no_text.exit == TRY_AGAIN


def _read(response: Response, model: Model, ending: Ending, emit: Callable[[str], None], request: ModelRequest) -> str:
    """Return the text of an answer; `emit` gets each part. With `takes_any`, stop reading after LONGEST characters."""
    parts, size, limit = list[str](), 0, LONGEST if request.takes_any else inf
    # Until the generator is closed, this thread reports all HTTP responses to `ending`, those of other requests too.
    with closing(parts_of(response, model, ending)) as arriving:
        for part in filter(None, arriving):
            parts.append(part)
            emit(part)
            size += len(part)
            if size > limit:
                ending.reason = "length"
                return "".join(parts)[:LONGEST]
    return after_thoughts("".join(parts))


def _warn(ending: Ending, usage: Mapping[str, Any], model: Model, calls: Calls) -> str:
    """Warn of an answer that is, or may be, incomplete; return the warning for its reader, "" for a complete answer."""
    if ending.kind == LIMIT:
        stops = "stops at its token limit" + (f", after {usage['output']} tokens" if "output" in usage else "")
        if not calls.in_map:  # a map prints this warning in the item's row
            say("warning", f"the answer of '{model.model_id}' {stops}: --max-tokens sets it")
        return f"the answer {stops}"
    if ending.kind == UNSAID:
        say_once(f"warning: the plugin of '{model.model_id}' does not say whether its answers are whole")
        return "the model's plugin does not say whether the answer is whole"
    return ""


def _prepare(
    conversation: Conversation, model: Model, request: ModelRequest, schema: dict[str, Any] | None
) -> Response:
    """Return llm's response object, which sends nothing until it is read.

    It is a stream unless the option `stream` says no or the server has refused one.
    """
    options = {} if request.takes_any else options_for(model, request.options, has_schema=schema is not None)
    is_stream = options.pop("stream", True) and model.can_stream and "stream" not in refused_by(model)
    try:
        check_key(model)
    except PflowError as error:
        error.ends_run = request.calls.in_map
        raise
    asked = (request.prompt, request.piped, request.places, request.types)
    request.attached = request.attached or attach(model, *asked)  # once for all tries: a pipe can be read only once
    prompt, attachments = request.attached
    if request.grammar and takes_grammar(model):
        options |= with_grammar(model, request.grammar, request.draw)
    is_sent = takes_schema(model, schema)
    if schema is not None and not (is_sent and not request.wrong and keeps_to(model, schema)):
        prompt = ask_for(prompt, schema, request.wrong)
    log.set_system(conversation, request.system)
    sent: dict[str, Any] = {"attachments": attachments, "schema": schema if is_sent else None}
    with explained(model):
        return conversation.prompt(prompt, system=request.system, stream=is_stream, **sent, **options)


_MISSHAPEN = (AssertionError, AttributeError, LookupError, TypeError)
"""The exceptions that llm raises by accident when an answer has the wrong shape, which it does not check."""


def parts_of(response: Response, model: Model, ending: Ending) -> Generator[str, None, None]:
    """Yield the parts of an answer, without thoughts. Raises PflowError for any failure of the provider or of llm."""

    def checked() -> Iterator[str]:
        for part in response:
            if not isinstance(part, str):
                raise garbled(model)
            yield part
            time_left()

    ending.is_stream = ending.is_stream and response.stream
    is_begun = False
    try:
        with reporting_to(ending):
            for part in without_thoughts(checked()):
                is_begun = is_begun or bool(part)
                yield part
    except Exception as error:
        if failure := _failure(error, response, model, ending, is_begun=is_begun):
            raise failure from error


def _failure(
    error: Exception, response: Response, model: Model, ending: Ending, *, is_begun: bool
) -> PflowError | None:
    """Return what an exception of llm or a plugin means; None if the answer had ended. Note a refused member."""
    is_open = ending.reason is None
    ending.read(response.response_json)
    if is_open and ending.reason is not None:  # a plugin can fail after the end, such as for a refusal without text
        return None
    if ending.tool and isinstance(error, ValueError | AttributeError):  # llm could not read the call's arguments
        return called_tool(ending, model)
    kind = ending.headers.get("content-type", "")
    if "html" in kind and not (is_begun or ending.error or hasattr(model, "get_client")):
        error = ErrorInAnswer(b"<html>")  # the server sent a page, which the plugin's error does not mention
    if ending.says_end and not ending.error and isinstance(error, _MISSHAPEN):
        return garbled(model)
    if ending.error and not hasattr(model, "get_client"):  # plugins drop the status or the provider's words
        ending.error.__cause__, error = error, ending.error
    if not is_begun:
        ending.refused = refused_member(error, [*ending.sent, *[FORMAT] * bool(response.prompt.schema)])
    return explain(error, model)


def usage_in(response: Response, ending: Ending, model: Model) -> dict[str, Any]:
    """Return the model, the tokens and the cost: by the provider's own figures, else by the price of the tokens."""
    details, said = response.token_details or {}, ending.usage
    known = {
        "model": model.model_id,
        "input": _first(response.input_tokens, said.get("prompt_tokens"), said.get("input_tokens")),
        "output": _first(response.output_tokens, said.get("completion_tokens"), said.get("output_tokens")),
        "cost": _first(_billed({**details, **said}), _proxy_cost(ending)),
    }
    if known["cost"] is None:
        try:
            known["cost"] = cost_of(model, known["input"], known["output"], said or details)
        except PflowError as error:
            say("pflow", f"warning: the price of this answer is not known: {error.message}")
    return {name: value for name, value in known.items() if value is not None}


def _billed(usage: Mapping[str, Any]) -> Any:
    """Return the cost that a provider states: a number, or Perplexity's `total_cost`.

    If the user's own key paid (`is_byok`), OpenRouter's cost is only its fee, to which the price is added.
    """
    cost, parts = usage.get("cost"), usage.get("cost_details")
    cost = cost.get("total_cost") if isinstance(cost, dict) else cost
    if usage.get("is_byok") and isinstance(parts, dict):
        return (amount(cost) or 0) + (amount(parts.get("upstream_inference_cost")) or 0)
    return cost


def _proxy_cost(ending: Ending) -> float | None:
    """Return the cost in a header of litellm's proxy. None without one, or for 0, which means an unknown price."""
    said = ending.headers.get("x-litellm-response-cost", "")
    return result_of(float, said, of=ValueError, otherwise=None) or None


def _first(*values: Any) -> Any:
    return next((each for each in map(amount, values) if each is not None), None)


LONGEST = 1 << 20
"""The most characters that are read of an answer to the planner: no plan is that long."""


def ask_after(model: Model, system: str, text: str, calls: Calls, grammar: str = "", draw: int = 0) -> ModelAnswer:
    """Ask with a system text, and return the answer unchecked; a `grammar` constrains it if the model takes one."""
    takes_system = getattr(model, "allows_system_prompt", True)
    prompt, apart = (text, system) if takes_system else (f"{system}\n\n{text}", None)
    request = ModelRequest(prompt, system=apart, calls=calls, grammar=grammar, draw=draw, takes_any=True)
    try:
        return ask(model.conversation(), request, lambda _: None)
    except PflowError as error:
        if error.exit == TRY_AGAIN:
            error.hint = "try again"  # the usual hint names --retries, which planning does not have
        raise
