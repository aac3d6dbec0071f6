"""The media types of files, told by what is in them: names and servers err, and a PDF or an SVG may be pure ASCII."""

import re
from codecs import BOM_UTF8
from collections.abc import Collection
from mimetypes import guess_type

from pflow.errors import BAD_DATA, PflowError
from pflow.values.encoding import POINTER, not_utf8, recognize, remedy, wide_bytes, wide_codec

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
_GLANCE = 4096
VAGUE = ("", "application/octet-stream", "binary/octet-stream", "application/binary", "application/unknown")
_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc"), "image/heic"),
    **dict.fromkeys((b"mif1", b"msf1"), "image/heif"),
    **dict.fromkeys((b"M4A ", b"M4B "), "audio/mp4"),
    b"qt  ": "video/quicktime",
}
"""The types of files that begin with `ftyp`, by what stands behind it; others are MP4. puremagic knows few of them."""
_USUAL = {
    **dict.fromkeys(("image/jpg", "image/pjpeg"), "image/jpeg"),
    **dict.fromkeys(("audio/wave", "audio/vnd.wave"), "audio/wav"),
    "image/heif": "image/heic",
    "image/ms-bmp": "image/bmp",
    "audio/mp3": "audio/mpeg",
    "audio/m4a": "audio/mp4",
    "application/ogg": "audio/ogg",
}
"""The usual names of types, by others without their x-."""


def media_type(text: str) -> str | None:
    """Return the type of a text that begins like a PDF or an SVG, else None.

    puremagic, which tells the types of bytes, misjudges texts: it takes prose that begins with ID3, BM or #define for
    sound and pictures, and anything that ends with </svg> for a drawing.
    """
    return PDF if _PDF.match(text) else SVG if _SVG.match(text) else None


def is_file(text: str) -> bool:
    """Return True for a text from a pipe that is a file, or was to be one, and no question."""
    return bool(wide_bytes(text) or media_type(text) or text.startswith(POINTER.decode()))


def is_html(data: bytes) -> bool:
    return _HTML.match(data[:_GLANCE]) is not None


def type_of(data: bytes, shown: str, name: str = "", said: str = "") -> str | None:
    """Return the type of a file by its content; where that does not tell it, by what a server `said`, then by its name.

    A name tells the kind of a text, and of sounds and films. Raises PflowError (65), which calls the file what is
    `shown`, for a page or a pointer in place of the file, and for a text that is not UTF-8.
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
        begun = PDF if data.startswith(b"%PDF-") else ""  # of a short one, the name decides
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
    if data.removeprefix(BOM_UTF8).lstrip().startswith(b"%PDF-"):  # readers of PDF take what stands before it, too
        return PDF
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "video/mp4")
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2:  # MPEG's layer III
        return "audio/mpeg"
    from llm.utils import mimetype_from_string

    return mimetype_from_string(data) or None


def _is_media(kind: str) -> bool:
    return kind.startswith(("image/", "audio/", "video/")) or kind == PDF


def common_name(kind: str | None, known: Collection[str]) -> str | None:
    """Return the name of a type that is among the `known` ones, if one of its names is; else the type itself."""
    kind = (kind or "").partition(";")[0].strip().lower()
    kind = "" if kind in VAGUE else kind
    usual = kind.replace("/x-", "/")
    usual = _USUAL.get(usual, usual)
    return (usual if usual in known and kind not in known else kind) or None
