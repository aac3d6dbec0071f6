"""The content of an answer: text in its charset, or bytes."""

import re

from pflow.kit.web.client import Answer


def content_of(answer: Answer) -> str | bytes:
    """The body as text, in the charset that the answer names, in UTF-8, or in what HTML names; else as bytes."""
    kind = answer.headers.get("content-type", "")
    head = answer.body[:2048].decode("latin-1") if "html" in kind else ""
    for charset in (_charset_in(kind), "utf-8", _charset_in(head)):
        try:
            text = answer.body.decode(charset)
            text.encode()  # some codecs make lone surrogates
        except (LookupError, ValueError):
            continue
        return text
    return answer.body


def _charset_in(text: str) -> str:
    named = re.search(r"""charset\s*=\s*["']?([\w.:-]+)""", text, re.IGNORECASE)
    return named[1] if named else "utf-8"
