"""How near texts are in meaning, by llm's embedding model. llm is imported only when the model is asked."""

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from pflow.errors import BAD_CONFIG, BAD_DATA, TRY_AGAIN, PflowError, result_of
from pflow.files.directories import cache_directory, llm_directory, make_private
from pflow.files.reading import read_regular
from pflow.process.signals import Deadline
from pflow.values.digest import bytes_digest

VARIABLE = "PFLOW_EMBEDDING_MODEL"

_PATIENCE = 30.0
"""Seconds that a model may take; after that, the caller compares words instead."""


def configured() -> str | None:
    """Return the name of the embedding model: PFLOW_EMBEDDING_MODEL, else llm's default; None if neither is set."""
    file = os.path.join(llm_directory(), "default_embedding_model.txt")
    default = result_of(lambda: str(read_regular(file), "utf-8"), of=(OSError, ValueError), otherwise="")
    return os.environ.get(VARIABLE) or default.strip() or None


def similarities(name: str, query: str, texts: Sequence[str]) -> list[float]:
    """Return how near each text is to the query, at most 1. The vectors of the texts are cached. Raises PflowError."""
    import llm

    from pflow.models.choose import check_key
    from pflow.models.errors import explained
    from pflow.models.settings import defer_types
    from pflow.text.printable import foreign_line
    from pflow.web.route import bypass_proxies_here

    defer_types()
    bypass_proxies_here()
    try:
        model = llm.get_embedding_model(name)  # type: ignore[no-untyped-call]
    except llm.UnknownModelError:
        hint = "`llm embed-models` lists all"
        raise PflowError(f"cannot find the embedding model '{name}'", hint=hint, exit=BAD_CONFIG) from None
    except Exception as error:
        words = foreign_line(f"{type(error).__name__}: {error}")
        raise PflowError(f"cannot load llm's embedding models: {words}", exit=BAD_CONFIG) from error
    ids = [bytes_digest(text.encode("utf-8", "surrogatepass")) for text in texts]
    with Deadline(_PATIENCE, act=f"cannot get an answer from '{name}'", exit=TRY_AGAIN), explained(model):
        check_key(model)
        try:
            near = _near(llm.Collection(model.model_id, _database(), model=model), ids, texts, query)
        except sqlite3.OperationalError:  # a full disk: the vectors are kept in memory, for this query alone
            near = _near(llm.Collection(model.model_id, model=model), ids, texts, query)
    found = {each.id: each.score for each in near if each.score is not None}
    if not found.keys() >= set(ids):
        raise PflowError(f"cannot take the answer of '{name}': it is not a vector for each text", exit=BAD_DATA)
    return [found[id] for id in ids]


def _near(collection: Any, ids: list[str], texts: Sequence[str], query: str) -> list[Any]:
    collection.embed_multi(dict(zip(ids, texts, strict=True)).items())
    return list(collection.similar(query, number=collection.count()))


def _database() -> Any:
    """Open the cache of vectors, in memory if the file cannot be used. A file that is not a database is replaced."""
    from sqlite_utils import Database

    folder = cache_directory()
    if folder is None:
        return Database(memory=True)
    file = os.path.join(folder, "embeddings.db")
    try:
        make_private(folder)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        database = Database(file)
        database.execute("PRAGMA user_version = 1")  # a write, so that a database that refuses one is found here
    except (OSError, sqlite3.OperationalError):
        return Database(memory=True)
    except sqlite3.DatabaseError:
        os.unlink(file)
        return _database()
    return database
