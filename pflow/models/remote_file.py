"""Files at addresses, which a provider reads itself: their types, and the content of those that only we can reach."""

from mimetypes import guess_type
from time import monotonic

import httpx2
from llm import Model

from pflow.errors import BAD_CONFIG, MISSING, PflowError
from pflow.kit.web.answer import check
from pflow.kit.web.client import request
from pflow.kit.web.route import route
from pflow.models.errors import explain
from pflow.models.media import VAGUE

_GLANCE = 4096
_PATIENCE = 5.0
"""The most bytes of a file that are read to tell its type, and the most seconds that they take."""
_NO_ANSWER = (httpx2.ReadError, httpx2.ReadTimeout, httpx2.RemoteProtocolError)


def fetch(url: str, act: str) -> tuple[str, bytes]:
    """Return the type that a server says, and the file. Raises PflowError."""
    try:
        answer = check(request("GET", url))
    except PflowError as error:
        raise error.within(act) from error
    if not answer.body:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    return _plain(answer.headers.get("content-type", "")), answer.body


def look_at(url: str, model: Model, act: str, name: str) -> tuple[str, bytes]:
    """Return the type of the file at an address as its server says it, and the beginning of the file.

    Servers lie in answers to HEAD, or refuse it, and what is signed for GET is signed for nothing else. So HEAD is
    asked only where GET has no answer, and the name counts where neither has. Raises PflowError.
    """
    try:
        with httpx2.Client(**route(url), follow_redirects=True, max_redirects=3) as client:
            try:
                return _beginning(client, url, act)
            except (*_NO_ANSWER, httpx2.HTTPStatusError) as error:
                if isinstance(error, httpx2.HTTPStatusError) and error.response.status_code not in (405, 501):
                    raise
                return _said(client, url, guess_type(name, strict=False)[0] or ""), b""
    except Exception as error:
        why = explain(error, model, act)
        raise PflowError(why.message, exit=MISSING if why.exit == BAD_CONFIG else why.exit) from error


def _beginning(client: httpx2.Client, url: str, act: str) -> tuple[str, bytes]:
    data, late = b"", monotonic() + _PATIENCE
    with client.stream("GET", url, headers={"accept-encoding": "identity"}) as response:
        response.raise_for_status()
        is_packed = "content-encoding" in response.headers
        for part in () if is_packed else response.iter_raw():
            data += part
            if len(data) >= _GLANCE or monotonic() > late:
                break
    if not data and not is_packed:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    return _plain(response.headers.get("content-type", "")), data


def _said(client: httpx2.Client, url: str, named: str) -> str:
    """Return the type that the answer to HEAD says, else that of the name."""
    try:
        response = client.head(url)
    except _NO_ANSWER:
        return named
    if response.is_error and not (named and (response.is_client_error or response.status_code == 501)):
        response.raise_for_status()
    kind = "" if response.is_error else _plain(response.headers.get("content-type", ""))
    return named if kind in VAGUE else kind


def _plain(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()
