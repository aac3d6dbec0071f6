"""Asking a model: the request, its answer part by part, and the tokens it used."""

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
class Request:
    """A prompt and its attachments: the `piped` bytes, and files or addresses in `places`. Empty parts are not sent.

    `wrong` is why an earlier answer does not fit the schema: then the schema stands in the prompt, too. `attached` is
    the prompt with what was attached at the first try, and `calls` let each call begin. A request that `takes_any`
    answer reads it up to a length; its `grammar` goes to a model that takes one, as its `draw`.
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
class Answer:
    """A text, or a value if a schema was given; and `usage` (model, input, output, cost, conversation).

    `flaw` says why another answer to the same question may be better, `warning` what its reader should know; `none` is
    the failure that an answer without text is, and `is_limited` is true if it stopped at a limit of its length. `guess`
    is the word of which its model was least sure, if it was not sure of all, and `begins` what the answer might have
    begun with, each with its likeliness.
    """

    response: Any
    usage: dict[str, Any] = field(default_factory=dict)
    flaw: str = ""
    warning: str = ""
    none: PflowError | None = None
    is_limited: bool = False
    guess: str = ""
    begins: dict[str, float] = field(default_factory=dict)


def ask(conversation: Conversation, request: Request, emit: Callable[[str], None]) -> Answer:
    """Ask the conversation's model. `emit` gets each part of a text as it comes; a value has no parts.

    An answer that reached its token limit is accepted, with a warning, and one without text if the request allows it.
    Raises PflowError.
    """
    schema = request.schema
    if schema is not None:
        schema = (load_many if request.is_multi else load_schema)(schema)
    chosen, before, used = conversation.model, (conversation.responses, conversation.loaded_messages), Usage()
    earlier = ""
    while True:
        model, ending = watch(chosen)
        conversation.model = model
        conversation.responses, conversation.loaded_messages = [*before[0]], before[1]  # without a refused answer
        response = _prepare(conversation, model, request, schema)
        try:
            with call_of(request.calls, model, response.prompt) as call:  # a map makes a refused call again
                answer = _answer(response, model, ending, request, schema, emit)
                call.usage = answer_members(answer.usage)
                used.add(call.usage)
                answer.usage |= used.as_write() if used.calls > 1 else {}
                if request.wrong and response.prompt.schema:
                    note_ignored(model, schema)
                return answer
        except PflowError as failure:
            error = copy(failure) if failure.exit == OVER_BUDGET else failure  # other steps get the budget's own
            error.message += earlier if error is not failure else ""
            used.add(usage_of(error))
            error.usage = used.members() or error.usage
            is_changed = change_form(model, ending.refused, response.prompt.schema)
            if not is_changed and not _is_asked_once_more(error, request, ending):
                raise error from failure.__cause__
            earlier += _why_again(ending, error)


def _why_again(ending: Ending, error: PflowError) -> str:
    """Return why a question is asked again, with what to type so that the server need not refuse it."""
    why, hint = error.message.partition("': ")[2], HINTS.get(ending.refused)
    beforehand = f" ({hint} says so beforehand)" if hint else ""
    return f"; the server refused '{ending.refused}': {why}{beforehand}" if ending.refused else f"; at first, {why}"


def _is_asked_once_more(error: PflowError, request: Request, ending: Ending) -> bool:
    """Return True for the first answer that does not fit the schema, and arrange for a question that says so.

    If the next one does not fit either, that is final for this try; each of --retries asks once in the same form.
    """
    if not isinstance(error, Unfit):
        return False
    is_first, request.wrong = not request.wrong, error.why
    if ending.kind == LIMIT:
        error.hint = "it stops at its token limit: --max-tokens raises it"
    return is_first and not error.is_permanent and ending.kind != LIMIT


def _answer(
    response: Response, model: Model, ending: Ending, request: Request, schema: Any, emit: Callable[[str], None]
) -> Answer:
    """Send a request, read and judge its answer, warn of what may be a part, and log it."""
    try:
        text = _read(response, model, ending, emit if schema is None else lambda _: None, request)
        check_ending(ending, response, model, text)
        none = no_answer(ending, response, model, text, request.options)
        if none and not _may_be_empty(none, request):
            raise none
        if request.takes_any:
            usage, is_limited = usage_in(response, ending, model), ending.kind == LIMIT
            return Answer(text, usage, none=none, is_limited=is_limited, guess=ending.guess, begins=ending.begins)
        value = text if schema is None else read_answer(text, schema, model.model_id)
        usage = usage_in(response, ending, model)
        if request.calls.is_priced and "cost" not in usage:
            raise no_tokens(model)
    except PflowError as error:
        spent, is_begun = usage_in(response, ending, model), bool(response._chunks)
        if is_begun or "input" in spent or "output" in spent:  # a refused or endless thought is billed without a text
            error.usage = answer_members(spent)
        error.refusal = "" if is_begun else error.refusal  # what was read cannot be asked again unseen
        raise
    warning = none.message.partition("': ")[2] if none else _warn(ending, usage, model, request.calls)
    conversation: Any = response.conversation
    if request.is_logged and not none and log.write(response, text):
        usage["conversation"] = conversation.id
    flaw = warning or "it stands among other words" * (schema is not None and not is_bare(text))
    return Answer(value, usage, flaw, warning)


def _may_be_empty(none: PflowError, request: Request) -> bool:
    if request.takes_any:
        return not none.is_permanent
    return request.allows_no_answer if request.schema is None else none.exit == TRY_AGAIN


def _read(response: Response, model: Model, ending: Ending, emit: Callable[[str], None], request: Request) -> str:
    """Return the text of an answer; `emit` gets each part of it. It may stop at a limit."""
    parts, size, limit = list[str](), 0, LONGEST if request.takes_any else inf
    with closing(parts_of(response, model, ending)) as arriving:  # else the thread would report to it for ever
        for part in filter(None, arriving):
            parts.append(part)
            emit(part)
            size += len(part)
            if size > limit:
                ending.reason = "length"
                return "".join(parts)[:LONGEST]
    return after_thoughts("".join(parts))


def _warn(ending: Ending, usage: Mapping[str, Any], model: Model, calls: Calls) -> str:
    """Warn of an answer that is a part, or may be one; return the warning for its reader, "" for a whole answer."""
    if ending.kind == LIMIT:
        stops = "stops at its token limit" + (f", after {usage['output']} tokens" if "output" in usage else "")
        if not calls.in_map:  # there the row of the item has it
            say("warning", f"the answer of '{model.model_id}' {stops}: --max-tokens sets it")
        return f"the answer {stops}"
    if ending.kind == UNSAID:
        say_once(f"warning: the plugin of '{model.model_id}' does not say whether its answers are whole")
        return "the model's plugin does not say whether the answer is whole"
    return ""


def _prepare(conversation: Conversation, model: Model, request: Request, schema: dict[str, Any] | None) -> Response:
    """Make llm's request, as a stream unless the option `stream` or the server says no.

    Nothing is sent until its answer is read.
    """
    options = {} if request.takes_any else options_for(model, request.options, has_schema=schema is not None)
    is_stream = options.pop("stream", True) and model.can_stream and "stream" not in refused_by(model)
    try:
        check_key(model)
    except PflowError as error:
        error.ends_run = request.calls.in_map
        raise
    asked = (request.prompt, request.piped, request.places, request.types)
    request.attached = request.attached or attach(model, *asked)  # a pipe can be read only once
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
"""The exceptions of llm for an answer of the wrong shape, which llm does not check."""


def parts_of(response: Response, model: Model, ending: Ending) -> Generator[str, None, None]:
    """Yield the parts of an answer, without thoughts. A provider's errors are explained, the reader's pass through."""

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
    """Return what an exception of llm or a plugin means; None if it came after the end. Note a refused member."""
    is_open = ending.reason is None
    ending.read(response.response_json)
    if is_open and ending.reason is not None:  # the plugin failed after the end: that of a refusal, for one
        return None
    if ending.tool and isinstance(error, ValueError | AttributeError):  # arguments that llm cannot read
        return called_tool(ending, model)
    kind = ending.headers.get("content-type", "")
    if "html" in kind and not (is_begun or ending.error or hasattr(model, "get_client")):
        error = ErrorInAnswer(b"<html>")  # of the page, a plugin's error has nothing
    if ending.says_end and not ending.error and isinstance(error, _MISSHAPEN):
        return garbled(model)
    if ending.error and not hasattr(model, "get_client"):  # of the plugin's error, little is left
        ending.error.__cause__, error = error, ending.error
    if not is_begun:
        ending.refused = refused_member(error, [*ending.sent, *[FORMAT] * bool(response.prompt.schema)])
    return explain(error, model)


def usage_in(response: Response, ending: Ending, model: Model) -> dict[str, Any]:
    """Return the model, tokens and cost, as the provider said them; else the cost follows from the tokens' price."""
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
    """Return the cost that a provider says: a number, Perplexity's `total_cost`, or OpenRouter's fee and the price."""
    cost, parts = usage.get("cost"), usage.get("cost_details")
    cost = cost.get("total_cost") if isinstance(cost, dict) else cost
    if usage.get("is_byok") and isinstance(parts, dict):
        return (amount(cost) or 0) + (amount(parts.get("upstream_inference_cost")) or 0)
    return cost


def _proxy_cost(ending: Ending) -> float | None:
    """Return the cost that litellm's proxy says in a header; None if it says none, or 0, as where it knows no price."""
    said = ending.headers.get("x-litellm-response-cost", "")
    return result_of(float, said, of=ValueError, otherwise=None) or None


def _first(*values: Any) -> Any:
    return next((each for each in map(amount, values) if each is not None), None)


LONGEST = 1 << 20
"""Characters of an answer after which reading ends."""


def ask_after(model: Model, system: str, text: str, calls: Calls, grammar: str = "", draw: int = 0) -> Answer:
    """Ask after a system text, and return the answer unchecked; a `grammar` holds it if the model takes one."""
    takes_system = getattr(model, "allows_system_prompt", True)
    prompt, apart = (text, system) if takes_system else (f"{system}\n\n{text}", None)
    request = Request(prompt, system=apart, calls=calls, grammar=grammar, draw=draw, takes_any=True)
    try:
        return ask(model.conversation(), request, lambda _: None)
    except PflowError as error:
        if error.exit == TRY_AGAIN:
            error.hint = "try again"  # there are no --retries here
        raise
