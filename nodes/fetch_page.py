"""The fetch-page node: the readable text of a web page."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.kit.web.page import Page


class FetchPage(Node):
    """Fetch a web page, and hand on what there is to read on it.

    Menus, footers and comments are left out. What a browser's scripts would add is not there. A plain text or JSON
    comes as it is. It asks as pflow-http does, with its exit codes.

    Interface:
    - Reads: shared["url"]: str [explicit] [word]  # the page, with http:// or https://
    - Writes: shared["text"]: str [pipe]  # what there is to read
    - Writes: shared["title"]: str  # its title, which may be empty
    - Params: format: markdown|text = "markdown"  # whether headings, lists and emphasis are marked
    - Params: links: bool = false  # keep where links lead
    - Params: max_size: int = 20000000  # how many bytes the page may have (73)
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-fetch-page https://example.com/tide-mills -r
        pflow-fetch-page https://example.com/tide-mills | pflow-llm 'Summarize' -r
        pflow-fetch-page https://example.com/tide-mills --links --retries=2 | pflow-get title
    """

    version = "1.0.0"

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; what goes wrong here goes wrong again, in words, in exec."""
        try:
            import trafilatura  # noqa: F401

            import pflow.kit.web.client  # noqa: F401
        except ImportError:
            return

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """Nothing more: it sends no keys."""
        return {}

    def prep(self, shared: Shared) -> str:
        return str(shared["url"])

    def exec(self, url: str) -> Page:
        from pflow.kit.web.page import fetch

        return fetch(url, self.params["format"], links=self.params["links"], max_size=self.params["max_size"])

    def post(self, shared: Shared, url: str, page: Page) -> None:
        shared["text"], shared["title"] = page
