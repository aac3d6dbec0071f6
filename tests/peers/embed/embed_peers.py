"""Embedding models for the tests, as a plugin of llm: one that counts letters, and some that behave badly.

Each text that is asked for is a line of the file that EMBED_LOG names.
"""

import json
import os
import signal
from collections.abc import Iterable, Iterator

import llm


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


class Stalled(Peer):
    def vector(self, text: str) -> list[float]:
        while True:
            signal.pause()


class Half(Letters):
    """Answers as Letters does until the text has a q."""

    def vector(self, text: str) -> list[float]:
        if "q" in text:
            raise TimeoutError("too slow")
        return super().vector(text)


class Keyed(Letters):
    needs_key = "embed-peer"


@llm.hookimpl
def register_embedding_models(register: object) -> None:
    kinds = (Letters, Broken, NoNumbers, Stalled, Half, Keyed)
    for kind in kinds:
        register(kind(f"peer-{kind.__name__.lower()}"))  # type: ignore[operator]
