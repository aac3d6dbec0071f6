"""Charsets as browsers read them: by a byte order mark, by the label that a server sends, or by the page's own."""

import re
from typing import Any

from pflow.values.binary import recognize

_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe\0\0": "utf-32", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_BINARY = re.compile(r"image/(?!svg)|audio/|video/|font/|application/(octet-stream|pdf|zip|(x-)?gzip)\b")
_IN_HEADER = re.compile(r"""[;\s]charset\s*=\s*["']?([^;,"']*)""")
_IN_PAGE = re.compile(
    r"""(?is)<\?xml\b[^>]*\bencoding\s*=\s*["']([^"'>]*)|<meta\b[^>]*?\bcharset\s*=["'\s]*([^\s"'/>;]+)"""
)
_GLANCE = 4096
_WIDER = {"gbk": "gb18030", "euc-jp": "euc_jis_2004", "iso-2022-jp": "iso2022_jp_ext"}
"""Codecs that know more characters than Python's own of these names, as browsers do."""
_AS_CONTROLS = {0xDC00 + byte: byte for byte in range(0x80, 0xA0)}
"""The control characters for bytes that Windows' charsets leave open."""


def decode_body(body: bytes, kind: str) -> str | bytes:
    """Decode the body of an answer with this Content-Type; return bytes that are not text.

    A byte order mark counts first, then the charset in `kind`, then UTF-8 if it fits, then the charset in a page. A
    charset that nobody knows is windows-1252. Packed data, an image and the like are bytes, whatever `kind` says.
    """
    kind = kind.strip().lower()
    mark, codec, label, in_page = b"", "", "", ""
    if not (_BINARY.match(kind) or recognize(body)[0]):
        mark, codec = next((each for each in _MARKS.items() if body.startswith(each[0])), (b"", ""))
        label = named[1].strip() if (named := _IN_HEADER.search(kind)) else ""
        if "html" in kind or "xml" in kind or (not kind and body.lstrip()[:1] == b"<"):
            in_page = _label_in(body[:_GLANCE].decode("latin-1"))
    for each in filter(None, (codec, label, "" if body.isascii() else "utf-8", in_page, "utf-8")):
        try:
            text = _decode(body.removeprefix(mark), each)
            text.encode()  # some codecs return lone surrogates
        except (LookupError, ValueError):
            continue
        return text
    is_unknown = any(each and _lookup(each) is None for each in (label, in_page))
    return _decode(body, "windows-1252") if is_unknown else body


def _label_in(head: str) -> str:
    """Return the charset that a page names; what can be read as ASCII is not UTF-16."""
    found = _IN_PAGE.search(re.sub(r"(?s)<!--.*?-->", "", head))
    label = (found[1] or found[2] or "").strip().lower() if found else ""
    return "" if label.startswith(("utf-16", "utf16")) else label.replace("x-user-defined", "windows-1252")


def _lookup(label: str) -> Any:
    from webencodings import lookup  # few answers have another charset than UTF-8

    return lookup(label)


def _decode(body: bytes, label: str) -> str:
    if label == "utf-8":
        return body.decode()
    found = _lookup(label)
    if found is None or found.name == "replacement":  # which browsers refuse to read, and Python knows
        return body.decode(label)
    if found.name in _WIDER:
        return body.decode(_WIDER[found.name])
    is_open = found.name.startswith("windows-")
    return str(found.codec_info.decode(body, "surrogateescape" if is_open else "strict")[0]).translate(_AS_CONTROLS)
