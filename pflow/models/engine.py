"""The engine of local models, llama.cpp (xllamacpp), in a thread; and its kept state after a plan's system text.

The state is in a file among the models with a name, NAME.plan.state, one for each. It holds nothing but that text.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
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
from pflow.values.jsontext import compact, decode
from pflow.words.printable import one_line

_turn = threading.Lock()
"""Held while there is an engine: it takes all processors and the model's memory, so the threads of a map take turns."""

_CONTEXT = 4096
"""The tokens of a talk that is short: a model's whole context may take a gigabyte, and half a second more to load."""

_SHORT = 8000
"""The characters of a first question that, with later ones and the answers, fit into so many tokens."""

_LARGEST = 1 << 30


def engine_command() -> str:
    """Return the command that installs the engine of local models; empty if it is installed."""
    return "" if find_spec("xllamacpp") else read_installation().add("xllamacpp")


class LocalEngine:
    """The engine with one model, loaded for the first answer. It works in a thread, since it lets no signal through.

    With `keeps_state` many processes read the system text of the first request only once.
    """

    def __init__(self, path: str, *, keeps_state: bool = False) -> None:
        self.path, self.keeps_state = path, keeps_state
        self._asked: SimpleQueue[tuple[dict[str, Any], _Reply] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._reply = _Reply()

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the chunks of one answer. Raises PflowError, or what the engine raises."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        reply = self._reply = _Reply()
        self._asked.put((request, reply))
        try:
            yield from reply
        finally:
            reply.is_over = True

    def end(self) -> None:
        """Free the engine, and wait for it: a batch may fork next, when no thread of ours may hold a lock.

        While it works on an answer that was not read to its end, nobody waits: it ends after the next token.
        """
        self._reply.is_over = True
        self._asked.put(None)
        if self._thread and self._reply.is_whole:
            self._thread.join()

    def _work(self) -> None:
        with _turn:
            server: Any = None
            while asked := self._asked.get():
                request, reply = asked
                try:
                    server = server or self._begin(request["messages"])
                    if not reply.is_over:
                        server.handle_chat_completions(request, reply.take)
                    reply.made.put(None)
                except Exception as error:
                    reply.made.put(error)
            del server  # which the frame of an error would keep

    def _begin(self, messages: list[dict[str, str]]) -> Any:
        folder = data_directory("models")
        if not (self.keeps_state and folder and messages[0]["role"] == "system"):
            return load(self.path)
        context = _CONTEXT if sum(len(each["content"]) for each in messages) < _SHORT else 0
        kept = os.path.join(folder, Path(self.path).stem + ".plan.state")
        with TemporaryDirectory(prefix="pflow-state-") as place:
            server = load(self.path, place, context, key := os.urandom(32).hex())
            _State(server, key, place).bring(kept, messages[0], [*(file_state(self.path) or ()), context])
        return server


class _Reply:
    """The chunks of an answer as they are made; `is_over` ends it, `is_whole` says that all were read."""

    def __init__(self) -> None:
        self.made: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        self.is_over = self.is_whole = False

    def take(self, chunk: dict[str, Any]) -> bool:
        self.made.put(chunk)
        return self.is_over

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while isinstance(chunk := self.made.get(), dict):
            yield chunk
        self.is_whole = True
        if chunk is not None:
            raise _unresolved(str(chunk)) if "cannot resolve $ref" in str(chunk) else chunk


def _unresolved(words: str) -> PflowError:
    return PflowError(f"cannot use the schema: {one_line(words.rpartition('schema error at ')[2])}", exit=BAD_DATA)


class _State:
    """The state of an engine, which it saves as a file in a `place`; `key` opens its server."""

    def __init__(self, server: Any, key: str, place: str) -> None:
        self.server, self.key, self.file = server, key, Path(place, "state")

    def bring(self, kept: str, system: dict[str, str], depends: list[Any]) -> None:
        """Restore the state after a `system` text from the file that keeps it; else read the text, and keep the state.

        The file begins with a digest of its content and of all it `depends` on: the engine may crash on another.
        """
        from xllamacpp import __version__ as version

        about = frame([*depends, str(version), system["content"]])
        old = read_cached(kept, _LARGEST) or b""
        with suppress(OSError, HTTPException):
            if old[:64] == bytes_digest(about + old[64:]).encode():
                self.file.write_bytes(old[64:])
                if self._do("restore"):
                    return
        text = [system, {"role": "user", "content": ""}]
        self.server.handle_chat_completions({"messages": text, "max_tokens": 0}, lambda _: False)
        with suppress(OSError, HTTPException):  # without room on the disk the next one reads it again
            said, new = self._do("save"), self.file.read_bytes()
            if said.get("n_written") == len(new):
                write_cached(kept, bytes_digest(about + new).encode() + new)

    def _do(self, act: str) -> dict[str, Any]:
        """Let the engine save or restore the state; return what it says, empty if it refuses."""
        header = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.server.listening_address.partition("://")[2], timeout=60)) as connection:
            connection.request("POST", f"/slots/0?action={act}", compact({"filename": self.file.name}), header)
            answer = connection.getresponse()
            said: dict[str, Any] = decode(answer.read())
            return said if answer.status == 200 else {}


def load(path: str, place: str = "", context: int = 0, key: str = "") -> Any:
    """Load the engine with a model. Its server always listens on loopback, so it gets a key that nobody learns.

    With a `place` it can save its state there; a `context` of 0 is the model's own.
    """
    xllamacpp = _import()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_parallel = 1
    parameters.warmup = False
    for each in (parameters.cpuparams, parameters.cpuparams_batch):
        each.n_threads = real_cores()
        each.poll = 0
    parameters.verbosity = -1
    parameters.api_keys = [key or os.urandom(32).hex()]
    parameters.endpoint_metrics = True
    if place:
        parameters.n_ctx = context
        parameters.endpoint_slots, parameters.slot_save_path = True, os.path.join(place, "")
        parameters.no_extra_bufts = True  # a second form of the weights takes longer to make than few tokens gain by it
    try:
        engine = xllamacpp.Server(parameters)
        engine.handle_metrics()  # waits until its loop runs: freed before that, it blocks the whole process for good
        return engine
    except RuntimeError as error:
        hint = "it must be a GGUF file that llama.cpp knows, and that fits into memory"
        raise PflowError(f"cannot load the model '{path}'", hint=hint, exit=BAD_DATA) from error


_SPINS = "GOMP_SPINCOUNT"


def _import() -> Any:
    """Import the engine, whose threads soon sleep when they wait for each other: OpenMP asks for that as it is loaded.

    Else they spin, for milliseconds at each of the thousand steps of a token. On two processors that other processes
    used, too, 120 tokens took 38 s, and 10 s so; on idle ones it makes no difference, as it would if they never spun.
    """
    before = os.environ.get(_SPINS)
    os.environ[_SPINS] = before or "1000"
    with Attempt("cannot load the engine of local models", of=ImportError, hint=engine_command(), exit=BAD_CONFIG):
        import xllamacpp
    if before is None:
        del os.environ[_SPINS]
    return xllamacpp


_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_QUOTA = "/sys/fs/cgroup/cpu.max"


def real_cores() -> int:
    """Return the number of cores that this process may use: two hyperthreads are one, and a quota may allow fewer."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_read(_SIBLINGS.format(each)) or str(each) for each in allowed}
    most, _, period = _read(_QUOTA).partition(" ")
    return max(1, min(len(cores), int(most) // int(period)) if most.isdigit() else len(cores))


def _read(path: str) -> str:
    return result_of(lambda: Path(path).read_text().strip(), otherwise="")
