"""Texts that are files of another type, told by their signature: a PDF or an SVG may be pure ASCII."""

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
    """Return the type of a text that begins like a PDF or an SVG, else None.

    puremagic, which tells the types of bytes, misjudges texts: it takes prose that begins with ID3, BM or #define for
    sound and pictures, and anything that ends with </svg> for a drawing.
    """
    return PDF if _PDF.match(text) else SVG if _SVG.match(text) else None
