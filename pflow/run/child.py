"""The life of a worker process: from each number that it is asked for to its result, until there are no more."""

from __future__ import annotations

import os
import sys

from pflow.errors import FAILED
from pflow.process.signals import Interrupted
from pflow.run.deadlines import forget_deadlines
from pflow.run.frames import FAILURE, LINE, RESULT, described, send
from pflow.run.parent import Parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from pflow.process.signals import HeldSignals
    from pflow.run.workers import Serve, Take


def work(serve: Serve, requests: int, answers: int, held: HeldSignals) -> NoReturn:
    """Serve what comes through `requests`, answer through `answers`, and end the process."""
    code = 0
    parent = Parent(requests)
    try:
        forget_deadlines()
        parent.watch()
        held.release()

        def take(line: bytes) -> None:
            send(answers, LINE, line)

        while number := os.read(requests, 4):
            parent.is_needed = True
            _answer(serve, int.from_bytes(number, "big"), answers, take)
            parent.is_needed = False
    except Interrupted as interrupted:
        code = interrupted.exit
    except BaseException:
        code = FAILED
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, AttributeError, ValueError):
                pass
        os._exit(code)


def _answer(serve: Serve, number: int, answers: int, take: Take) -> None:
    import marshal

    try:
        send(answers, RESULT, marshal.dumps(serve(number, take)))
    except Interrupted:
        raise
    except BaseException as error:
        send(answers, FAILURE, marshal.dumps(described(error)))
