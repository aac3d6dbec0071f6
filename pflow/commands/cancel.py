"""pflow cancel: End a running run in order.

RUN is a run's id or the beginning of one; `last` or `@1` is the newest run. The run's process gets SIGTERM, as from
kill(1). Running steps, items and programs are ended; finished work is kept. The run is then shown as failed with 143,
and pflow resume continues it. A later stage of its pipe sees that it failed.

The exit code is 0 when the run has ended, 75 if it does not end within the --timeout, 77 if it is another user's, and 1
if it is not running. Only the process that holds the run's lock gets the signal, never a later process with the same
number.

\b
pflow run 'shell "sleep 60"' -n -q &
sleep 2; pflow cancel last
"""

import os
import select
import signal

from pflow.commands._command import Command, own
from pflow.errors import DENIED, FAILED, TRY_AGAIN, UNAVAILABLE, PflowError
from pflow.help import spec as kinds
from pflow.interface.common import COMMON
from pflow.interface.interface import argument
from pflow.process.children import descriptors, holder
from pflow.record.log import LOCK, mark_of
from pflow.record.runs import DONE, FINISHED, RUNNING, RecordedRun, find_run, is_locked, run_directories
from pflow.terminal.messages import say


@Command(
    __doc__,
    own(COMMON["timeout"], "wait so long for the end of the run", default=10.0),
    argument("RUN", kinds.RUNNING, name="word", required=True),
)
def command(word: str, timeout: float) -> None:
    run = find_run(word)
    was_running = run.status == RUNNING
    if was_running:
        _end(run, timeout)
        run = RecordedRun(run.directory)
    how = f"{run.status} {run.exit or ''}".rstrip()
    if not was_running or run.status in (DONE, FINISHED):  # it may have ended just before the signal
        others = [os.path.basename(each) for each in run_directories() if is_locked(each)]
        hint = f"running: {', '.join(others[:3])}" if others else "no run is running"
        raise PflowError(f"cannot cancel the run {run.id}: it is not running ({how})", hint=hint, exit=FAILED)
    hint = f"; {' or '.join(again)} continues it" if (again := run.next_commands()) else ""
    say("pflow cancel", f"the run {run.id} has ended: {how}{hint}")


def _end(run: RecordedRun, timeout: float) -> None:
    """Signal the run's own process, and wait for its end. Raises PflowError: 75, 77, 69 if the system lacks pidfds."""
    act, lock = f"cannot cancel the run {run.id}", os.path.join(run.directory, LOCK)
    mark = run.read(LOCK)
    number = mark[:20].strip()
    pid = int(number) if number.isdigit() else 0
    if not hasattr(os, "pidfd_open"):
        raise PflowError(f"{act}: this system cannot signal just that process", hint=f"kill {pid}", exit=UNAVAILABLE)
    try:
        process = os.pidfd_open(pid)  # a pidfd stays with this process, even if another gets its number
        if mark_of(pid) != mark or not any(descriptors(pid, lock)):
            raise ProcessLookupError
        signal.pidfd_send_signal(process, signal.SIGTERM)
        signal.pidfd_send_signal(process, signal.SIGCONT)  # a stopped process handles SIGTERM only after SIGCONT
    except PermissionError:
        raise PflowError(f"{act}: its process {pid} belongs to another user", exit=DENIED) from None
    except OSError:
        who = holder(lock) or "another machine or container has it"
        hint = f"kill {who.partition(' ')[0]}" if who[0].isdigit() else ""
        raise PflowError(f"{act}: its own process is not here any more: {who}", hint=hint, exit=TRY_AGAIN) from None
    if not select.select([process], [], [], timeout)[0]:
        what = f"{act}: its process {pid} has got SIGTERM, but not ended within {timeout:g} s"
        raise PflowError(what, hint=f"kill -KILL {pid} ends it at once", exit=TRY_AGAIN)
