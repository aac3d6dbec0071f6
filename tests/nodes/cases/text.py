"""The cases of summarise-text, its other spelling and yt-transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.nodes.cases.case import ANY, Case
from tests.nodes.cases.core import models
from tests.peers.openai_server import REPLY
from tests.peers.youtube import SEGMENTS, TRANSCRIPT, YouTube


@contextmanager
def videos(here: Path) -> Iterator[Mapping[str, str]]:
    with YouTube() as tube:
        yield tube.environment


CASES = [
    Case("summarise-text", ["--model=reply", "--chunk=100"], pipe="word " * 60, around=models,
         writes={"summary": REPLY, "usage": ANY}),
    Case("summarize-text", ["--model=reply"], pipe=" ", around=models, exit=66),
    Case("yt-transcript", ["https://youtu.be/abc"], around=videos,
         writes={"transcript": TRANSCRIPT, "segments": SEGMENTS}),
    Case("yt-transcript", ["https://youtu.be/gone"], around=videos, exit=66),
]  # fmt: skip
