"""The readable text of a web page, by trafilatura."""

from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.files.installation import needs
from pflow.terminal.messages import silence
from pflow.web.address import show
from pflow.web.answer import check, content_of
from pflow.web.client import request

Page = tuple[str, str]
"""The text and title of a page."""

_FORMATS = {"markdown": "markdown", "text": "txt"}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml")


def fetch(url: str, format: str, *, links: bool, max_size: int) -> Page:
    """Fetch the readable text at a URL. Raises PflowError: 65 if it is not a page, 66 if the page has no text."""
    answer = check(request("GET", url, headers={"Accept": "text/html, text/*;q=0.9, */*;q=0.5"}, max_size=max_size))
    content, act = content_of(answer), f"cannot read '{show(answer.url)}' as a page"
    kind = answer.kind
    if kind in _HTML or (not kind and answer.body.lstrip()[:1] == b"<"):
        return _read(content, answer.url, act, output_format=_FORMATS[format], include_links=links)
    if isinstance(content, str) and (not kind or kind.startswith(_TEXTS)):
        return content, ""
    hint = "pflow-http gets it, and pflow-llm --attachment=URL sends it to a model"
    raise PflowError(f"{act}: it is {kind or 'not text'}", hint=hint, exit=BAD_DATA, is_permanent=True)


def _read(html: str | bytes, url: str, act: str, **manner: Any) -> Page:
    with needs(act, "trafilatura", "web"):
        import trafilatura
    silence("trafilatura", "htmldate", "courlan")
    tree = trafilatura.load_html(html)
    title = "" if tree is None else " ".join((tree.findtext(".//title") or "").split())
    text = None if tree is None else trafilatura.extract(tree, url=url, include_comments=False, **manner)
    if not text:
        raise PflowError(f"{act}: it has no text", hint="does it need a browser's scripts?", exit=MISSING)
    return str(text), title
