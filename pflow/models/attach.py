"""The attachments of a prompt: piped bytes, files and addresses, each with its media type.

The type comes from the content, since names and servers can be wrong, and a PDF or an SVG may be pure ASCII. The
provider fetches an address itself; only a file that it cannot reach is fetched here.
"""

import os
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Mapping
from mimetypes import guess_type
from typing import Any
from urllib.parse import unquote, urlsplit

from llm import Attachment, Model

from pflow.errors import BAD_DATA, MISSING, TRY_AGAIN, Attempt, PflowError, Within
from pflow.files.beneath import is_confined, open_file
from pflow.files.reading import read_to_end
from pflow.values.encoding import POINTER, not_utf8, recognize, remedy, wide_bytes, wide_codec
from pflow.web.hosts import is_near
from pflow.web.response import Response, check

PIPE = "-"
"""llm's name for the bytes from the pipe. They are always attached; --at may name their type."""
_PIPED = "what the pipe brings"

_GLANCE = 4096
_PATIENCE = 5.0
"""The bytes that are read of a file at an address to find its type, and the most seconds without any data."""


def attach(
    model: Model, prompt: str, piped: bytes | None, places: list[str], types: Mapping[str, str]
) -> tuple[str, list[Attachment]]:
    """Return the prompt and its attachments: the piped bytes, then the files and addresses.

    The places in `types` are attached too, as those types. If the model takes no SVG, the text of one is put before the
    prompt. Raises PflowError: 65 for a type that the model does not take, or the code of a failed read.
    """
    places = [*places, *(place for place in types if place not in places)]
    found = []
    if piped:
        found.append((_PIPED, Attachment(types.get(PIPE) or type_of(piped, _PIPED), content=piped)))
    elif PIPE in places:
        raise PflowError(f"cannot attach '{PIPE}': no file comes through the pipe", exit=MISSING)
    found += [(f"'{each}'", _attachment_of(each, model, types.get(each))) for each in places if each != PIPE]
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


def _attachment_of(place: str, model: Model, kind: str | None) -> Attachment:
    """Return the attachment for a path or an address; without a `kind`, its content tells its type.

    llm's log keeps the path of a regular file, and the content of anything else.
    """
    if place.lower().startswith(("http://", "https://")):
        return _attachment_at(place, model, kind)
    act = f"cannot attach '{place}'"
    with Attempt(act), open(open_file(place), "rb", buffering=0) as file:
        data = read_to_end(file.fileno(), act)
    if not data:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    kind = kind or type_of(data, f"'{place}'", place)
    if is_confined() or not os.path.isfile(place):  # llm would open the path once more
        return Attachment(kind, content=data)
    return Attachment(kind, path=os.path.realpath(place))


def _attachment_at(url: str, model: Model, kind: str | None) -> Attachment:
    """Return the attachment for an address, which the provider reads.

    A file in this machine's network, which the provider cannot reach, and an SVG for the prompt are fetched here.
    """
    act, shown, name = f"cannot attach '{url}'", f"'{url}'", unquote(urlsplit(url).path)
    host, base = (urlsplit(each or "").hostname or "" for each in (url, getattr(model, "api_base", None)))
    if not is_near(host) or is_near(base):
        if kind is None:
            said, data = _peek(url, act, name)
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
    """Return the type that a server states, and the file. Raises PflowError, which begins with `act`."""
    with Within(act):
        response = check(_request("GET", url))
    return response.kind, _nonempty_body(response, act)


def _peek(url: str, act: str, name: str) -> tuple[str, bytes]:
    """Return the type that a server states for an address, and the beginning of the file there.

    GET comes first, since servers answer HEAD wrongly or refuse it, and a signed URL is signed for GET alone. If GET
    gets no answer, the type comes from HEAD, else from `name`. Raises PflowError, which begins with `act`.
    """
    with Within(act):
        response = _ask("GET", url)
        if response is None or response.status in (405, 501):
            return _type_by_head(url, guess_type(name, strict=False)[0] or ""), b""
        check(response)
    return response.kind, _nonempty_body(response, act)


def _request(method: str, url: str, **limits: Any) -> Response:
    from pflow.web.client import request  # not at the top: few questions have an address

    return request(method, url, **limits)


def _ask(method: str, url: str) -> Response | None:
    """Return the response with the beginning of its body; None if the server does not answer in time."""
    try:
        return _request(method, url, max_silence=_PATIENCE, glance=_GLANCE)
    except PflowError as error:
        if error.exit != TRY_AGAIN:
            raise
    return None


def _type_by_head(url: str, named: str) -> str:
    """Return the type in the response to HEAD, else the type of the name."""
    response = _ask("HEAD", url)
    if response is None:
        return named
    is_refused = 400 <= response.status < 500 or response.status == 501
    if not (named and is_refused):
        check(response)
    kind = "" if is_refused else response.kind
    return named if kind in VAGUE else kind


def _nonempty_body(response: Response, act: str) -> bytes:
    if not response.body:
        raise PflowError(f"{act}: it is empty", exit=MISSING)
    return response.body


PDF, SVG, HTML = "application/pdf", "image/svg+xml", "text/html"

_PDF = re.compile(r"\ufeff?\s*%PDF-\d\.\d[ \t]*[\r\n]")
_SVG = re.compile(
    r"""
    \ufeff? \s* (<\?xml [^>]* \?> \s*)?
    (?> (?> <!-- .*? --> | <!DOCTYPE\ svg [^[>]* (\[ .*? \] \s*)? > ) \s*)*
    <svg [\s/>]
    """,
    re.VERBOSE | re.DOTALL,
)

_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
VAGUE = ("", "application/octet-stream", "binary/octet-stream", "application/binary", "application/unknown")
_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc"), "image/heic"),
    **dict.fromkeys((b"mif1", b"msf1"), "image/heif"),
    **dict.fromkeys((b"M4A ", b"M4B "), "audio/mp4"),
    b"qt  ": "video/quicktime",
}
"""The types of `ftyp` files, by the brand that follows `ftyp`; others are MP4. puremagic knows few of them."""
_USUAL = {
    **dict.fromkeys(("image/jpg", "image/pjpeg"), "image/jpeg"),
    **dict.fromkeys(("audio/wave", "audio/vnd.wave"), "audio/wav"),
    "image/heif": "image/heic",
    "image/ms-bmp": "image/bmp",
    "audio/mp3": "audio/mpeg",
    "audio/m4a": "audio/mp4",
    "application/ogg": "audio/ogg",
}
"""The usual names of types, by their other names without `x-`."""


def media_type(text: str) -> str | None:
    """Return the type of a text that begins as a PDF or an SVG does, else None.

    llm uses puremagic, which misjudges texts: it takes prose that begins with ID3, BM or #define for sound or a
    picture, and anything that ends with </svg> for a drawing.
    """
    return PDF if _PDF.match(text) else SVG if _SVG.match(text) else None


def is_file(text: str) -> bool:
    """Return True if a text from a pipe is really a file: UTF-16, a PDF, an SVG or the pointer of Git LFS."""
    return bool(wide_bytes(text) or media_type(text) or text.startswith(POINTER.decode()))


def is_html(data: bytes) -> bool:
    return _HTML.match(data[:_GLANCE]) is not None


def type_of(data: bytes, shown: str, name: str = "", said: str = "") -> str | None:
    """Return the type of a file: by its content, else by what a server `said`, else by its name.

    The name decides between kinds of text, and for sounds and films. `shown` is the file's name in messages. Raises
    PflowError (65) for a web page or a Git LFS pointer in place of the file, and for a text that is not UTF-8.
    """
    said = "" if said in VAGUE else said
    named = guess_type(name, strict=False)[0] or ""
    if data.startswith(POINTER):
        pointer, hint = recognize(data)
        raise PflowError(f"cannot attach {shown}: it is {pointer}", hint=hint, exit=BAD_DATA)
    wrong, is_page = not_utf8(data), is_html(data)
    if is_page and any(map(_is_media, (named, said))):
        what = f"cannot attach {shown}: it is an HTML page"
        raise PflowError(what, hint="a login or an error page, in place of the file?", exit=BAD_DATA)
    if not wrong and b"\0" not in data:
        begun = PDF if data.startswith(b"%PDF-") else ""  # too short to be sure: a name or a server must say PDF too
        told = [each for each in (said, named) if each and (each == begun or not _is_media(each))]
        return media_type(data.decode()) or (HTML if is_page else next(iter(told), "text/plain"))
    is_wide = bool(wide_codec(data))
    sound = named if named.startswith(("audio/", "video/")) else ""
    kind = None if is_wide else _type_of_bytes(data) or said or sound or None
    if kind is None and wrong:
        why = wrong if is_wide or recognize(data)[0] else f"{wrong}, and of an unknown type"
        raise PflowError(f"cannot attach {shown}: {why}", hint=remedy(data), exit=BAD_DATA)
    return kind


def _type_of_bytes(data: bytes) -> str | None:
    if data.removeprefix(BOM_UTF8).lstrip().startswith(b"%PDF-"):  # readers of PDF allow these before it
        return PDF
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2:  # an MP3; puremagic misses most
        return "audio/mpeg"
    from llm.utils import mimetype_from_string

    return mimetype_from_string(data) or None


def _is_media(kind: str) -> bool:
    return kind.startswith(("image/", "audio/", "video/")) or kind == PDF


def common_name(kind: str | None, known: Collection[str]) -> str | None:
    """Return the name under which a type is among the `known` ones, or its own name if it is not; None if vague."""
    kind = (kind or "").partition(";")[0].strip().lower()
    kind = "" if kind in VAGUE else kind
    usual = kind.replace("/x-", "/")
    usual = _USUAL.get(usual, usual)
    return (usual if usual in known and kind not in known else kind) or None
