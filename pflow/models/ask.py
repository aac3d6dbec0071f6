"""Asking a model: a request and what goes along with it, its answer part by part, and the tokens it used."""

import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from mimetypes import guess_type
from typing import Any

from llm import Attachment, Conversation, Model, Response
from llm.utils import mimetype_from_string, multi_schema
from pydantic import ValidationError

from pflow.errors import BAD_CONFIG, BAD_DATA, FAILED, MISSING, TRY_AGAIN, USAGE, PflowError, exit_code, reason_of
from pflow.files.beneath import is_confined, open_file
from pflow.files.reading import read_to_end
from pflow.files.schema import load_schema
from pflow.models import log
from pflow.models.choose import check_key, is_small
from pflow.models.client import watch
from pflow.models.errors import BROKEN, CUT, FILTERED, LIMIT, Ending, explain, garbled, hide_keys
from pflow.models.media import SVG, media_type
from pflow.models.prices import MAX_TOKENS, call_of, cost_of, no_tokens
from pflow.models.schema import ask_for, is_bare, read_answer
from pflow.models.settings import default_options
from pflow.process.signals import time_left
from pflow.terminal.messages import say
from pflow.values.encoding import ELSE, not_utf8
from pflow.values.jsontext import decode
from pflow.words import budget
from pflow.words.naming import read_pairs
from pflow.words.printable import clause, one_line
from pflow.words.usage import amount, answer_members

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
    if name in known:
        return name
    hint = f"it has {', '.join(sorted(known)) or 'no options'}"
    raise PflowError(f"cannot set '{name}': the model '{model.model_id}' has no such option", hint=hint, exit=USAGE)


def _fit(model: Model, name: str, value: Any) -> Any:
    """Return the value as text if the option takes text, else decoded from JSON."""
    if name in MAX_TOKENS and isinstance(value, int) and value < 1:
        raise PflowError(f"cannot set '{name}' to '{value}': it must be at least 1", exit=USAGE)
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
    """A prompt and its attachments: the `piped` bytes, and files or addresses in `places`. Empty parts are not sent."""

    prompt: str
    piped: bytes | None = None
    places: list[str] = field(default_factory=list)
    system: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    is_multi: bool = False
    is_logged: bool = False


@dataclass
class Answer:
    """A text, or a value if a schema was given; and `usage` (model, input, output, cost, conversation).

    `flaw` says why another answer to the same question may be better.
    """

    response: Any
    usage: dict[str, Any]
    flaw: str = ""


def ask(conversation: Conversation, request: Request, emit: Callable[[str], None]) -> Answer:
    """Ask the conversation's model. `emit` gets each part of a text as it comes; a value has no parts.

    An answer that reached its token limit is accepted; stderr warns unless the request set it. Raises PflowError.
    """
    schema = load_schema(request.schema) if request.schema is not None else None
    schema = multi_schema(schema) if schema is not None and request.is_multi else schema
    chosen = conversation.model
    while True:
        model, ending = watch(chosen)
        conversation.model = model
        response = _prepare(conversation, model, request, schema)
        with call_of(model, response.prompt) as call:  # a map makes a refused call again
            answer = _take(conversation, request, schema, response, ending, emit)
            call.usage = answer_members(answer.usage)
            return answer


def _take(
    conversation: Conversation, request: Request, schema: Any, response: Response, ending: Ending,
    emit: Callable[[str], None],
) -> Answer:  # fmt: skip
    model: Any = conversation.model
    parts = []
    try:
        for part in parts_of(response, model, ending):
            parts.append(part)
            if schema is None and part:
                emit(part)
        text = "".join(parts)
        check_ending(ending, response, model, text)
        answer = text if schema is None else read_answer(text, schema, model.model_id)
        usage = usage_in(response, ending, model)
        if budget.is_priced and "cost" not in usage:
            raise no_tokens(model)
    except PflowError as error:
        error.hint = "it stops at its token limit: --max-tokens raises it" if ending.kind == LIMIT else error.hint
        used = usage_in(response, ending, model)
        if parts or "input" in used or "output" in used:  # a refused or endless thought is billed without a text
            error.usage = answer_members(used)
        raise
    if ending.kind == LIMIT and not any(name in request.options for name in MAX_TOKENS):
        where = f", after {usage['output']} tokens" if "output" in usage else ""
        say("warning", f"the answer of '{model.model_id}' stops at its token limit{where}: --max-tokens sets it")
    if request.is_logged and log.write(response):
        usage["conversation"] = conversation.id
    return Answer(answer, usage, _flaw(ending, text, has_schema=schema is not None))


def _flaw(ending: Ending, text: str, *, has_schema: bool) -> str:
    if ending.kind == LIMIT:
        return "the answer stops at its token limit"
    return "it is empty" if not text.strip() else "it stands among other words" * (has_schema and not is_bare(text))


def _prepare(conversation: Conversation, model: Model, request: Request, schema: dict[str, Any] | None) -> Response:
    """Make llm's request; nothing is sent until its answer is read."""
    options = options_for(model, request.options, has_schema=schema is not None)
    try:
        check_key(model)
    except PflowError as error:
        error.ends_run = budget.in_map
        raise
    more: dict[str, Any] = {}
    prompt, more["attachments"] = attach(model, request.prompt, request.piped, request.places)
    if schema and model.supports_schema:
        more["schema"] = schema
    elif schema is not None:
        prompt = ask_for(prompt, schema)
    log.set_system(conversation, request.system)
    return begin(conversation, model, prompt, system=request.system, **more, **options)


def begin(conversation: Conversation, model: Model, prompt: str, **more: Any) -> Response:
    """Make llm's request, with errors explained."""
    try:
        return conversation.prompt(prompt, stream=model.can_stream, **more)
    except Exception as error:
        raise explain(error, model) from error


_MISSHAPEN = (AttributeError, LookupError, TypeError)
"""The exceptions of llm for an answer of the wrong shape, which llm does not check."""


def parts_of(response: Response, model: Model, ending: Ending) -> Generator[str, None, None]:
    """Yield the parts of an answer. The provider's errors are explained; the reader's own pass through."""
    try:
        for part in response:
            if not isinstance(part, str):
                raise garbled(model)
            yield part
            time_left()
    except _MISSHAPEN as error:
        raise (garbled(model) if ending.watched else explain(error, model)) from error
    except Exception as error:
        raise explain(error, model) from error


def check_ending(ending: Ending, response: Response, model: Model, text: str) -> None:
    """Raise PflowError for an answer that was cut (75), broke off (75) or was refused by the protocol (1)."""
    ending.look_at(response.response_json)
    words = one_line(hide_keys(ending.words or ending.refusal, model))
    said = f": {words}" if words else ""
    if ending.kind == CUT:
        what = "was cut off" if text else "did not come"
        hint = "try again, or let --retries do it" if text else "is the server's address right?"
        raise PflowError(f"cannot take the answer of '{model.model_id}': it {what}", hint=hint, exit=TRY_AGAIN)
    if ending.kind == BROKEN:
        raise PflowError(f"cannot take the answer of '{model.model_id}': the provider failed{said}", exit=TRY_AGAIN)
    if ending.kind == FILTERED or (ending.refusal and not text):
        raise PflowError(f"cannot get an answer from '{model.model_id}': it refused{said}", exit=FAILED)


def usage_in(response: Response, ending: Ending, model: Model) -> dict[str, Any]:
    """Return the model, tokens and cost, as the provider said them; else the cost follows from the tokens' price."""
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
    return next((each for each in map(amount, values) if each is not None), None)


PIPE = "-"
"""llm's name for the bytes from the pipe, which are always attached."""


def attach(model: Model, prompt: str, piped: bytes | None, places: list[str]) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    An SVG goes before the prompt, as text, if the model takes no drawings. Raises PflowError: 65, or a failed read's
    code.
    """
    found = [("what the pipe brings", Attachment(content=piped, type=_type_of(piped)))] if piped else []
    found += [(f"'{place}'", _at(place, model)) for place in places if place != PIPE]
    if PIPE in places and not piped:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    words, attachments = [], []
    for name, each in found:
        if each.type in model.attachment_types:
            attachments.append(each)
        elif each.type == SVG and (text := _text(each.content_bytes())):  # type: ignore[no-untyped-call]
            words.append(text.rstrip("\n"))
        else:
            if each.type is None and (why := not_utf8(each.content_bytes())):  # type: ignore[no-untyped-call]
                raise PflowError(f"cannot attach {name}: {why}, and of an unknown type", hint=ELSE, exit=BAD_DATA)
            raise _refused(name, each.type, model)
    return "\n\n".join(filter(None, [*words, prompt])), attachments


def _at(place: str, model: Model) -> Attachment:
    """Attach a path or an address. llm's log keeps the path of a regular file, and the content of anything else."""
    if place.lower().startswith(("http://", "https://")):
        return Attachment(url=place, type=_type_at(place, model))
    act = f"cannot attach '{place}'"
    try:
        with open(open_file(place), "rb", buffering=0) as file:
            data = read_to_end(file.fileno(), act)
    except OSError as error:
        raise PflowError(f"{act}: {reason_of(error)}", exit=exit_code(error)) from error
    if not data:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    kind = _type_of(data, place)
    if is_confined() or not os.path.isfile(place):  # llm would open the path once more
        return Attachment(kind, content=data)
    return Attachment(kind, path=os.path.realpath(place))


def _type_at(url: str, model: Model) -> str:
    try:
        told = Attachment(url=url).resolve_type()  # type: ignore[no-untyped-call]
        return str(told or "").partition(";")[0].strip().lower()
    except Exception as error:
        why = explain(error, model, f"cannot attach '{url}'")
        raise PflowError(why.message, exit=MISSING if why.exit == BAD_CONFIG else why.exit) from error


def _type_of(data: bytes, name: str = "") -> str | None:
    """Tell the media type by the content; for a text without a signature, by the file's name."""
    text = _text(data)
    if text is None:
        return mimetype_from_string(data)
    return media_type(text) or guess_type(name)[0] or "text/plain"


def _text(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _refused(name: str, kind: str | None, model: Model) -> PflowError:
    takes = ", ".join(sorted(model.attachment_types)) or "no attachments"
    what = f"it is {kind or 'of an unknown type'}, and the model '{model.model_id}' takes {takes}"
    is_text = (kind or "").startswith("text/")
    hint = "send text through the pipe" if is_text else "`llm models --options` shows what each model takes"
    return PflowError(f"cannot attach {name}: {what}", hint=hint, exit=BAD_DATA)
