"""The attachments of a prompt: the bytes of the pipe, files and addresses, and the type of each.

A provider reads an address itself: its type is looked for here, and the content of what only we can reach.
"""

import os
from collections.abc import Mapping
from mimetypes import guess_type
from typing import Any
from urllib.parse import unquote, urlsplit

from llm import Attachment, Model

from pflow.errors import BAD_DATA, MISSING, TRY_AGAIN, Attempt, PflowError, Within
from pflow.files.beneath import is_confined, open_file
from pflow.files.reading import read_to_end
from pflow.models.media import HTML, SVG, VAGUE, common_name, type_of
from pflow.web.answer import Response, check
from pflow.web.hosts import is_near

PIPE = "-"
"""llm's name for the bytes from the pipe, which are always attached."""
_PIPED = "what the pipe brings"

_GLANCE = 4096
_PATIENCE = 5.0
"""The bytes of a file at an address that tell its type, and the most seconds without any of them."""


def attach(
    model: Model, prompt: str, piped: bytes | None, places: list[str], types: Mapping[str, str]
) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    `types` names the type of places, which are attached too. An SVG goes before the prompt, as text, if the model takes
    no drawings. Raises PflowError: 65, or a failed read's code.
    """
    places = [*places, *(place for place in types if place not in places)]
    found = []
    if piped:
        found.append((_PIPED, Attachment(types.get(PIPE) or type_of(piped, _PIPED), content=piped)))
    elif PIPE in places:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    found += [(f"'{each}'", _at(each, model, types.get(each))) for each in places if each != PIPE]
    words, attachments = [], []
    for name, each in found:
        each.type = common_name(each.type, model.attachment_types)
        if each.type in model.attachment_types:
            attachments.append(each)
        elif each.type == SVG:
            words.append(each.content_bytes().decode(errors="replace").rstrip("\n"))  # type: ignore[no-untyped-call]
        else:
            raise _refused(name, each.type, model)
    return "\n\n".join(filter(None, [*words, prompt])), attachments


def _at(place: str, model: Model, kind: str | None) -> Attachment:
    """Attach a path or an address, as this kind if it is known.

    llm's log keeps the path of a regular file, and the content of anything else.
    """
    if place.lower().startswith(("http://", "https://")):
        return _at_address(place, model, kind)
    act = f"cannot attach '{place}'"
    with Attempt(act), open(open_file(place), "rb", buffering=0) as file:
        data = read_to_end(file.fileno(), act)
    if not data:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    kind = kind or type_of(data, f"'{place}'", place)
    if is_confined() or not os.path.isfile(place):  # llm would open the path once more
        return Attachment(kind, content=data)
    return Attachment(kind, path=os.path.realpath(place))


def _at_address(url: str, model: Model, kind: str | None) -> Attachment:
    """Attach an address, which the provider reads; its content if it cannot, or if that is to be text."""
    act, shown, name = f"cannot attach '{url}'", f"'{url}'", unquote(urlsplit(url).path)
    host, base = (urlsplit(each or "").hostname or "" for each in (url, getattr(model, "api_base", None)))
    if not is_near(host) or is_near(base):
        if kind is None:
            said, data = _look_at(url, act, name)
            kind = type_of(data, shown, name, said) if data else said
        if kind != SVG or SVG in model.attachment_types:
            return Attachment(kind, url=url)
    said, data = _fetch(url, act)
    return Attachment(kind or type_of(data, shown, name, said), content=data)


def _refused(name: str, kind: str | None, model: Model) -> PflowError:
    takes = ", ".join(sorted(model.attachment_types)) or "no attachments"
    told = "an HTML page" if kind == HTML else kind or "of an unknown type"
    what = f"it is {told}, and the model '{model.model_id}' takes {takes}"
    is_text = (kind or "").startswith("text/")
    hint = "send text through the pipe" if is_text else "`llm models --options` shows what each model takes"
    hint = hint if kind else "--at PATH TYPE names its type"
    return PflowError(f"cannot attach {name}: {what}", hint=hint, exit=BAD_DATA)


def _fetch(url: str, act: str) -> tuple[str, bytes]:
    """Return the type that a server says, and the file. Raises PflowError, for the failed `act`."""
    with Within(act):
        answer = check(_request("GET", url))
    return answer.kind, _filled(answer, act)


def _look_at(url: str, act: str, name: str) -> tuple[str, bytes]:
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


def _request(method: str, url: str, **limits: Any) -> Response:
    from pflow.web.client import request  # few questions have an address

    return request(method, url, **limits)


def _ask(method: str, url: str) -> Response | None:
    """Return the answer; None if the server sends none."""
    try:
        return _request(method, url, max_silence=_PATIENCE, glance=_GLANCE)
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
