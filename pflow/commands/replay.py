"""pflow replay: Repeat a run with the same values.

A new run of the same flow begins in the same directory, with the same flags, answers, variables of the environment,
chosen models and piped input (from a store, the keys that the flow may read). It has its own log. On a terminal it
first shows what it will touch; --dry-run shows what it would do, without touching anything.

RUN is a run's id or the beginning of one; last or @1 is the newest run, @2 the one before.

Stdin is not read, unless the piped input was over 10 MB or had a secret: then pipe it again; other data ends with 65.
Other secrets come from the environment again; the exit code is 78 if one is missing.

The nodes run the code that they have now.

\b
pflow run examples/words.pflow.json --pattern='examples/*.txt' -q
pflow replay last --dry-run
pflow replay last -r
"""

import os

from pflow import errors
from pflow.commands._command import Command
from pflow.driver.arguments import RunFlags, flags_of_runs
from pflow.driver.driver import Driver
from pflow.driver.earlier_run import Replay
from pflow.driver.inputs import RunInputs
from pflow.errors import PflowError
from pflow.files.reading import limit_input
from pflow.flow.subflow import wire_and_check
from pflow.help import spec as kinds
from pflow.interface.common import COMMON
from pflow.interface.interface import argument
from pflow.plan.proposal import show, touched_text
from pflow.record.runs import find_run
from pflow.stage.document import Intake

_REFUSED = {
    **{name: "the piped input is that of the run" for name, flag in COMMON.items() if flag.fd == 0},
    "resume": "pflow resume continues a run",
}
"""The flags of `pflow run` that a replay refuses, with the reasons."""


@Command(
    __doc__,
    *flags_of_runs(without=_REFUSED),
    argument("RUN", kinds.RUN, name="word", required=True),
    of_run=True,
    refused=_REFUSED,
)
def command(word: str, flags: RunFlags) -> int:
    return Driver("pflow replay").run_prepared(flags, lambda: _prepare(word, flags))


def _prepare(word: str, flags: RunFlags) -> tuple[RunFlags, RunInputs, Intake]:
    """Return the flags, inputs and piped input of the run. Raises PflowError as Replay does."""
    run = find_run(word)
    if run.is_map is None:
        what = f"cannot replay the run {run.id}: its log is damaged, and does not say whether it was a map"
        raise PflowError(what, hint=f"pflow trace {run.id} shows what is known of it", exit=errors.BAD_DATA)
    if run.is_map:
        hint = "pflow map runs its flow again, pflow resume goes on with it"
        raise PflowError(f"cannot replay the run {run.id}: it is a map", hint=hint, exit=errors.USAGE)
    replay = Replay(run)
    wired = wire_and_check(replay.flow())
    inputs = replay.inputs(wired)
    if os.isatty(2) and not flags.quiet:
        show(touched_text(wired, inputs))
    limit_input(flags.max_input)
    return flags, inputs, replay.intake(flags.timeout)
