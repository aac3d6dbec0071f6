"""Pflow as forks of a process that has loaded llm's libraries: a start that loads them takes 0.5 s of CPU, a fork 0.05.

What is run is the whole program, from its executable on, in a process of its own.
`python -m tests.peers.warm FD` is that process; it takes requests with three files each from the socket.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pflow
from pflow.page import page
from pflow.process import signals

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LIBRARIES = (
    *("pflow.files.file_paths", "pflow.stage.output", "pflow.stage.stage", "pflow.stage.output"),
    *("pflow.kit.github.client", "httpcore2", "anyio.streams.tls", "truststore"),
    *("openai.lib.streaming.chat", "openai.resources.chat.completions.completions", "genai_prices"),
)
"""What most runs would load."""


def load(*more: str) -> None:
    """Load what is not to be loaded by each fork."""
    from pflow.models import ask, choose  # noqa: F401

    choose.warm()
    for module in (*LIBRARIES, *more):
        importlib.import_module(module)
    gc.freeze()  # else a collection in a fork would copy the memory of all libraries


@cache
def load_pflow() -> None:
    """Load every module of pflow, with what it imports at its top."""
    for module in pkgutil.walk_packages(pflow.__path__, "pflow."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    page._environment().get_template("page.html")  # compiled, as it then stays
    load()


def become(words: Sequence[str], files: Sequence[int], env: Mapping[str, str], directory: str | None) -> NoReturn:
    """Be the program in a fork, where nothing of its parent's may be open, held, or done at the end."""
    try:
        atexit._clear()
        signals._holders.clear()
        signal.set_wakeup_fd(-1)
        if os.isatty(files[1]):
            os.setsid()
            fcntl.ioctl(files[1], termios.TIOCSCTTY, 0)
        for fd, file in enumerate(files):
            os.dup2(file if file >= 0 else os.open(os.devnull, os.O_RDWR), fd)
        os.closerange(3, 256)
        sys.stdin, sys.stdout, sys.stderr = (open(fd, mode, closefd=False) for fd, mode in enumerate("rww"))
        if directory is not None:
            os.chdir(directory)
        env = dict(env)
        os.environ.clear()
        os.environ.update(env)
        sys.argv[:] = words
        runpy.run_path(str(BIN / words[0]), run_name="__main__")
    finally:
        os._exit(99)


class Warm:
    """The process, from pytest; a keyword is a variable of its environment."""

    def __init__(self, *more: str, **variables: str) -> None:
        self.socket, other = socket.socketpair()
        command = [sys.executable, "-m", "tests.peers.warm", str(other.fileno()), *more]
        env = {**os.environ, **variables}
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, pass_fds=[other.fileno()])
        other.close()

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *about: object) -> None:
        self.socket.close()
        self.process.wait()

    def run(
        self,
        words: Sequence[str | bytes],
        *,
        cwd: Path | str,
        env: Mapping[str, str],
        input: str | bytes | None = "",
        typed: str = "",
        text: bool = True,
    ) -> subprocess.CompletedProcess[Any]:
        """Run pflow or a stage of pflow's to its end, as subprocess.run does; with something `typed`, at a terminal.

        Without an input, None, stdin is /dev/null.
        """
        stdin, stdout, stderr = os.pipe(), os.openpty() if typed else os.pipe(), os.pipe()
        if input is None:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, stdin[0])
            os.close(nothing)
        theirs = [stdin[0], stdout[1], stdout[1] if typed else stderr[1]]
        socket.send_fds(
            self.socket, [json.dumps([[*map(os.fsdecode, words)], dict(env), str(cwd)]).encode() + b"\n"], theirs
        )
        for file in (stdin[0], stdout[1], stderr[1]):
            os.close(file)
        with ThreadPoolExecutor(4) as threads:
            threads.submit(_write, stdin[1], input.encode() if isinstance(input, str) else input or b"")
            if typed:
                os.write(stdout[0], typed.encode())
            said = [threads.submit(_read, file) for file in (stdout[0], stderr[0])]
        code = int(self.socket.recv(16))
        shown = [each.result() for each in said]
        return subprocess.CompletedProcess([*words], code, *(map(bytes.decode, shown) if text else shown))


def _write(file: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(file, "wb") as stdin:
        stdin.write(data)


def _read(file: int) -> bytes:
    parts = []
    with suppress(OSError):  # the end of a terminal
        while part := os.read(file, 65536):
            parts.append(part)
    os.close(file)
    return b"".join(parts)


def serve(requests: socket.socket) -> None:
    """Run what is asked for, one after another, until nobody asks any more."""
    while True:
        line, files, _, _ = socket.recv_fds(requests, 1 << 20, 3)
        if not line:
            return
        while not line.endswith(b"\n"):
            line += requests.recv(1 << 20)
        words, env, directory = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(words, files, env, directory)
        for file in files:
            os.close(file)
        requests.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    load_pflow()
    load(*sys.argv[2:])
    serve(socket.socket(fileno=int(sys.argv[1])))
