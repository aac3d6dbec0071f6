"""llm's own log: conversations to continue, and answers kept where `llm logs` and `llm -c` look for them."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import llm
from llm import Conversation, Response
from llm.migrations import migrate
from llm.parts import ReasoningPart, ToolCallPart, ToolResultPart
from sqlite_utils import Database

from pflow.errors import BAD_DATA, CANNOT_WRITE, MISSING, TRY_AGAIN, PflowError, reason_of
from pflow.files.beneath import hold_in_bounds
from pflow.models import settings
from pflow.models.choose import choose
from pflow.terminal.messages import say

PATIENCE = 30
"""Seconds that a program waits while others write."""

_SHORT = 0.2

_loading = threading.Lock()

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_EXITS = {
    **dict.fromkeys(_BUSY, TRY_AGAIN),
    **dict.fromkeys((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT), BAD_DATA),
}


def open_conversation(model: str | None, *, goes_on: bool = False, id: str | None = None) -> Conversation:
    """Return the conversation called `id`, or the last one if it `goes_on`, else a new one.

    It asks the same model as before, unless one is named. Raises PflowError (66; of the log 65, 73 or 75).
    """
    conversation = _resume(id, model) if goes_on or id is not None else None
    if goes_on and conversation is None:
        how = "--log or PFLOW_LLM_LOG=1 would have kept an earlier question there"
        say("pflow", f"warning: a new conversation begins: llm's log is empty; {how}")
    return conversation or choose(model).conversation()


def set_system(conversation: Conversation, system: str | None) -> None:
    """Add a new system prompt to a conversation that goes on; llm drops any after the first turn."""
    said = conversation.loaded_messages or []
    current = [message for message in said if message.role == "system"][-1:]
    if system and said and current != [llm.system(system)]:
        said.append(llm.system(system))


def is_kept(log: bool | None, *, goes_on: bool) -> bool:
    """Return True if an answer is logged: as `log` says, else if its conversation `goes_on`, unless `llm logs off`."""
    return (goes_on and not (settings.directory() / "logs-off").exists()) if log is None else log


def write(response: Response, text: str) -> bool:
    """Log an answer, whose `text` is without thoughts, which no model should get back.

    One that cannot be logged was paid for, so this only warns on stderr, and returns False.
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
    """Load a conversation with llm; None if the log is empty."""
    path = _path()
    hold_in_bounds(str(path))
    try:
        if path.exists():
            with _database(path):
                pass  # the log can be written, and is now in its newest form
            if conversation := _load(id, path, model):
                return conversation
    except sqlite3.Error as error:
        exit = _EXITS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, CANNOT_WRITE)
        raise PflowError(f"cannot go on with a conversation: '{path}': {error}", exit=exit) from error
    if id is not None:
        raise PflowError(f"cannot find the conversation '{id}'", hint="`llm logs` shows them", exit=MISSING)
    return None


def _load(id: str | None, path: Path, model: str | None) -> Conversation | None:
    from llm import cli

    # llm's own get_model knows no GGUF files. It is called for the model of each turn, even if another one is named.
    _loading.acquire()
    usual = llm.get_model
    try:
        vars(llm)["get_model"] = lambda name: choose(model or name)
        return _without_gaps(cli.load_conversation(id, database=str(path)))
    except cli.click.ClickException:  # type: ignore[attr-defined]
        return None
    finally:
        vars(llm)["get_model"] = usual
        _loading.release()


def _without_gaps(conversation: Any) -> Conversation | None:
    """Leave out turns without an answer and calls of tools without a result, which providers refuse for ever."""
    if conversation is None:
        return None
    asked = conversation.responses[-1:]
    said = conversation.loaded_messages or [each for one in asked for each in (*one.prompt.messages, *one.messages())]
    results = {part.tool_call_id for each in said for part in each.parts if isinstance(part, ToolResultPart)}
    kept = [replace(each, parts=[part for part in each.parts if not _is_gap(part, results)]) for each in said]
    kept = [each for each in kept if each.role != "assistant" or any(map(_is_answer, each.parts))]
    roles = [*(each.role for each in kept[1:]), ""]
    pairs = zip(kept, roles, strict=True)  # a question goes with its answer
    conversation.loaded_messages = [each for each, then in pairs if each.role != "user" or then == "assistant"]
    conversation.responses = [each for each in conversation.responses if each.text().strip()]
    return conversation  # type: ignore[no-any-return]


def _is_gap(part: Any, results: set[str | None]) -> bool:
    return isinstance(part, ToolCallPart) and not part.server_executed and part.tool_call_id not in results


def _is_answer(part: Any) -> bool:
    """Return True for a text, a call of a tool, or a file; not for thoughts or white space."""
    return not isinstance(part, ReasoningPart) and bool(getattr(part, "text", "x").strip())


@contextmanager
def _database(path: Path) -> Iterator[Database]:
    """Open the log in its newest form for one writer, while others wait. A failure takes back all changes."""
    connection = sqlite3.connect(path, timeout=_SHORT)
    try:
        _begin(connection, time.monotonic() + PATIENCE)
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000}")  # somebody may still read at the commit
        database = Database(connection)
        migrate(database)  # type: ignore[no-untyped-call]
        yield database
        connection.commit()
    finally:
        connection.close()


def _begin(connection: sqlite3.Connection, ends_at: float) -> None:
    """Wait until nobody else writes, in short waits: a signal gets through only between them."""
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _BUSY or time.monotonic() > ends_at:
                raise
