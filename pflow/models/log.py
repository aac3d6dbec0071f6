"""llm's own log: continuing its conversations, and logging answers where `llm logs` and `llm -c` find them."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import llm
from llm import DEFAULT_MODEL, Conversation, Response
from llm.logs import LogStore
from llm.migrations import migrate
from llm.parts import Message, ReasoningPart, ToolCallPart, ToolResultPart
from sqlite_utils import Database

from pflow.errors import BAD_DATA, CANNOT_WRITE, MISSING, TRY_AGAIN, PflowError, reason_of
from pflow.files.beneath import check_in_bounds
from pflow.models import settings
from pflow.models.choose import choose
from pflow.terminal.messages import say

PATIENCE = 30
"""Seconds that a program waits while others write."""

_SHORT = 0.2

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_EXITS = {
    **dict.fromkeys(_BUSY, TRY_AGAIN),
    **dict.fromkeys((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT), BAD_DATA),
}

_ABOUT = """
select id, model from (
    select id, model, 1 as is_old, '' as turn from conversations
    union all select thread_id, model, 0, id from turns
)
where id = coalesce(:id, (select max(id) from (select id from threads union select id from conversations)))
order by is_old desc, turn desc limit 1
"""
"""A query for a conversation and its model, also in the tables of older versions of llm."""


def open_conversation(model: str | None, *, goes_on: bool = False, id: str | None = None) -> Conversation:
    """Return the conversation with this `id`; without one, the last conversation if `goes_on`, else a new one.

    Its model stays unless `model` names another. Raises PflowError: 66 for an unknown id; 65, 73 or 75 for the log.
    """
    conversation = _resume(id, model) if goes_on or id is not None else None
    if goes_on and conversation is None:
        how = "--log or PFLOW_LLM_LOG=1 would have kept an earlier question there"
        say("pflow", f"warning: a new conversation begins: llm's log is empty; {how}")
    return conversation or choose(model).conversation()


def set_system(conversation: Conversation, system: str | None) -> None:
    """Add a system prompt to a conversation that goes on, unless it is the current one. llm itself would drop it."""
    said = conversation.loaded_messages or []
    current = [message for message in said if message.role == "system"][-1:]
    if system and said and current != [llm.system(system)]:
        said.append(llm.system(system))


def is_logged(log: bool | None, *, goes_on: bool) -> bool:
    """Return True if an answer is to be logged; `log` decides, if it is given.

    By default, only a conversation that `goes_on` is logged, and not after `llm logs off`.
    """
    return (goes_on and not (settings.directory() / "logs-off").exists()) if log is None else log


def write(response: Response, text: str) -> bool:
    """Log an answer as `text`, without its thoughts: in a conversation, no model should get them back.

    The answer was paid for, so a failure only warns on stderr, and returns False.
    """
    path, thoughts = _path(), len("".join(response._chunks)) - len(text)
    for event in response._stream_events:
        if event.type == "text" and thoughts > 0:
            event.chunk, thoughts = event.chunk[thoughts:], thoughts - len(event.chunk)
    try:
        if settings.is_temporary(path.parent):
            raise LookupError("there is no home directory")
        path.touch(0o600)
        with _database(path) as database:
            response.log_to_db(database)  # type: ignore[no-untyped-call]
    except Exception as error:
        why = reason_of(error) if isinstance(error, OSError) else error
        say("pflow", f"warning: the answer is not in llm's log '{path}': {why}")
        return False
    return True


def _path() -> Path:
    return settings.directory() / "logs.db"


def _resume(id: str | None, model: str | None) -> Conversation | None:
    """Load a conversation; None if the log is empty."""
    path, found = _path(), None
    check_in_bounds(str(path))
    try:
        if path.exists():
            with _database(path) as database:
                found = _find(database, id)
    except sqlite3.Error as error:
        exit = _EXITS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, CANNOT_WRITE)
        raise PflowError(f"cannot go on with a conversation: '{path}': {error}", exit=exit) from error
    if found is None and id is not None:
        raise PflowError(f"cannot find the conversation '{id}'", hint="`llm logs` shows them", exit=MISSING)
    if found is None:
        return None
    conversation = choose(model or found[1]).conversation()
    conversation.id, conversation.loaded_messages = found[0], _without_gaps(found[2])
    return conversation


def _find(database: Database, id: str | None) -> tuple[str, str, list[Message]] | None:
    """Return the id, the model and the messages of a conversation: the one with this `id`, else the last one.

    llm's own load_conversation has no argument for a model, and its get_model knows neither addresses nor GGUF files.
    """
    found = next(database.query(_ABOUT, {"id": id}), None)
    if found is None:
        return None
    try:
        said = LogStore(database).thread_messages(found["id"])  # type: ignore[no-untyped-call]
    except KeyError:
        rows = database["responses"].rows_where("conversation_id = ?", [found["id"]], order_by="id")
        said = [message for row in rows for message in _messages_of(database, row)]
    return found["id"], found["model"], said


def _messages_of(database: Database, row: dict[str, Any]) -> list[Message]:
    """Return the question and the answer in a row of older versions of llm."""
    # The row's own model may be gone by now, and no message depends on it.
    known = {**row, "model": DEFAULT_MODEL, "options_json": "{}"}
    old = Response.from_row(database, known)  # type: ignore[no-untyped-call]
    return [*old.prompt.messages, *old.messages()]


def _without_gaps(said: list[Message]) -> list[Message]:
    """Leave out turns without an answer and calls of tools without a result: providers refuse a history with these."""
    results = {part.tool_call_id for each in said for part in each.parts if isinstance(part, ToolResultPart)}
    kept = [replace(each, parts=[part for part in each.parts if not _is_gap(part, results)]) for each in said]
    kept = [each for each in kept if each.role != "assistant" or any(map(_is_answer, each.parts))]
    roles = [*(each.role for each in kept[1:]), ""]
    pairs = zip(kept, roles, strict=True)  # a question without its answer is a gap, too
    return [each for each, then in pairs if each.role != "user" or then == "assistant"]


def _is_gap(part: Any, results: set[str | None]) -> bool:
    return isinstance(part, ToolCallPart) and not part.server_executed and part.tool_call_id not in results


def _is_answer(part: Any) -> bool:
    """Return True for a text, a call of a tool, or a file; not for thoughts or white space."""
    return not isinstance(part, ReasoningPart) and bool(getattr(part, "text", "x").strip())


@contextmanager
def _database(path: Path) -> Iterator[Database]:
    """Open the log in llm's newest form, for one writer at a time. A failure undoes all changes."""
    connection = sqlite3.connect(path, timeout=_SHORT)
    try:
        _begin(connection, time.monotonic() + PATIENCE)
        # The lock keeps other writers away, but the commit may have to wait for readers.
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}")
        database = Database(connection)
        migrate(database)  # type: ignore[no-untyped-call]
        yield database
        connection.commit()
    finally:
        connection.close()


def _begin(connection: sqlite3.Connection, ends_at: float) -> None:
    """Begin to write once no other program writes. The waits are short, since signals get through only between them."""
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _BUSY or time.monotonic() > ends_at:
                raise
