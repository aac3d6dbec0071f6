"""Texts that are files of another kind, told by their own signature: a PDF or an SVG may be ASCII throughout."""

from __future__ import annotations

import re

PDF, SVG = "application/pdf", "image/svg+xml"

_PDF = re.compile(r"%PDF-\d\.\d[ \t]*[\r\n]")
_SVG = re.compile(
    r"""
    \ufeff? \s* (<\?xml [^>]* \?> \s*)?
    (?> (?> <!-- .*? --> | <!DOCTYPE\ svg [^[>]* (\[ .*? \] \s*)? > ) \s*)*
    <svg [\s/>]
    """,
    re.VERBOSE | re.DOTALL,
)


def media_type(text: str) -> str | None:
    """The type of a text that begins as a PDF or an SVG does.

    puremagic, which tells the types of bytes, is no judge of texts: it takes prose that begins with ID3, BM or #define
    for sound and pictures, and whatever ends with </svg> for a drawing.
    """
    return PDF if _PDF.match(text) else SVG if _SVG.match(text) else None
