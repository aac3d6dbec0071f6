"""The broker as a process: what servers do to it, one session for everybody, and that nothing stays behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pflow.broker.servers import Server, save_server

SERVER = str(Path(__file__).with_name("server.py"))
CANARY = "canary-8c1f"


class Broker:
    """A broker of a test's own, whose servers are kept below `folder`."""

    def __init__(self, folder: Path, owner: int) -> None:
        self.path = str(folder / "broker.sock")
        words = [sys.executable, "-P", "-m", "pflow.broker.broker", self.path, str(owner)]
        environment = {**os.environ, "XDG_DATA_HOME": str(folder), "CALLERS_OWN": "1"}
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
        assert self.process.stdout
        assert json.loads(self.process.stdout.readline()) == {"result": {}}

    def connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(60)
        peer.connect(self.path)
        return peer

    def ask(self, **request: Any) -> list[dict[str, Any]]:
        """Return the lines that answer a request, the last of which is its result or its error."""
        with self.connect() as peer, peer.makefile("rw") as lines:
            return exchange(lines, request)

    def call(self, tool: str, server: str = "hostile", timeout: float | None = None, **given: Any) -> dict[str, Any]:
        return self.ask(call={"server": server, "tool": tool, "arguments": given, "timeout": timeout})[-1]


def exchange(lines: Any, request: dict[str, Any]) -> list[dict[str, Any]]:
    lines.write(json.dumps(request) + "\n")
    lines.flush()
    answers = [json.loads(lines.readline())]
    while "progress" in answers[-1]:
        answers.append(json.loads(lines.readline()))
    return answers


def keep(name: str, *words: str, **more: Any) -> None:
    run = [sys.executable, SERVER, *words]
    environment = {"PATH": os.environ["PATH"], "SECRET": CANARY}
    save_server(Server(name, run, run, env=environment, directory="/", **more))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        keep("hostile")
        broker = Broker(folder, os.getpid())
        yield broker
        broker.ask(down=True)
        assert broker.process.wait(20) == 0
        assert not os.path.exists(broker.path)
