"""The fetch-page node: fetch the readable text of a web page."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.kit.extract import Page


class FetchPage(Node):
    """Fetch the readable text of a web page.

    Menus, footers and comments are left out, and so is content that scripts add in a browser. Plain text and JSON come
    unchanged. Requests and exit codes are those of pflow-http. The URL may come through the pipe; with --each in a
    flow, the pipe brings one URL a line.

    Interface:
    - Reads: shared["url"]: url [pipe] [explicit] [word] [web]  # the page, with http:// or https://
    - Writes: shared["text"]: str [pipe]  # the readable text
    - Writes: shared["title"]: str  # its title, which may be empty
    - Params: format: markdown|text = "markdown"  # markdown keeps headings, lists and emphasis
    - Params: links: bool = false  # keep the targets of links
    - Params: max_size: int = 20000000  # the maximum size of the page in bytes (73)
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-fetch-page https://example.com/tide-mills -r
        echo https://example.com/tide-mills | pflow-fetch-page -r
        pflow-fetch-page https://example.com/tide-mills | pflow-llm 'Summarize' -r
        pflow-fetch-page https://example.com/tide-mills --links --retries=2 | pflow-get title
    """

    waits = True

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; exec reports their failures."""
        import trafilatura  # noqa: F401

        import pflow.web.client  # noqa: F401

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """Return no further parts of the cache key: no key is sent that could change the page."""
        return {}

    def prep(self, shared: Shared) -> str:
        return str(shared["url"])

    def exec(self, url: str) -> Page:
        from pflow.kit.extract import fetch

        return fetch(url, self.params["format"], links=self.params["links"], max_size=self.params["max_size"])

    def post(self, shared: Shared, url: str, page: Page) -> None:
        shared["text"], shared["title"] = page
