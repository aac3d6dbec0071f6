"""The github-search node: search GitHub."""

from pflow.errors import check_positive, nonblank
from pflow.node import Any, Node, Shared

Found = tuple[list[dict[str, Any]], int]

_CUT = "GitHub ran out of time and did not search everything"


class GithubSearch(Node):
    """Search GitHub for issues, pull requests, repositories, code or commits, the best match first.

    The query is the same as on its web pages: 'crash label:bug state:open'. GitHub returns at most 1,000 results,
    allows few searches a minute, and needs a key to search code, as github-get-issue describes.

    Interface:
    - Reads: shared["query"]: str [word]  # the query
    - Reads: shared["repo"]: str = null [explicit]  # search only this repository, OWNER/NAME
    - Writes: shared["results"]: list[dict] [pipe]  # the results: title or name or path, url, …
    - Writes: shared["total"]: int  # the number of all matches
    - Params: kind: issues|prs|repositories|code|commits = "issues"  # what to search for
    - Params: limit: int = 30 [positive]  # the maximum number of results
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-github-search 'crash state:open' --repo=owner/repo -r
        pflow-github-search 'language:python topic:cli' --kind=repositories --limit=3 | pflow-get 'results[0].url'
    """

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        from pflow.kit.github.access import api_url

        return {"api": api_url()}

    def prep(self, shared: Shared) -> tuple[str, str, int]:
        from pflow.kit.github.access import resolve
        from pflow.kit.github.reader import search

        check_positive("--limit", self.params["limit"])
        query = nonblank(shared["query"], "cannot search GitHub", "query")
        repo = resolve(shared["repo"]) if shared.get("repo") is not None else None
        return *search(query, self.params["kind"], repo), self.params["limit"]

    def exec(self, prepared: tuple[str, str, int]) -> Found:
        from pflow.kit.github.client import Client
        from pflow.kit.github.reader import reduced

        path, query, limit = prepared
        github = Client(f"cannot search GitHub for '{query}'", node=self)
        found: list[dict[str, Any]] = []
        for page in github.pages(path, {"q": query}, most=limit):
            found += reduced(github.listed(page, "items"))
            if page.get("incomplete_results"):
                github.warn(_CUT)
            if len(found) >= limit:
                break
        return found[:limit], page.get("total_count", len(found))

    def post(self, shared: Shared, prepared: object, found: Found) -> None:
        shared["results"], shared["total"] = found
