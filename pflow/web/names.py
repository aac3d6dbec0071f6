"""Looking up names of hosts in a thread: while the C library waits for an answer, Python sees no signal."""

import socket
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any

look_up: Any = socket.getaddrinfo


def see_signals() -> None:
    """Let signals and time limits end every lookup of this process from now on."""
    socket.getaddrinfo = _in_thread


def _in_thread(*about: Any, **more: Any) -> Any:
    if current_thread() is not main_thread():
        return look_up(*about, **more)
    answers: SimpleQueue[Any] = SimpleQueue()
    Thread(target=lambda: answers.put(_outcome(*about, **more)), daemon=True).start()
    answer = answers.get()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _outcome(*about: Any, **more: Any) -> Any:
    try:
        return look_up(*about, **more)
    except Exception as error:
        return error
