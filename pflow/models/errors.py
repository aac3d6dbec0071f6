"""The failures of a provider in pflow's words, without any key, and their exit codes."""

from typing import Any
from urllib.parse import urlsplit

from llm import Model, NeedsKeyException

from pflow.errors import (
    BAD_CONFIG,
    BAD_DATA,
    DENIED,
    FAILED,
    MISSING,
    TRY_AGAIN,
    UNAVAILABLE,
    USAGE,
    PflowError,
    causes,
    retry_after,
)
from pflow.values.masks import Secrets
from pflow.words.printable import one_line

_BY_STATUS = {
    **dict.fromkeys((400, 413, 422), BAD_DATA),
    **dict.fromkeys((401, 402, 403), DENIED),
    **dict.fromkeys((408, 409, 425, 429), TRY_AGAIN),
    404: BAD_CONFIG,
}

_NO_CREDIT = "insufficient_quota"
"""The code of an answer 429 for which no waiting helps."""

_REFUSALS = (429, 503, 529)
"""The statuses of a provider that wants fewer requests."""

# Every HTTP library has its own classes under much the same names. A timeout while connecting has two of them.
_BY_CLASS = (
    (("TimeoutError", "TimeoutException", "APITimeoutError", "Timeout"), TRY_AGAIN, "no answer in time"),
    (("ConnectError", "gaierror", "ConnectionRefusedError", "NewConnectionError"), UNAVAILABLE, "cannot connect"),
    (("UnsupportedProtocol", "InvalidURL"), BAD_CONFIG, ""),
    (("TransportError", "IncompleteRead", "ChunkedEncodingError", "ProtocolError"), TRY_AGAIN, "the answer was cut"),
    (("JSONDecodeError", "DecodingError", "UnicodeDecodeError", "RecursionError"), TRY_AGAIN, "its answer is garbled"),
    (("ConnectionError", "APIConnectionError"), UNAVAILABLE, "no connection"),
    (("NotImplementedError",), USAGE, ""),
    (("FileNotFoundError",), MISSING, ""),  # an attachment of an earlier turn is gone
    (("APIError",), TRY_AGAIN, "the provider failed"),
)

_HINTS = {
    BAD_CONFIG: "the provider knows no such model, or its address is wrong",
    UNAVAILABLE: "is the server up, and its address right?",
    TRY_AGAIN: "try again, or let --retries do it",
}


def explain(error: Exception, model: Model, act: str = "") -> PflowError:
    """Return the PflowError for an error that asking `model` raised; `act` names the failed act if it was another."""
    chain = causes(error)
    if own := next((each for each in chain if isinstance(each, PflowError)), None):
        return own
    if isinstance(error, NeedsKeyException):
        return no_key(model)
    act = act or f"cannot get an answer from '{model.model_id}'"
    status = next((status for cause in chain if (status := _status(cause))), None)
    exit, words = exit_and_words(error, chain, status)
    key = getattr(model, "key_name", model.needs_key)
    hint = f"llm keys set {key}" if status == 401 and key else _HINTS.get(exit, "")
    hint = "the account of the key has no credit" if status == 429 and exit == DENIED else hint
    headers = [getattr(getattr(cause, "response", None), "headers", None) or {} for cause in chain]
    waits = [retry_after(each.get("retry-after") or "") for each in headers] if exit == TRY_AGAIN else []
    wait = next((each for each in waits if each is not None), None)
    failure = PflowError(f"{act}: {hide_keys(words, model)}", hint=hint, exit=exit, retry_after=wait)
    failure.status = status
    if exit == TRY_AGAIN and status in _REFUSALS:
        failure.refusal = f"{status} from {urlsplit(getattr(model, 'api_base', None) or '').hostname or model.model_id}"
    return failure


def garbled(model: Model) -> PflowError:
    """Return the failure of an answer that is not what the protocol says."""
    what = f"cannot take the answer of '{model.model_id}': it is garbled"
    return PflowError(what, hint=_HINTS[TRY_AGAIN], exit=TRY_AGAIN)


def no_key(model: Model, why: str = "it needs a key") -> PflowError:
    variable = f", or set {model.key_env_var}" if model.key_env_var else ""
    hint = f"llm keys set {model.needs_key or 'NAME'}{variable}"
    return PflowError(f"cannot ask '{model.model_id}': {why}", hint=hint, exit=DENIED)


def _status(error: Any) -> int | None:
    """Return the HTTP status in an exception, or the one that a provider wrote into its stream."""
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code")):
        said = str(getattr(holder, name, ""))
        if len(said) == 3 and said.isdigit():
            return int(said)
    return None


def exit_and_words(error: Exception, chain: list[BaseException], status: int | None) -> tuple[int, str]:
    """Return the exit code of a provider's or hub's failure, by its HTTP status if it has one, and the reason."""
    words = _words(error)
    if status is not None:
        if "content_filter" in str(getattr(error, "code", "")):
            return FAILED, words
        if status == 429 and str(getattr(error, "code", "")) == _NO_CREDIT:
            return DENIED, f"{status}: {words}"
        return (TRY_AGAIN if status >= 500 else _BY_STATUS.get(status, FAILED)), f"{status}: {words}"
    for classes, exit, what in _BY_CLASS:
        for cause in reversed(chain):
            if any(kind.__name__ in classes for kind in type(cause).__mro__):
                return exit, ": ".join(filter(None, (what, _words(cause))))
    return FAILED, words


def _words(error: Any) -> str:
    """Return the provider's message on one line: that of the body if it has one, else the exception's."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    words = one_line(said if isinstance(said, str) and said else str(error) or type(error).__name__)
    errno, bracket, reason = words.partition("] ")  # httpx passes on "[Errno 111] Connection refused"
    return f"{reason[:1].lower()}{reason[1:]}" if bracket and errno.startswith("[Errno ") else words


def hide_keys(text: str, model: Model) -> str:
    """Mask every key that this model could have sent."""
    secrets = Secrets()
    secrets.add([*_secrets(model)])
    return secrets.mask(text)


def _secrets(model: Any) -> set[str]:
    """Return the key, the values of the model's own headers, and the user and password in its address."""
    try:
        key = model.get_key()
    except Exception:
        key = None
    headers = getattr(model, "headers", None)
    values = list(headers.values()) if isinstance(headers, dict) else []
    before, at, _ = str(getattr(model, "api_base", None) or "").partition("@")
    if at:
        values.append(before.partition("//")[2])
    found = {word for value in values if value for word in (str(value), *str(value).split()) if len(word) >= 4}
    return {*found, str(key)} if key else found
