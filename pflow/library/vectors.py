"""Vectors of texts, kept from one time to the next: a model is asked about no text twice.

`$XDG_CACHE_HOME/pflow/embeddings/MODEL/DIGIT`: a header with the vectors' size, then a record a text: its digest, and
its vector as one byte a number. What cannot be understood there counts as not there.
"""

from __future__ import annotations

import os
from array import array
from operator import mul

from pflow.catalog.offered import cache_directory, read_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAGIC = b"pflow embeddings 1 "
_DIGEST = 32
_LARGEST = (1 << 24) - 64
"""Bytes of a file at most: what the cache lets itself be read."""
_MODELS = 4
"""Models whose vectors are kept."""


class Vector:
    """A direction: its numbers are whole, -127 to 127, and `length` is their length."""

    __slots__ = ("length", "numbers")

    def __init__(self, numbers: array[int]) -> None:
        self.numbers = numbers
        self.length = sum(map(mul, numbers, numbers)) ** 0.5 or 1.0


def vector_of(numbers: list[float]) -> Vector:
    largest = max(map(abs, numbers), default=0.0) or 1.0
    return Vector(array("b", [round(127 * number / largest) for number in numbers]))


def texts_as_vectors(model: str, texts: list[str], kept: int) -> list[Vector]:
    """A vector of the model for each text, those of the first `kept` from the cache where they are there.

    Raises PflowError as `pflow.models.embed.embed` does, and 65 where they are of many sizes; what came is kept.
    """
    vectors = _ask(model, texts, kept)
    if _sizes(vectors) > 1:  # another model has its name by now
        _Store(model).forget()
        vectors = _ask(model, texts, kept)
    if _sizes(vectors) > 1:
        from pflow.errors import BAD_DATA, PflowError

        raise PflowError(f"cannot take the answers of '{model}': its vectors have many sizes", exit=BAD_DATA)
    return vectors


def _sizes(vectors: list[Vector]) -> int:
    return len({len(vector.numbers) for vector in vectors})


def _ask(model: str, texts: list[str], kept: int) -> list[Vector]:
    from pflow.models.embed import embed

    digests = [_digest(text) for text in texts]
    store = _Store(model)
    found = store.read(digests[:kept])
    missing = {each: at for at, each in enumerate(digests) if at >= kept or each not in found}
    fresh: list[Vector] = []
    try:
        embed(model, [texts[at] for at in missing.values()], lambda part: fresh.extend(map(vector_of, part)))
    finally:
        new = dict(zip(missing, fresh, strict=False))
        store.add({digest: vector for digest, vector in new.items() if missing[digest] < kept}, digests[:kept])
    known = {**found, **new}
    return [known[digest] for digest in digests]


def _digest(text: str) -> bytes:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class _Store:
    """The files of one model."""

    def __init__(self, model: str) -> None:
        cache = cache_directory()
        self._folder = os.path.join(cache, "embeddings", _digest(model).hex()[:32]) if cache else None

    def read(self, digests: Iterable[bytes]) -> dict[bytes, Vector]:
        """The vectors of those that are there."""
        wanted = set(digests)
        found = {}
        for digit in {_digit(digest) for digest in wanted}:
            for digest, data in self._records(digit).items():
                if digest in wanted:
                    found[digest] = Vector(array("b", data))
        return found

    def add(self, vectors: dict[bytes, Vector], used: Iterable[bytes]) -> None:
        """Keep these, where that can be done; what is used now stays before what is not."""
        if self._folder is None or not vectors:
            return
        is_used = set(used)
        try:
            for folder in (os.path.dirname(os.path.dirname(self._folder)), os.path.dirname(self._folder), self._folder):
                os.makedirs(folder, 0o700, exist_ok=True)
            for digit in {_digit(digest) for digest in vectors}:
                self._put(digit, vectors, is_used)
            _prune(os.path.dirname(self._folder), self._folder)
        except OSError:
            return

    def forget(self) -> None:
        for digit in "0123456789abcdef":
            try:
                os.unlink(self._file(digit))
            except OSError:
                continue

    def _put(self, digit: str, vectors: dict[bytes, Vector], used: set[bytes]) -> None:
        from pflow.atomic import replace

        new = {digest: vector.numbers.tobytes() for digest, vector in vectors.items() if _digit(digest) == digit}
        size = len(next(iter(new.values())))
        old = {digest: data for digest, data in self._records(digit).items() if len(data) == size}
        rows = {**new, **old}
        most = _LARGEST // (_DIGEST + size)
        first = sorted(rows, key=lambda digest: digest not in used)[:most]
        header = _MAGIC + b"%d\n" % size
        replace(self._file(digit), b"".join([header, *(digest + rows[digest] for digest in first)]), mode=0o600)

    def _records(self, digit: str) -> dict[bytes, bytes]:
        """The records of a file by digest; none where it is not whole."""
        data = read_cached(self._file(digit)) or b""
        header, _, rows = data.partition(b"\n")
        size = header.removeprefix(_MAGIC)
        if not header.startswith(_MAGIC) or not size.isdigit() or len(size) > 6 or not int(size):
            return {}
        step = _DIGEST + int(size)
        if len(rows) % step:
            return {}
        return {rows[at : at + _DIGEST]: rows[at + _DIGEST : at + step] for at in range(0, len(rows), step)}

    def _file(self, digit: str) -> str:
        return os.path.join(self._folder or "/dev/null", digit)


def _digit(digest: bytes) -> str:
    return digest[:1].hex()[0]


def _prune(folder: str, own: str) -> None:
    """Let the vectors of the models go that were used longest ago."""
    from shutil import rmtree

    others = [os.path.join(folder, name) for name in os.listdir(folder)]
    others = sorted((other for other in others if other != own), key=os.path.getmtime)
    for other in others[: max(0, len(others) + 1 - _MODELS)]:
        rmtree(other, ignore_errors=True)
