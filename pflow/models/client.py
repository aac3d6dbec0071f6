"""The HTTP clients of models: one for each model, key and address, kept for all questions and threads of a process."""

import os
import re
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from itertools import islice
from typing import Any

from pydantic import BaseModel

from pflow.errors import BAD_DATA
from pflow.models.ending import Ending
from pflow.models.errors import address_of, check_for_error, unusable
from pflow.models.request_form import fit_form
from pflow.models.transport import tidy
from pflow.values.secrets import all_secrets
from pflow.web.response import limit_body
from pflow.web.route import route

_kept: dict[Any, Any] = {}
_making = threading.Lock()

_MOST = 50_000_000
"""The most bytes of an answer, unpacked."""

_SETTINGS = r"OPENAI_|LLM_|SSL_|(?i:.*_proxy$)"
"""The environment variables on which a client depends: a changed one needs another client."""


def watch(model: Any) -> tuple[Any, Ending]:
    """Return a copy of `model` that sends each request once, and the ending of the answer, which the copy fills in.

    llm itself drops the finish reason of a streamed completion, and in OpenAI's newer protocol the reason of every
    incomplete answer. A model that does not use the openai client is returned unchanged.
    """
    ending = Ending(model)
    if not hasattr(model, "get_client"):
        return model, ending
    watched = copy(model)
    watched.get_client = lambda *args, **kwargs: _Watched(_client(model, args, kwargs), model, ending)
    return watched, ending


def _client(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the client of a model and key. llm would make a new one, which takes 20 ms, for each question."""
    about = sorted((name, str(value)) for name, value in vars(model).items() if isinstance(value, _PLAIN))
    settings = [each for each in os.environ.items() if re.match(_SETTINGS, each[0])]
    # A forked process needs a client of its own: on a shared connection, parent and child would mix their answers.
    key = (os.getpid(), type(model), args, *kwargs.items(), *about, *settings)
    with _making:
        if key not in _kept:
            all_secrets.add([*args])
            client = _kept[key] = _new_client(model, args, kwargs)
            if http := getattr(client, "_client", None):
                what = f"it has more than {_MOST:,} bytes"
                failure = partial(unusable, model, what, exit=BAD_DATA, is_permanent=True)
                http.event_hooks["response"] += [partial(limit_body, most=_MOST, failure=failure), tidy]
        return _kept[key]


_PLAIN = (str, int, float, dict)

_MOMENT = 0.2
"""Seconds to wait for the end of the stream after the last event of an answer."""

_LITTLE = 8
"""Pieces of data that may follow the last event, such as `[DONE]`. After more of them the connection is closed."""


def _new_client(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a client that sends each request once, since only --retries decides about another try.

    It has no limit of connections, since a map has many threads. llm's own client would load the certificates and set
    up all proxies of the environment, even if none is used.
    """
    import httpx2
    import openai
    from llm.default_plugins.openai_models import _Shared

    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # about members that a server has misspelt
    is_other = type(model).get_client is not _Shared.get_client or model.api_type or model.api_version
    if is_other or model.api_engine or "LLM_OPENAI_SHOW_RESPONSES" in os.environ:
        client = model.get_client(*args, **kwargs)
        client.max_retries = 0
        return client
    key = model.get_key(*args) if model.needs_key else "DUMMY_KEY"  # as llm does: the client demands a key
    http = openai.DefaultHttpxClient(**route(address_of(model)), limits=httpx2.Limits())
    about: dict[str, Any] = {"base_url": model.api_base, "default_headers": model.headers, "http_client": http}
    return openai.OpenAI(api_key=key, max_retries=0, **about)


class _NoUsage(BaseModel):
    """The usage of an answer that states no usage. llm calls model_dump(), which returns an empty object."""


class _Watched:
    """A client, or one of its members, for one question.

    It adapts the request to the form that the model takes, and notes how the answer ends.
    """

    def __init__(self, part: Any, model: Any, ending: Ending) -> None:
        self._part = part
        self._model = model
        self._ending = ending

    def __getattr__(self, name: str) -> Any:
        if name == "create":
            return self._create
        part = getattr(self._part, name)
        return _Watched(part, self._model, self._ending) if name in ("chat", "completions", "responses") else part

    def _create(self, *args: Any, **kwargs: Any) -> Any:
        sent = fit_form(self._model, kwargs)
        self._ending.sent = [name for name, value in (sent | sent.get("extra_body", {})).items() if value]
        answer = self._part.create(*args, **sent)
        check_for_error(answer)
        self._ending.says_end = True
        if "stream" in self._ending.sent:
            return self._note_each(answer)
        self._ending.note(answer)
        if getattr(answer, "usage", ...) is None:  # llm calls its model_dump() without a check
            answer.usage = _NoUsage()
        return answer

    def _note_each(self, stream: Any) -> Iterator[Any]:
        if response := getattr(stream, "response", None):
            response.close = lambda close=response.close: self._close(response, close)
        try:
            for chunk in stream:
                self._ending.note(chunk)
                check_for_error(chunk)
                yield chunk
        finally:
            stream.close()

    def _close(self, response: Any, close: Callable[[], None]) -> None:
        """Close a response. Read the rest of a complete answer first, or the connection could not be used again."""
        is_whole = self._ending.reason is not None and not response.is_closed
        try:
            with suppress(Exception):  # the answer is complete: a failure costs no more than the connection
                if is_whole:
                    with _cut_after(_MOMENT, response.extensions["network_stream"].get_extra_info("socket")):
                        list(islice(response.stream, _LITTLE))
        finally:
            close()


@contextmanager
def _cut_after(seconds: float, connection: socket.socket) -> Iterator[None]:
    """Cut a connection after so many seconds of reading: the library sets its time limit only at the first read."""

    def cut() -> None:
        with suppress(OSError):  # the server has closed it meanwhile
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
