"""Charsets as browsers read them: by a byte order mark, by the label that a server sends, or by the page's own."""

import re
from codecs import lookup as find_codec

from webencodings import decode, lookup

from pflow.values.encoding import codec_of, recognize

_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY = ("audio/", "video/", "image/", "font/", "application/octet-stream")
_IN_HEADER = re.compile(r"""charset\s*=\s*["']?([^\s;,"']+)""")
_IN_PAGE = re.compile(
    r"""(?is)<\?xml\b[^>]*\bencoding\s*=\s*["']([^"'>]+)|<meta\b[^>]*?\bcharset\s*=["'\s]*([^\s"'/>;]+)"""
)
_GLANCE = 4096
_WIDER = {"gbk": "gb18030", "euc-jp": "euc_jis_2004", "iso-2022-jp": "iso2022_jp_ext"}
"""Codecs that know more characters than Python's own of these names, as browsers do."""
_AS_CONTROLS = {0xDC00 + byte: byte for byte in range(0x80, 0xA0)}
"""The control characters for bytes that Windows' charsets leave open."""


def decode_body(body: bytes, kind: str) -> str | bytes:
    """Decode the body of an answer with this Content-Type; return bytes that are not text.

    A byte order mark counts first, then the charset in `kind`, then UTF-8 if it fits, then the charset in a page. A
    plain text without a charset may be windows-1252. No charset makes text of packed data or an image.
    """
    kind = kind.lower()
    is_packed = recognize(body)[0] or kind.startswith(_BINARY)
    named = not is_packed and _IN_HEADER.search(kind)
    is_page = "html" in kind or "xml" in kind or (not kind and body.lstrip()[:1] == b"<")
    in_page = _label_in(body[:_GLANCE].decode("latin-1")) if is_page else ""
    is_plain = kind.startswith("text/") and not (is_packed or is_page or named or b"\0" in body)
    usual = (is_plain and codec_of(body)) or "utf-8"
    for label in filter(None, (named and named[1], "" if body.isascii() else "utf-8", in_page, usual)):
        try:
            text = _decode(body, label)
            text.encode()  # some codecs return lone surrogates
        except (LookupError, ValueError):
            continue
        return text
    return body


def _label_in(head: str) -> str:
    """Return the charset that a page names; what can be read as ASCII is not UTF-16."""
    found = _IN_PAGE.search(re.sub(r"(?s)<!--.*?-->", "", head))
    label = (found[1] or found[2]) if found else ""
    return "" if label.lower().startswith("utf-16") else label


def _decode(body: bytes, label: str) -> str:
    found = lookup("utf-8" if body.startswith(_MARKS) else label)
    if found is None or found.name == "replacement":  # browsers know no such charset, or refuse to read it
        if find_codec(label).name == "utf-7":  # what looks like text in it can be tags
            raise LookupError(label)
        return body.decode(label)
    if found.name in _WIDER:
        return body.decode(_WIDER[found.name])
    errors = "surrogateescape" if found.name.startswith("windows-") else "strict"
    return str(decode(body, found, errors)[0]).translate(_AS_CONTROLS)
