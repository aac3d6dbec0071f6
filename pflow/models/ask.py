"""Asking a model: a request and what goes along with it, its answer part by part, and the tokens it used."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from llm import Conversation, Model, Response

from pflow.errors import TRY_AGAIN, PflowError
from pflow.files.schema import load_many, load_schema
from pflow.models import log
from pflow.models.attach import attach
from pflow.models.choose import check_key
from pflow.models.client import watch
from pflow.models.ending import LIMIT, UNSAID, Ending
from pflow.models.errors import explain, garbled
from pflow.models.forms import FORMAT, change_form, first_alone, refused_by, refused_member, takes_schema
from pflow.models.judge import called_tool, check_ending, no_answer
from pflow.models.options import options_for
from pflow.models.prices import call_of, cost_of, no_tokens
from pflow.models.schema import Unfit, ask_for, is_bare, read_answer
from pflow.models.thoughts import after_thoughts, without_thoughts
from pflow.models.transport import heard
from pflow.process.signals import time_left
from pflow.terminal.messages import say, say_once
from pflow.values.jsontext import compact
from pflow.words import budget
from pflow.words.usage import Usage, amount, answer_members, usage_of

_IGNORED = "not kept to: "
"""Marks a schema that a model was given and did not keep to, among what it refuses (pflow.models.forms)."""


@dataclass
class Request:
    """A prompt and its attachments: the `piped` bytes, and files or addresses in `places`. Empty parts are not sent.

    `wrong` is why an earlier answer does not fit the schema: then the schema stands in the prompt, too.
    """

    prompt: str
    piped: bytes | None = None
    places: list[str] = field(default_factory=list)
    types: Mapping[str, str] = field(default_factory=dict)
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    is_multi: bool = False
    is_logged: bool = False
    allows_no_answer: bool = False
    wrong: str = ""
    attached: tuple[str, list[Any]] | None = None


@dataclass
class Answer:
    """A text, or a value if a schema was given; and `usage` (model, input, output, cost, conversation).

    `flaw` says why another answer to the same question may be better, `warning` what its reader should know.
    """

    response: Any
    usage: dict[str, Any]
    flaw: str = ""
    warning: str = ""


def ask(conversation: Conversation, request: Request, emit: Callable[[str], None]) -> Answer:
    """Ask the conversation's model. `emit` gets each part of a text as it comes; a value has no parts.

    An answer that reached its token limit is accepted, with a warning, and one without text if the request allows it.
    Raises PflowError.
    """
    schema = (load_many if request.is_multi else load_schema)(request.schema) if request.schema is not None else None
    with first_alone(conversation.model, schema):
        return _ask(conversation, request, schema, emit)


def _ask(conversation: Conversation, request: Request, schema: Any, emit: Callable[[str], None]) -> Answer:
    """Ask in the form that the model takes, and once more if its answer does not fit the schema."""
    chosen, before, used = conversation.model, (conversation.responses, conversation.loaded_messages), Usage()
    while True:
        model, ending = watch(chosen)
        conversation.model = model
        conversation.responses, conversation.loaded_messages = [*before[0]], before[1]  # without a refused answer
        response = _prepare(conversation, model, request, schema)
        try:
            with call_of(model, response.prompt) as call:  # a map makes a refused call again
                answer = _take(conversation, request, schema, response, ending, emit)
                call.usage = answer_members(answer.usage)
                used.add(call.usage)
                answer.usage |= used.as_write() if used.calls > 1 else {}
                if request.wrong and response.prompt.schema:
                    refused_by(model).add(_IGNORED + compact(schema))
                return answer
        except PflowError as error:
            used.add(usage_of(error))
            error.usage = used.members() or error.usage
            is_changed = change_form(model, ending.refused, response.prompt.schema)
            if not is_changed and not _is_asked_once_more(error, request, ending):
                raise


def _is_asked_once_more(error: PflowError, request: Request, ending: Ending) -> bool:
    """Return True for the first answer that does not fit the schema, and arrange for a question that says so.

    If the next one does not fit either, that is final for this try; each of --retries asks once in the same form.
    """
    if not isinstance(error, Unfit):
        return False
    is_first, request.wrong = not request.wrong, error.why
    return is_first and not error.is_permanent and ending.kind != LIMIT


def _take(
    conversation: Conversation, request: Request, schema: Any, response: Response, ending: Ending,
    emit: Callable[[str], None],
) -> Answer:  # fmt: skip
    model: Any = conversation.model
    parts, text, warning = [], "", ""
    try:
        for part in parts_of(response, model, ending):
            parts.append(part)
            if schema is None and part:
                emit(part)
        text = after_thoughts("".join(parts))
        check_ending(ending, response, model, text)
        none = no_answer(ending, response, model, text, request.options)
        if none and not (request.allows_no_answer if schema is None else none.exit == TRY_AGAIN):
            raise none
        answer = text if schema is None else read_answer(text, schema, model.model_id)
        usage = usage_in(response, ending, model)
        if budget.is_priced and "cost" not in usage:
            raise no_tokens(model)
    except PflowError as error:
        if ending.kind == LIMIT and text:
            error.hint = "it stops at its token limit: --max-tokens raises it"
        used = usage_in(response, ending, model)
        if parts or "input" in used or "output" in used:  # a refused or endless thought is billed without a text
            error.usage = answer_members(used)
        error.refusal = "" if parts else error.refusal  # what was taken cannot be asked again unseen
        raise
    if none:
        warning = none.message.partition("': ")[2]
    elif ending.kind == LIMIT:
        stops = "stops at its token limit" + (f", after {usage['output']} tokens" if "output" in usage else "")
        warning = f"the answer {stops}"
        if not budget.in_map:  # there the row of the item has it
            say("warning", f"the answer of '{model.model_id}' {stops}: --max-tokens sets it")
    elif ending.kind == UNSAID:
        warning = "the model's plugin does not say whether the answer is whole"
        say_once(f"warning: the plugin of '{model.model_id}' does not say whether its answers are whole")
    if request.is_logged and not none and log.write(response, text):
        usage["conversation"] = conversation.id
    flaw = "the answer stops at its token limit" if ending.kind == LIMIT and not none else warning
    flaw = flaw or "it stands among other words" * (schema is not None and not is_bare(text))
    return Answer(answer, usage, flaw, warning)


def _prepare(conversation: Conversation, model: Model, request: Request, schema: dict[str, Any] | None) -> Response:
    """Make llm's request; nothing is sent until its answer is read."""
    options = options_for(model, request.options, has_schema=schema is not None)
    try:
        check_key(model)
    except PflowError as error:
        error.ends_run = budget.in_map
        raise
    more: dict[str, Any] = {}
    sent = (request.prompt, request.piped, request.places, request.types)
    request.attached = request.attached or attach(model, *sent)
    prompt, more["attachments"] = request.attached  # a pipe can be read only once
    if takes_schema(model, schema):
        more["schema"] = schema
    is_ignored = _IGNORED + compact(schema) in refused_by(model)
    if schema is not None and ("schema" not in more or request.wrong or is_ignored):
        prompt = ask_for(prompt, schema, request.wrong)
    log.set_system(conversation, request.system)
    return begin(conversation, model, prompt, system=request.system, **more, **options)


def begin(conversation: Conversation, model: Model, prompt: str, **more: Any) -> Response:
    """Make llm's request, with errors explained; as a stream unless the option `stream` or the server says no."""
    is_stream = more.pop("stream", True) and model.can_stream and "stream" not in refused_by(model)
    try:
        return conversation.prompt(prompt, stream=is_stream, **more)
    except Exception as error:
        raise explain(error, model) from error


_MISSHAPEN = (AttributeError, LookupError, TypeError)
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
    try:
        with heard(ending):
            yield from without_thoughts(checked())
    except Exception as error:
        is_open = ending.reason is None
        ending.look_at(response.response_json)
        if is_open and ending.reason is not None:  # the plugin failed after the end: that of a refusal, for one
            return
        if ending.tool and isinstance(error, ValueError | AttributeError):  # arguments that llm cannot read
            raise called_tool(ending, model) from error
        is_misshapen = ending.watched and not ending.error and isinstance(error, _MISSHAPEN)
        if ending.error and not hasattr(model, "get_client"):  # of the plugin's error, little is left
            ending.error.__cause__, error = error, ending.error
        if response.prompt.schema and not isinstance(error, PflowError) and ending.refused in ("", "text"):
            ending.refused = refused_member(
                error, [FORMAT]
            )  # a plugin is not watched; OpenAI's newer protocol has `text`
        raise (garbled(model) if is_misshapen else explain(error, model, asked=response.prompt.prompt or "")) from error


def usage_in(response: Response, ending: Ending, model: Model) -> dict[str, Any]:
    """Return the model, tokens and cost, as the provider said them; else the cost follows from the tokens' price."""
    details, said = response.token_details or {}, ending.usage
    billed = said.get("cost")
    billed = billed.get("total_cost") if isinstance(billed, dict) else billed  # Perplexity says its parts
    known = {
        "model": model.model_id,
        "input": _first(response.input_tokens, said.get("prompt_tokens"), said.get("input_tokens")),
        "output": _first(response.output_tokens, said.get("completion_tokens"), said.get("output_tokens")),
        "cost": _first(details.get("cost"), billed, _proxy_cost(ending)),
    }
    if known["cost"] is None:
        try:
            known["cost"] = cost_of(model, known["input"], known["output"], said or details)
        except PflowError as error:
            say("pflow", f"warning: the price of this answer is not known: {error.message}")
    return {name: value for name, value in known.items() if value is not None}


def _proxy_cost(ending: Ending) -> float | None:
    """Return the cost that litellm's proxy says in a header; None if it says none, or 0, as where it knows no price."""
    try:
        return float(ending.headers.get("x-litellm-response-cost", "")) or None
    except ValueError:
        return None


def _first(*values: Any) -> Any:
    return next((each for each in map(amount, values) if each is not None), None)
