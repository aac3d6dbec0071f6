"""pflow resume: go on with a run that failed or was killed."""

from __future__ import annotations

import os

import click

from pflow.driver.arguments import RunFlags
from pflow.driver.driver import Driver, refuse_errors
from pflow.driver.inputs import RunInputs
from pflow.driver.resume.choices import Choices
from pflow.driver.resume.reopen import Reopened
from pflow.errors import USAGE, PflowError
from pflow.flow.rules import check
from pflow.record.runs import Run, find_run
from pflow.stage.document import Intake
from pflow.values.masks import Secrets

Texts = dict[str, list[str | bool]]


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("run")
@click.argument("rest", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.option("-r", "--raw", is_flag=True, help="Print only what the pipe carries.")
@click.option("-j", "--json", "as_json", is_flag=True, help="Print the store document, even to a terminal.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@click.option("--redo", multiple=True, metavar="STEP", help="Run this interrupted step again.")
@click.option("--skip", multiple=True, metavar="STEP", help="Take this interrupted step as done, without writes.")
@click.option("--from", "start", metavar="STEP", help="Run this step, and all after it, again.")
@click.option("--only", metavar="STEP", help="Run this step again; what later ones gave stays.")
@click.option("--accept-changes", is_flag=True, help="Go on, though code, versions or secrets are others by now.")
@click.option("--max-cost", metavar="USD", help="Another limit for what the run spends, all its parts together.")
@click.option("--max-tokens-total", metavar="N", help="The same for tokens.")
@click.option("--max-calls", metavar="N", help="The same for calls of models.")
def command(
    run: str, rest: tuple[str, ...], raw: bool, as_json: bool, quiet: bool, redo: tuple[str, ...],
    skip: tuple[str, ...], start: str | None, only: str | None, accept_changes: bool, max_cost: str | None,
    max_tokens_total: str | None, max_calls: str | None,
) -> int:  # fmt: skip
    """Go on with a run that failed or was killed, after the last thing that is known to be done.

    RUN is a run's id or how it begins, or `last`. Steps, and items of batches, that have ended do not run again: the
    store is made of what the run's journal says that they changed. What failed runs again. What began and has no end,
    was ended by a signal, a time limit or another's failure, was interrupted: it runs again where its node says that it
    repeats (pflow-node(7)), or the step does. Else a person is asked, and a script says --redo=STEP or --skip=STEP,
    which is for each of its visits and items. Without that the exit code is 65; it is 66 where a later step needs what
    a skipped one would have written.

    It goes on in the directory that the run began in, with the inputs and the variables that it began with, and reads
    no stdin; it has its own -r, -j and -q, and prints what the run would have. Secrets are kept nowhere: they come from
    the environment once more, a person is asked, or --KEY@FILE has the text of one. What has changed since, in the code
    or the version of a node, is named, and the exit code is 78; --accept-changes goes on.

    A run that still goes on, or something that it started, is left alone (75). One that is done has nothing to resume
    (1): with --keep-store it takes --from and --only all the same. A run of a script in Python goes on by
    `python SCRIPT --resume`; flags that decide something are noted for that. pflow run --resume FLOW goes on with the
    newest run of a flow, or begins one. What is done outlasts kill -9, but not a power cut.

    \b
    pflow run 'list-files "examples/*.txt" => shell "test -e ready"' -n -q --keep-store || touch ready
    pflow resume last -q
    pflow resume last -q --from=list-files
    pflow run --resume 'shell "test -e ready"' -n -q
    """
    choices = Choices(
        redo=redo, skip=skip, start=start, only=only, accepts_changes=accept_changes, files=dict(map(_file, rest))
    )
    texts: Texts = {name: [True] for name, is_set in (("raw", raw), ("json", as_json), ("quiet", quiet)) if is_set}
    budget = {"max_cost": max_cost, "max_tokens_total": max_tokens_total, "max_calls": max_calls}
    texts |= {name: [text] for name, text in budget.items() if text is not None}
    driver = Driver("pflow resume")
    words = [f"--{name}" for name in texts]
    return driver.run_prepared(words, lambda: _prepare(find_run(run), RunFlags(texts), choices, driver.secrets))


def _prepare(
    run: Run, flags: RunFlags, choices: Choices, secrets: Secrets
) -> tuple[RunFlags, RunInputs, Intake]:  # fmt: skip
    """What the run goes on with. Raises PflowError, as Reopened does; 65 where its flow breaks a rule by now."""
    reopened = Reopened(run, choices, secrets)
    if reopened.script:
        raise reopened.hand_to_script()
    wired = reopened.load()
    refuse_errors(check(wired), "resume")
    vars(flags).update(reopened.begin["flags"])
    return flags, *reopened.restore(wired)


def _file(word: str) -> tuple[str, str]:
    """The secret and the file of `--KEY@FILE`. Raises PflowError (2) for any other word."""
    key, sign, file = word.removeprefix("--").partition("@")
    if word.startswith("--") and sign and "=" not in key:
        return key.replace("-", "_"), os.path.abspath(file)
    hint = "a secret's text comes from a file: --KEY@FILE" if word.startswith("--") else "pflow resume RUN"
    raise PflowError(f"cannot take '{word.partition('=')[0]}'", hint=hint, exit=USAGE)
