"""Embedding models for the tests, as a plugin of llm: recorded answers of a real one, and some that behave badly.

Each text that is asked for is a line of the file that EMBED_LOG names.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import llm

RECORDED = Path(__file__).with_name("recorded.json")


class Peer(llm.EmbeddingModel):
    """Logs what it is asked, then answers with `vector`."""

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    def embed_batch(self, items: Iterable[str | bytes], **_: object) -> Iterator[list[float]]:
        for item in items:
            text = str(item)
            if log := os.environ.get("EMBED_LOG"):
                with open(log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(text) + "\n")
            yield self.vector(text)

    def vector(self, text: str) -> list[float]:
        raise NotImplementedError


class Recorded(Peer):
    """What a real model said, of the texts of tests/library/paraphrases.json and its distractors alone."""

    _known: dict[str, str] | None = None

    def vector(self, text: str) -> list[float]:
        if self._known is None:
            self._known = json.loads(RECORDED.read_text(encoding="utf-8"))["vectors"]
        return [float((byte + 128) % 256 - 128) for byte in base64.b64decode(self._known[text_key(text)])]


class Letters(Peer):
    """How often each letter stands in a text: wrong about meaning, but a vector of any text."""

    def vector(self, text: str) -> list[float]:
        return [1.0, *(float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz")]


class Broken(Peer):
    def vector(self, text: str) -> list[float]:
        raise ConnectionError("no server \x1b[31mthere\nat all")


class NoNumbers(Peer):
    def vector(self, text: str) -> list[float]:
        return [float("nan"), 1.0]


class Uneven(Peer):
    """Vectors of as many sizes as texts have."""

    def vector(self, text: str) -> list[float]:
        return [1.0] * (1 + len(text))


class Half(Letters):
    """Answers as Letters does until the text has a q."""

    def vector(self, text: str) -> list[float]:
        if "q" in text:
            raise TimeoutError("too slow")
        return super().vector(text)


class Stalled(Peer):
    def vector(self, text: str) -> list[float]:
        time.sleep(3600)
        return []


class Keyed(Letters):
    needs_key = "embed-peer"


def text_key(text: str) -> str:
    """What a text goes by in the recording."""
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]


@llm.hookimpl
def register_embedding_models(register: object) -> None:
    kinds = (Recorded, Letters, Broken, NoNumbers, Uneven, Half, Stalled, Keyed)
    for kind in kinds:
        register(kind(f"peer-{kind.__name__.lower()}"))  # type: ignore[operator]
