"""pflow run: Run a flow as a stage of a pipe: a file (JSON, pipe syntax or Python), a saved flow, or pipe syntax.

A flow has a flag for each of its inputs and for each param of its steps, --ID.FLAG if several steps have one. Flags
after the name of a node are the step's, as in pipe syntax: a template in them takes a value from the store. A step
takes the bare words and letters that its program takes; a flow takes only flags. --KEY@FILE takes a value from a file.

The flow is checked before anything runs (pflow check). Missing inputs are asked for on a terminal. Each run has a log
(pflow runs, pflow trace) and, until it succeeds, a journal, from which pflow resume goes on: the store that it began
with and the changes of each step, with a digest in place of a secret. The journal is written before the next step
begins and survives kill -9 and a full disk, but not a power cut. For cron, --resume resumes the newest unfinished run
of this flow with these inputs and params in this directory, or begins one. A batch shows its progress and its cost: on
a terminal at once, in a log after a minute and then each minute.

A budget (--max-calls, --max-tokens-total, --max-cost) holds for a run with its batches, subflows and resumes; each try
counts, failed ones too. Before a call begins, pflow reserves the most that it may take: its question by its bytes, and
an answer of --max-tokens, else of the model's own limit, else of 4,096 tokens. If that is more than is left, the call
waits for those that run; then no call of a model begins, running steps end, and the code is 79. The spending of
commands is not counted. If a file here has the name of a saved flow or a node, ./NAME is the file.
FILE.py[:NAME] runs a Flow of pocketflow or pflow as it is: a variable, or what a function returns. The file is
imported. A Flow with methods of its own, as a BatchFlow, is one step. With -n a node may read stdin itself.

Pure steps (@flow_safe) are cached: for the same values and the same code, the earlier result is used. --cache caches
every other step that can be, --no-cache none; a flow can set it for each step. A step is not cached if it reads what it
cannot name, or writes files: list-files, a conversation. A file counts by its content, a model by its name. Failures
and answers that were cut off are never cached. --refresh runs the steps and replaces what is cached, --cache=require
fails with 66 instead of running, and PFLOW_CACHE=off overrides them all; --cache=require then fails with 78. pflow why
says what changed.

For --if-running, a flow is its file, whatever its flags; without a file it is its text in this directory. The
programs of a killed run count as that run while they run. With wait, --timeout limits the waiting, then the run.

\b
pflow run 'read-file --path=examples/notes.txt => write-file --path=copy.txt'
cat examples/notes.txt | pflow run 'llm --prompt=Summarize' -r
pflow run shell --command='uname -s' :: write-file --path=name.txt
"""

from __future__ import annotations

import os

from pflow import Container
from pflow.catalog.kinds import no_such_kind
from pflow.catalog.registry import flow_name, saved_flow
from pflow.driver.arguments import OWN, PROGRAM
from pflow.flow.flags import FlowFlags
from pflow.flow.flow import FlowInput, FlowSpec
from pflow.flow.subflow import find_file
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.help import spec as kinds
from pflow.help.spec import CommandSpec, help_text, spec_of_command
from pflow.interface.interface import INPUT, PARAM, UNDECLARED, Item, argument
from pflow.text.printable import clean


def spec_of_run(wired: WiredFlow | None = None) -> CommandSpec:
    """Return the spec of this flow, or of any."""
    spec = spec_of_command(PROGRAM, __doc__, "pflow run FLOW [FLAG]…", "pflow run STEP [FLAG]… :: STEP [FLAG]… …")
    spec.flags = [*(_flow_flags(wired) if wired else []), *flags_of_runs()]
    spec.arguments = [argument("FLOW", kinds.FLOW)]
    return spec


def flags_of_runs(without: Container[str] = ()) -> list[Item]:
    """Return the flags of `pflow run` itself, without some."""
    flags = [flag for name, flag in OWN.items() if not flag.refused and name not in without]
    return [flag.but(doc=flag.doc.replace("the node", "the run")) for flag in flags]


def help_of(flow: FlowSpec | None, words: list[str] | None = None, synopsis: str = "", *, is_whole: bool = True) -> str:
    """Return the help, for a flow if there is one. `words` name it: a saved flow is run by its name alone."""
    if flow is None:
        return help_text(spec_of_run(), is_whole=is_whole)
    wired = wire(flow)
    for step in wired.steps.values():
        if step.kind is None and not step.fault:
            raise no_such_kind(step.step.type)
    spec = spec_of_run(wired)
    spec.summary = clean(flow.description) or spec.summary
    file = find_file(words[0]) if words and len(words) == 1 else None
    name = flow_name(os.path.basename(file)) if file else ""
    if name and saved_flow(name) == file:
        synopsis = f"pflow {name} [FLAG]…"
    if synopsis:
        spec.synopsis, spec.examples = (synopsis,), ()
    return "\n".join(map(clean, help_text(spec, is_whole=is_whole).split("\n")))


def _flow_flags(wired: WiredFlow) -> list[Item]:
    """Return the flags of its inputs, then of its steps, by each name that means one alone."""
    flags = [_input_flag(wired, each) for each in [*wired.inputs.values(), *wired.places.values()]]
    for item, (name, *others) in FlowFlags(wired).of_steps():
        if not item.is_secret:
            default = None if item.required else item.default  # the step has a value
            marks = item.marks - {"word", "pipe"}
            flags.append(item.but(kind=PARAM, name=name, flags=others, letter="", marks=marks, default=default))
    return flags


def _input_flag(wired: WiredFlow, wanted: FlowInput) -> Item:
    item = wanted.as_item(INPUT)
    item.type, item.doc = wired.told_type(wanted), clean(item.doc)
    if item.is_secret or wanted.is_unflagged:
        origin = "a secret, from the store" if item.is_secret else f"from the store, since {wanted.flag} is the run's"
        item.marks.add("secret")
        item.doc, item.default = f"{item.doc} [{origin}]".lstrip(), None
        return item
    item.name = wanted.flag[2:]
    item.marks |= {"pipe"} if wired.is_given_by_pipe(wanted) else set()
    if (default := wired.default_of(wanted)) is not UNDECLARED:
        item.default = default
    elif wanted not in wired.asked():
        item.default = None
    return item
