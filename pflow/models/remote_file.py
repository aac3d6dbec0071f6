"""Files at addresses, which a provider reads itself: their types, and the content of those that only we can reach."""

from mimetypes import guess_type

from pflow.errors import MISSING, TRY_AGAIN, PflowError, Within
from pflow.models.media import VAGUE
from pflow.web.answer import Response, check
from pflow.web.client import request

_GLANCE = 4096
_PATIENCE = 5.0
"""The bytes of a file that tell its type, and the most seconds without any of them."""


def fetch(url: str, act: str) -> tuple[str, bytes]:
    """Return the type that a server says, and the file. Raises PflowError, for the failed `act`."""
    with Within(act):
        answer = check(request("GET", url))
    return answer.kind, _filled(answer, act)


def look_at(url: str, act: str, name: str) -> tuple[str, bytes]:
    """Return the type of the file at an address as its server says it, and the beginning of the file.

    Servers lie in answers to HEAD, or refuse it, and what is signed for GET is signed for nothing else. So HEAD is
    asked only where GET has no answer, and the name counts where neither has. Raises PflowError, for the failed `act`.
    """
    with Within(act):
        answer = _ask("GET", url)
        if answer is None or answer.status in (405, 501):
            return _said(url, guess_type(name, strict=False)[0] or ""), b""
        check(answer)
    return answer.kind, _filled(answer, act)


def _ask(method: str, url: str) -> Response | None:
    """Return the answer; None if the server sends none."""
    try:
        return request(method, url, max_silence=_PATIENCE, glance=_GLANCE)
    except PflowError as error:
        if error.exit != TRY_AGAIN:
            raise
    return None


def _said(url: str, named: str) -> str:
    """Return the type that the answer to HEAD says, else that of the name."""
    answer = _ask("HEAD", url)
    if answer is None:
        return named
    is_refused = 400 <= answer.status < 500 or answer.status == 501
    if not (named and is_refused):
        check(answer)
    kind = "" if is_refused else answer.kind
    return named if kind in VAGUE else kind


def _filled(answer: Response, act: str) -> bytes:
    if not answer.body:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    return answer.body
