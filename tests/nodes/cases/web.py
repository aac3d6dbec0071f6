"""The cases of http and fetch-page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import ANY, Case
from tests.peers.web_server import WebServer


@contextmanager
def web(here: Path) -> Iterator[Mapping[str, str]]:
    with WebServer() as server:
        yield {"WEB": server.url, "NO_PROXY": "127.0.0.1"}


CASES = [
    Case(
        "http",
        ["{WEB}/body", "--method=POST"],
        pipe="tide mill",
        around=web,
        writes={"body": "tide mill", "status": 200, "headers": ANY},
    ),
    Case(
        "http",
        ["{WEB}/status/404", "--no-check"],
        around=web,
        writes={"body": "this is 404", "status": 404, "headers": ANY},
        action="error",
    ),
    Case(
        "fetch-page",
        ["{WEB}/page", "--format=text"],
        around=web,
        writes={"text": ANY, "title": "Tide mills"},
        words=["{WEB}/text"],
    ),
]
