"""Vectors of texts, cached in SQLite: an embedding model is asked about a text once."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256

from pflow.errors import BAD_DATA, PflowError
from pflow.models.embed import embed
from pflow.xdg import pflow_directory

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (model, digest, vector, used, PRIMARY KEY (model, digest)) WITHOUT ROWID"
_DAYS = 30
"""How long a vector is kept after its last use."""


def vectors_of(model: str, query: str, texts: Sequence[str]) -> list[Sequence[float]]:
    """The vector of the query, then one for each text. The texts' vectors are cached, the query's is not.

    Raises PflowError as `pflow.models.embed.embed` does, and 65 where the vectors differ in size.
    """
    vectors = _vectors(model, query, texts, _cached(model, texts))
    if len({len(vector) for vector in vectors}) > 1:  # the name belongs to another model now
        vectors = _vectors(model, query, texts, {})
    if len({len(vector) for vector in vectors}) > 1:
        raise PflowError(f"cannot use the answers of '{model}': its vectors differ in size", exit=BAD_DATA)
    return vectors


def _vectors(model: str, query: str, texts: Sequence[str], cached: dict[str, Sequence[float]]) -> list[Sequence[float]]:
    missing = [text for text in dict.fromkeys(texts) if text not in cached]
    answers: list[list[float]] = []
    try:
        embed(model, [*missing, query], answers.extend)
    finally:
        fresh = dict(zip(missing, answers, strict=False))
        _keep(model, fresh)
    known = {**cached, **fresh}
    return [answers[-1], *(known[text] for text in texts)]


def _cached(model: str, texts: Iterable[str]) -> dict[str, Sequence[float]]:
    with suppress(sqlite3.Error, OSError, ValueError), _database() as database:
        rows = database.execute("SELECT digest, vector FROM vectors WHERE model = ?", (model,))
        by_digest = {digest: array("f", vector) for digest, vector in rows}
        found: dict[str, Sequence[float]] = {
            text: by_digest[_digest(text)] for text in texts if _digest(text) in by_digest
        }
        used = [(model, _digest(text)) for text in found]
        database.executemany("UPDATE vectors SET used = date() WHERE model = ? AND digest = ? AND used < date()", used)
        return found
    return {}


def _keep(model: str, vectors: dict[str, list[float]]) -> None:
    rows = [(model, _digest(text), array("f", vector).tobytes()) for text, vector in vectors.items()]
    with suppress(sqlite3.Error, OSError, OverflowError), _database() as database:
        database.executemany("REPLACE INTO vectors VALUES (?, ?, ?, date())", rows)
        database.execute("DELETE FROM vectors WHERE used < date('now', ?)", (f"-{_DAYS} days",))


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """The cache, committed at the end. A file that is no database is made anew. Raises sqlite3.Error, OSError."""
    folder = pflow_directory("XDG_CACHE_HOME", ".cache")
    if folder is None:
        raise FileNotFoundError("the environment names no cache directory")
    os.makedirs(folder, 0o700, exist_ok=True)
    file = os.path.join(folder, "embeddings.db")
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(file, timeout=1)) as database:
        try:
            database.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                os.unlink(file)
            raise
        with database:
            yield database


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
