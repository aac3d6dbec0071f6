"""The engine of local models, llama.cpp (xllamacpp), in a thread; and its kept state after a plan's system text.

The state is in a file among the models with a name, NAME.plan.state, one for each. It holds nothing but that text.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from typing import Any

from pflow.catalog.registry import data_directory
from pflow.errors import BAD_CONFIG, BAD_DATA, Attempt, PflowError, result_of
from pflow.files.atomic import write_cached
from pflow.files.directories import read_cached
from pflow.files.installation import read_installation
from pflow.files.reading import file_state
from pflow.text.printable import one_line
from pflow.values.digest import bytes_digest, frame
from pflow.values.jsontext import decode

_turn = threading.Lock()
"""Held while an engine works: it takes all processors and the model's memory, so the threads of a map take turns."""

_KEY = os.urandom(32).hex()
"""The key of each engine, whose server always listens on loopback: nobody learns it."""


def engine_command() -> str:
    """Return the command that installs the engine of local models; empty if it is installed."""
    return "" if find_spec("xllamacpp") else read_installation().add("xllamacpp")


def answer(path: str, request: dict[str, Any], talk: list[Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the chunks of one answer, made in a thread: the engine lets no signal through while it works.

    It is loaded for the answer, or for a `talk`, whose list it stays in.
    """
    made: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
    is_over = threading.Event()

    def take(chunk: dict[str, Any]) -> bool:
        made.put(chunk)
        return is_over.is_set()

    def work() -> None:
        try:
            with _turn:
                if talk == []:
                    talk.append(_load_with_state(path, request["messages"]))
                (talk or [load(path)])[0].handle_chat_completions(request, take)
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


def _unresolved(words: str) -> PflowError:
    return PflowError(f"cannot use the schema: {one_line(words.rpartition('schema error at ')[2])}", exit=BAD_DATA)


def _load_with_state(path: str, messages: list[dict[str, str]]) -> Any:
    """Load the engine in the state after the system text: from the file that keeps it, else by reading the text.

    The file begins with a digest of its content and of all that it depends on: on another the engine ends the process.
    Without a system text, a home or room on the disk the state is not kept.
    """
    # A whole context takes a gigabyte, and a second form of the weights more time than a question gains by it.
    context = 4096 if sum(len(each["content"].encode("utf-8", "replace")) for each in messages) < 8000 else 0
    engine = load(path, n_ctx=context, no_extra_bufts=True, endpoint_slots=True, slot_save_path="/dev/fd/")
    folder = data_directory("models")
    if not folder or messages[0]["role"] != "system":
        return engine
    kept = os.path.join(folder, Path(path).stem + ".plan.state")
    depends = frame([*(file_state(path) or ()), version("xllamacpp"), messages[0]["content"]])
    digest, state = (old := read_cached(kept, 1 << 30) or b"")[:64], old[64:]
    with suppress(OSError, HTTPException), TemporaryFile() as file:
        if digest == bytes_digest(depends + state).encode():
            file.write(state)
            file.seek(0)
            if _slot(engine, "restore", file.fileno()):
                return engine
            file.truncate(file.seek(0))
        text = [messages[0], {"role": "user", "content": ""}]
        engine.handle_chat_completions({"messages": text, "max_tokens": 0}, lambda _: False)
        size = _slot(engine, "save", file.fileno()).get("n_written")
        file.seek(0)  # on macOS, opening /dev/fd shares the position, which the engine has moved
        state = file.read()
        if size == len(state):  # the engine does not see that a disk is full until then
            write_cached(kept, bytes_digest(depends + state).encode() + state)
    return engine


def _slot(engine: Any, act: str, fd: int) -> Any:
    """Let the engine save its state to an open file, or restore it; return what it says, empty if it refuses."""
    with closing(HTTPConnection(engine.listening_address.partition("://")[2], timeout=60)) as connection:
        key = {"Authorization": f"Bearer {_KEY}"}
        connection.request("POST", f"/slots/0?action={act}", f'{{"filename": "{fd}"}}', key)
        said = connection.getresponse()
        return decode(said.read()) if said.status == 200 else {}


def load(path: str, **more: Any) -> Any:
    """Load the engine with a model, and with `more` settings than those of every answer."""
    xllamacpp = _import()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    for each in (parameters.cpuparams, parameters.cpuparams_batch):
        each.n_threads, each.poll = real_cores(), 0
    usual = {"n_parallel": 1, "warmup": False, "verbosity": -1, "api_keys": [_KEY], "endpoint_metrics": True}
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
    """Import the engine. Its threads spin while they wait for each other, for milliseconds if OpenMP has no limit.

    On two processors that others used too, 120 tokens took 10 s with this one, not 38; on idle ones it is the same.
    """
    is_unset = "GOMP_SPINCOUNT" not in os.environ
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        with Attempt("cannot load the engine of local models", of=ImportError, hint=engine_command(), exit=BAD_CONFIG):
            import xllamacpp
    finally:
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
