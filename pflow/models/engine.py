"""The engine of local models, llama.cpp (xllamacpp), in a thread; and its kept state after a plan's system text.

The state is in a file among the models with a name, NAME.plan.state, one for each. It holds nothing but that text.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from pflow.catalog.registry import data_directory
from pflow.errors import BAD_CONFIG, BAD_DATA, Attempt, PflowError, result_of
from pflow.files.atomic import write_cached
from pflow.files.directories import read_cached
from pflow.files.installation import read_installation
from pflow.files.reading import file_state
from pflow.values.digest import bytes_digest, frame
from pflow.values.jsontext import decode
from pflow.words.printable import one_line

_turn = threading.Lock()
"""Held while there is an engine: it takes all processors and the model's memory, so the threads of a map take turns."""

_CONTEXT, _SHORT = 4096, 8000
"""The tokens of a talk whose first question has fewer characters: a whole context may take a gigabyte, and time."""


def engine_command() -> str:
    """Return the command that installs the engine of local models; empty if it is installed."""
    return "" if find_spec("xllamacpp") else read_installation().add("xllamacpp")


class LocalEngine:
    """The engine with one model. It is loaded for each answer, or once `in_talk`, until that ends."""

    def __init__(self, path: str, *, in_talk: bool = False) -> None:
        self.path, self.in_talk = path, in_talk
        self._server: Any = None

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the chunks of one answer, made in a thread: the engine lets no signal through while it works."""
        made: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        is_over = threading.Event()

        def take(chunk: dict[str, Any]) -> bool:
            made.put(chunk)
            return is_over.is_set()

        def work() -> None:
            try:
                with _turn:
                    self._loaded(request["messages"]).handle_chat_completions(request, take)
            except Exception as error:
                made.put(error)
            made.put(None)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while (chunk := made.get()) is not None:
                if isinstance(chunk, Exception):
                    raise _unresolved(str(chunk)) if "cannot resolve $ref" in str(chunk) else chunk
                yield chunk
            thread.join()  # a batch may fork after this answer: no thread of ours may hold a lock then
        finally:
            is_over.set()

    def end(self) -> None:
        """Free the engine of a talk, now or when the answer ends that was not read to its end."""
        self._server = None

    def _loaded(self, messages: list[dict[str, str]]) -> Any:
        if self.in_talk and self._server is None:
            self._server = result_of(_load_with_state, self.path, messages, otherwise=None) or load(self.path)
        return self._server or load(self.path)


def _unresolved(words: str) -> PflowError:
    return PflowError(f"cannot use the schema: {one_line(words.rpartition('schema error at ')[2])}", exit=BAD_DATA)


def _load_with_state(path: str, messages: list[dict[str, str]]) -> Any:
    """Load the engine in the state after the system text: from the file that keeps it, else by reading the text.

    The file begins with a digest of its content and of all that it depends on: the engine may crash on another. Return
    None without a system text or a home. Raises OSError if there is no room for a directory.
    """
    folder = data_directory("models")
    if not folder or messages[0]["role"] != "system":
        return None
    context = _CONTEXT if sum(len(each["content"]) for each in messages) < _SHORT else 0
    depends = frame([*(file_state(path) or ()), version("xllamacpp"), context, messages[0]["content"]])
    kept = os.path.join(folder, Path(path).stem + ".plan.state")
    with TemporaryDirectory(prefix="pflow-state-", ignore_cleanup_errors=True) as place:
        slots = {"api_keys": [key := os.urandom(32).hex()], "endpoint_slots": True, "slot_save_path": f"{place}/"}
        # A second form of the weights takes longer to make than the few tokens of a question gain by it.
        engine = load(path, n_ctx=context, no_extra_bufts=True, **slots)
        old, state = read_cached(kept, 1 << 30) or b"", Path(place, "state")
        with suppress(OSError, HTTPException):
            if old[:64] == bytes_digest(depends + old[64:]).encode():
                state.write_bytes(old[64:])
                if _slot(engine, key, "restore"):
                    return engine
        text = [messages[0], {"role": "user", "content": ""}]
        engine.handle_chat_completions({"messages": text, "max_tokens": 0}, lambda _: False)
        with suppress(OSError, HTTPException):  # without room on the disk the next one reads it again
            said, new = _slot(engine, key, "save"), state.read_bytes()
            if said.get("n_written") == len(new):
                write_cached(kept, bytes_digest(depends + new).encode() + new)
    return engine


def _slot(engine: Any, key: str, act: str) -> Any:
    """Let the engine save or restore its state; return what it says, empty if it refuses."""
    with closing(HTTPConnection(engine.listening_address.partition("://")[2], timeout=60)) as connection:
        key_of_server = {"Authorization": f"Bearer {key}"}
        connection.request("POST", f"/slots/0?action={act}", '{"filename": "state"}', key_of_server)
        answer = connection.getresponse()
        return decode(answer.read()) if answer.status == 200 else {}


def load(path: str, **more: Any) -> Any:
    """Load the engine with a model, and with `more` settings than those of every answer."""
    xllamacpp = _import()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    for each in (parameters.cpuparams, parameters.cpuparams_batch):
        each.n_threads, each.poll = real_cores(), 0
    key = os.urandom(32).hex()  # the engine's server always listens on loopback: nobody learns its key
    usual = {"n_parallel": 1, "warmup": False, "verbosity": -1, "api_keys": [key], "endpoint_metrics": True}
    for name, value in (usual | more).items():
        setattr(parameters, name, value)
    try:
        engine = xllamacpp.Server(parameters)
        engine.handle_metrics()  # waits until its loop runs: freed before that, it blocks the whole process for good
        return engine
    except RuntimeError as error:
        hint = "it must be a GGUF file that llama.cpp knows, and that fits into memory"
        raise PflowError(f"cannot load the model '{path}'", hint=hint, exit=BAD_DATA) from error


def _import() -> Any:
    """Import the engine, whose threads would spin for milliseconds when they wait for each other.

    With this limit for OpenMP 120 tokens took 10 s, not 38, on two processors that others used, too; on idle ones it
    makes no difference.
    """
    is_unset = "GOMP_SPINCOUNT" not in os.environ
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    with Attempt("cannot load the engine of local models", of=ImportError, hint=engine_command(), exit=BAD_CONFIG):
        import xllamacpp
    if is_unset:
        del os.environ["GOMP_SPINCOUNT"]
    return xllamacpp


def real_cores() -> int:
    """Return the number of cores that this process may use: two hyperthreads are one, and a quota may allow fewer."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_read(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") or str(each) for each in allowed}
    most, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    return max(1, min(len(cores), int(most) // int(period)) if most.isdigit() else len(cores))


def _read(path: str) -> str:
    return result_of(lambda: Path(path).read_text().strip(), otherwise="")
