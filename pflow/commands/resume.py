"""pflow resume: Resume a failed or killed run.

RUN is a run's id or the beginning of one, or `last`. Steps and items of batches that are done do not run again: their
changes come from the run's journal. Failed ones run again. A step is interrupted if it began but did not end, or was
ended by a signal, a time limit or another step's failure. It runs again if its node or the step says that it repeats
(pflow-node(7)). Otherwise a person is asked; a script gives --redo=STEP or --skip=STEP, which applies to all visits and
items of the step. Without an answer the exit code is 65. It is 66 if a later step needs a value that a skipped one
would have written.

The run goes on in its directory, with its inputs and variables, and does not read stdin. Its result is printed as the
run would have printed it, or as your -r, -j or -q say. Secrets are not kept: they come from the environment again, from
a person, or from the file of --KEY@FILE. If the code or the version of a node has changed, or a file that a finished
step read, it is named, and the exit code is 78; --accept-changes goes on. A file that the run itself has changed counts
as the run left it. Files are those that a step's paths name, and those that list-files finds.

A map goes on with the items that are not done; all results are printed again. Its flags are as they were, but for new
limits; a file of items is read again, and items from stdin have to be piped again (else 64). An item that failed is
tried three times in all, and again with --failed; one that has begun a step that does not repeat is left, unless
--redo, without STEP, runs it again.

A run that is still going on, or has left a process running, is not touched (75). A run that is done has nothing to
resume (1), but --from and --only run its steps again if it had --keep-store. If a run finished with failures, --failed
runs the failed items again, then the steps after their batches; items of later batches run only if they are new. The
flow of a Python file is imported again. pflow run --resume FLOW resumes the newest run of a flow, or begins one, also
if a file has changed; but it exits with 78 if a step has begun that may not repeat. Finished steps survive kill -9, but
not a power cut.

\b
pflow run 'list-files "examples/*.txt" => shell "test -e ready"' -n -q --keep-store || touch ready
pflow resume last -q
pflow resume last -q --from=list-files
pflow run --resume 'shell "test -e ready"' -n -q
"""

import os

from pflow.catalog.confinement import set_free
from pflow.commands._command import Command, own
from pflow.driver.arguments import RunFlags
from pflow.driver.decisions import ResumeFlags
from pflow.driver.driver import Driver
from pflow.driver.earlier_run import Reopened
from pflow.driver.inputs import RunInputs
from pflow.errors import USAGE, PflowError
from pflow.files.reading import limit_input
from pflow.help import spec as kinds
from pflow.interface.common import COMMON, RUN_FLAGS
from pflow.interface.interface import TEXT, TEXTS, Flag, argument
from pflow.record.runs import RecordedRun, find_run
from pflow.stage.document import Intake
from pflow.stage.words import take_words
from pflow.values.secrets import Secrets

_AGAIN = "run this interrupted step again; of a map, without STEP: all items that began one"
_COST = "set a new limit for the cost of the whole run, earlier parts included"
_FAILED = "run the failed items of a map, or of batches and all steps after them, again"
_VISITS = "set a new limit for the visits of each step, earlier parts included"


@Command(
    __doc__,
    own(COMMON["raw"], "print only what the pipe carries"),
    own(COMMON["json"]),
    own(COMMON["quiet"]),
    Flag("redo", _AGAIN, type=TEXTS, word="STEP"),
    Flag("skip", "treat this interrupted step as done, without writes", type=TEXTS, metavar="STEP"),
    Flag("from", "run this step and all later ones again", type=TEXT, metavar="STEP"),
    Flag("only", "run this step again, and keep the results of later ones", type=TEXT, metavar="STEP"),
    Flag("failed", _FAILED),
    Flag("accept_changes", "go on even if code, versions, secrets or files have changed"),
    own(RUN_FLAGS["max_cost"], _COST),
    own(RUN_FLAGS["max_tokens_total"], "set a new limit for the tokens of the whole run"),
    own(RUN_FLAGS["max_calls"], "set a new limit for the calls of models in the whole run"),
    own(RUN_FLAGS["max_visits"], _VISITS),
    own(COMMON["max_input"], "set the maximum size of stdin, and of each file that is read"),
    own(COMMON["unconfined"]),
    own(COMMON["debug"]),
    argument("RUN", kinds.UNFINISHED, name="word", required=True),
    others="files",
    of_run=True,
)
def command(
    word: str, files: list[str], flags: RunFlags, redo: list[str], skip: list[str], from_: str | None,
    only: str | None, failed: bool, accept_changes: bool,
) -> int:  # fmt: skip
    choices = ResumeFlags({*redo}, {*skip}, from_, only, failed, accept_changes, dict(map(_file, files)))
    limit_input(flags.max_input)
    set_free(flags.unconfined)
    run = find_run(word)
    if run.is_map:
        return _resume_map(run, choices, flags)
    if "" in choices.redo:
        raise PflowError("cannot take --redo without a step", hint="--redo=STEP, but for a map", exit=USAGE)
    driver = Driver("pflow resume")
    return driver.run_prepared(flags, lambda: _prepare(run, flags, choices, driver.secrets))


def _resume_map(run: RecordedRun, choices: ResumeFlags, flags: RunFlags) -> int:
    """Resume a map. Raises PflowError (2) for a flag about steps."""
    from pflow.map.execution import in_order, resume_map

    redo = "" in choices.redo
    choices.redo -= {""}
    for name in [*choices.about(), *["json"] * bool(flags.json)]:
        hint = "--failed and --redo run items of it again, -r prints what they carry"
        raise PflowError(f"cannot take --{name} for a map", hint=hint, exit=USAGE)
    return in_order("pflow resume", lambda *about: resume_map(run, choices, flags, *about, redo=redo), flags)


def _prepare(
    run: RecordedRun, flags: RunFlags, choices: ResumeFlags, secrets: Secrets
) -> tuple[RunFlags, RunInputs, Intake]:
    """Return the run's flags, inputs and piped input. Raises PflowError as Reopened does; 65 if it breaks a rule."""
    reopened = Reopened(run, choices, secrets)
    with reopened.reading():
        wired = reopened.load()
        return flags.replaced(reopened.flags(flags)), *reopened.restore(wired)


def _file(word: str) -> tuple[str, str]:
    """Return the secret and the file of `--KEY@FILE`. Raises PflowError (2) for any other word."""
    key, sign, file = word.removeprefix("--").partition("@")
    if not word.startswith("--") or not sign or "=" in key:
        take_words([word], command.spec.fields)  # raises the error for an unknown flag
    return key.replace("-", "_"), os.path.abspath(file)
