"""Failures of providers as pflow's errors: in its words, without any key, with an exit code."""

import json
import os
import re
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from llm import Model, NeedsKeyException

from pflow.errors import (
    BAD_CONFIG,
    DENIED,
    MISSING,
    TRY_AGAIN,
    UNAVAILABLE,
    USAGE,
    Attempt,
    PflowError,
    causes,
    result_of,
    wait_asked,
)
from pflow.models.attach import is_html
from pflow.text.printable import foreign_line
from pflow.values.secrets import Secrets
from pflow.web.reasons import Reason, exit_of, read_reason
from pflow.web.response import HINTS, malformed
from pflow.web.route import fault_behind, via

# By name, since every HTTP library has its own classes under much the same names, and any of them may be missing. The
# order counts: to requests a timeout while connecting is a connection error too.
_BY_CLASS = (
    (("TimeoutError", "TimeoutException", "APITimeoutError", "Timeout"), TRY_AGAIN, "no answer in time"),
    (("ConnectError", "gaierror", "ConnectionRefusedError", "NewConnectionError"), UNAVAILABLE, "cannot connect"),
    (("UnsupportedProtocol", "InvalidURL", "TooManyRedirects"), BAD_CONFIG, ""),
    (("LocalProtocolError", "InvalidHeader"), DENIED, "its key or a header cannot be sent"),
    (("TransportError", "IncompleteRead", "ChunkedEncodingError", "ProtocolError"), TRY_AGAIN, "the answer was cut"),
    (("JSONDecodeError", "JSONError", "DecodingError", "UnicodeDecodeError"), TRY_AGAIN, "its answer is garbled"),
    (("RecursionError",), TRY_AGAIN, "its answer is garbled"),
    (("ConnectionError", "APIConnectionError"), UNAVAILABLE, "no connection"),
    (("NotImplementedError",), USAGE, ""),
    (("FileNotFoundError",), MISSING, ""),  # what an earlier turn attached is gone
)

AGAIN = HINTS[TRY_AGAIN]

_HINTS = {
    "credit": "the account of the key '{key}' has no credit",
    "key": "llm keys set {key}",
    "access": "the key '{key}' may not do this",
    "length": "shorten the question, or name a model that takes more with --model",
    "page": "is the address right? a login or a proxy may stand in the way",
    BAD_CONFIG: "the provider knows no such model, or its address is wrong",
    UNAVAILABLE: "is the server up, and its address right?",
    TRY_AGAIN: AGAIN,
}
"""What to do, by kind of failure or by exit code."""

_STATUS = r"(?i)(?:^|\b(?:code|status|http(?:/[\d.]+)?|(?:client|server) error)\W{1,3})([45]\d\d)\b"
"""The status in the text of an exception, for those that have no member for it."""

_IN_ANSWERS = ("APIError", "ErrorInAnswer", "ModelError", "ResponseError")
"""The exceptions for an error inside an answer whose status is 200; llm-gemini and llm-ollama raise the last two."""

_SAY_NOTHING = r"(Error code: \d+|An error occurred during streaming|an error in an answer)$"
"""The texts of exceptions that leave out the provider's own words, which are in their body."""

_ALL_IS_WELL = r"(?i)(ok|success(ful)?|connected|)\W*"
"""The words of a chunk that is neither a part of an answer nor an error, such as MiniMax's last chunk."""

_REFUSALS = (429, 503, 529)
"""The statuses of a provider that wants fewer requests."""


class ErrorInAnswer(Exception):
    """An error that the provider wrote into an answer with the status 200."""

    def __init__(self, body: Any) -> None:
        super().__init__("an error in an answer")
        self.body = body
        self.is_page = isinstance(body, bytes) and is_html(body)


def check_for_error(said: Any) -> None:
    """Raise ErrorInAnswer if an answer, a chunk or an event of a stream holds an error, or no part of an answer."""
    said = said[0] if isinstance(said, list) and said else said  # Gemini sends an error in a list
    choices = getattr(said, "choices", None)
    first = choices[0] if isinstance(choices, list) and choices else None
    places = (said, first, getattr(said, "response", None))
    body: Any = next((error for each in places if (error := getattr(each, "error", None))), None)
    if getattr(said, "type", None) == "error":
        body = body or said
    elif not (body or any(getattr(said, name, None) for name in ("choices", "output", "type"))):
        body = getattr(said, "model_extra", None)
        body = None if re.fullmatch(_ALL_IS_WELL, Reason().read(body)) else body
    if body:
        raise ErrorInAnswer(body.model_dump() if hasattr(body, "model_dump") else body)


def explain(error: Exception, model: Model) -> PflowError:
    """Return the PflowError for an error that asking `model` raised."""
    chain = causes(error)
    if own := next((each for each in chain if isinstance(each, PflowError)), None):
        return own
    if isinstance(error, NeedsKeyException):
        return no_key(model)
    exit, kind, reason = meaning_of(error)
    if reason.status is None and (fault := fault_behind(error)):
        return fault
    act, address = f"cannot get an answer from '{model.model_id}'", address_of(model)
    if reason.status is None or address.startswith("http:"):  # a proxy can answer in the server's place over plain HTTP
        act += via(address)
    words = foreign_line(hide_keys(f"{reason.status}: {reason.words}" if reason.status else reason.words, model))
    failure = PflowError(f"{act}: {words}", hint=_hint(kind, exit, model), exit=exit)
    failure.status = reason.status
    if kind:
        failure.is_permanent = exit != TRY_AGAIN
    if exit == TRY_AGAIN:
        headers = [getattr(getattr(cause, "response", None), "headers", None) or {} for cause in chain]
        failure.retry_after = next((wait for each in headers if (wait := wait_asked(each)) is not None), None)
        if reason.status in _REFUSALS or kind == "busy":
            host = urlsplit(getattr(model, "api_base", None) or "").hostname or model.model_id
            failure.refusal = f"{reason.status or 'a rate limit'} from {host}"
    return failure


def explained(model: Model) -> Attempt:
    """Return a context that turns any error of asking `model` into a PflowError."""
    return Attempt("", lambda _, error: explain(error, model), of=Exception)


def _hint(kind: str, exit: int, model: Any) -> str:
    hint, key = _HINTS.get(kind) or _HINTS.get(exit, ""), getattr(model, "key_name", model.needs_key)
    return hint.format(key=key) if key or "{" not in hint else ""


def address_of(model: Any) -> str:
    """Return the address of a model that uses the openai client; "" for any other."""
    usual = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    return (getattr(model, "api_base", None) or usual) if hasattr(model, "get_client") else ""


def unusable(model: Model, what: str, hint: str = "", *, exit: int, is_permanent: bool | None = None) -> PflowError:
    """Return the failure of an answer that came but cannot be used."""
    act = f"cannot take the answer of '{model.model_id}'"
    return PflowError(f"{act}: {what}", hint=hint, exit=exit, is_permanent=is_permanent)


def garbled(model: Model) -> PflowError:
    """Return the failure of an answer that breaks the protocol."""
    return unusable(model, "it is garbled", AGAIN, exit=TRY_AGAIN)


def no_key(model: Model, why: str = "it needs a key") -> PflowError:
    variable = f", or set {model.key_env_var}" if model.key_env_var else ""
    hint = f"llm keys set {model.needs_key or 'NAME'}{variable}"
    return PflowError(f"cannot ask '{model.model_id}': {why}", hint=hint, exit=DENIED)


def meaning_of(error: Exception) -> tuple[int, str, Reason]:
    """Return the exit code for a failure of a provider or a hub, its kind ("" if unknown), and its reason."""
    reason = read_reason(error)
    if reason == Reason() and (found := _meaning_of_class(error)):
        return found
    if not reason.words:
        text, body = str(error) or type(error).__name__, getattr(error, "body", None)
        text = json.dumps(body) if isinstance(body, dict) and re.match(_SAY_NOTHING, text) else text
        if reason.status is None and (found_status := re.search(_STATUS, text)):
            reason.note(found_status[1])
        reason.words = reason.read(text)
    kind = reason.kind()
    if reason.status:
        reason.words = re.sub(rf"(?i)^(error code: )?{reason.status}\b[\s:.-]*", "", reason.words)
        with suppress(ValueError):
            reason.words = reason.words or HTTPStatus(reason.status).phrase.lower()
    elif isinstance(error, ErrorInAnswer) and error.is_page and exit_of(kind) != TRY_AGAIN:
        reason.words = f"a web page came in place of an answer ({reason.words})"
        return BAD_CONFIG, "page", reason
    elif not kind and any(each.__name__ in _IN_ANSWERS for each in type(error).__mro__):
        reason.words = f"the provider failed: {reason.words}"
        return TRY_AGAIN, "", reason
    return exit_of(kind), kind, reason


def _meaning_of_class(error: Exception) -> tuple[int, str, Reason] | None:
    """Return the meaning of an exception, or of one that led to it, by its class; for failures without a response."""
    if what := next(filter(None, map(malformed, causes(error))), ""):
        return UNAVAILABLE, "http", Reason(words=what)
    chain = [({each.__name__ for each in type(cause).__mro__}, cause) for cause in reversed(causes(error))]
    for classes, exit, what in _BY_CLASS:
        for names, cause in chain:
            if not names.isdisjoint(classes):
                return exit, "", Reason(words=": ".join(filter(None, (what, _words(cause)))))
    return None


def _words(error: BaseException) -> str:
    """Return an exception's words on one line, without the number of a system error."""
    words = foreign_line(str(error) or type(error).__name__)
    errno, bracket, reason = words.partition("] ")  # httpx keeps only the text: "[Errno 111] Connection refused"
    return f"{reason[:1].lower()}{reason[1:]}" if bracket and errno.startswith("[Errno ") else words


def hide_keys(text: str, model: Model) -> str:
    """Mask every key that this model could have sent."""
    secrets = Secrets()
    secrets.add([*_secrets(model)])
    return secrets.mask(text)


def _secrets(model: Any) -> set[str]:
    """Return the key, the values of the model's own headers, and the user and password in its address."""
    key = result_of(model.get_key, of=Exception, otherwise=None)
    headers = getattr(model, "headers", None)
    values = list(headers.values()) if isinstance(headers, dict) else []
    before, at, _ = str(getattr(model, "api_base", None) or "").partition("@")
    if at:
        values.append(before.partition("//")[2])
    found = {word for value in values if value for word in (str(value), *str(value).split()) if len(word) >= 4}
    return {*found, str(key)} if key else found
