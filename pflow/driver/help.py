"""How `pflow run` is used: its flags, and with a flow those of the flow."""

from __future__ import annotations

import os
from copy import copy

from pflow import TYPE_CHECKING
from pflow.catalog.kinds import no_such_kind
from pflow.catalog.registry import flow_name, saved_flow
from pflow.driver.arguments import TAKEN, own_items
from pflow.flow.flags import FlowFlags
from pflow.flow.subflow import find_file
from pflow.flow.wiring import wire
from pflow.help import usage as kinds
from pflow.help.text import help_text
from pflow.help.usage import CommandUsage, Flag, argument, common_flag, flag_of, flag_of_common, noted
from pflow.interface.common import COMMON, CommonFlag
from pflow.interface.interface import Item, spell_flag
from pflow.words.printable import clean

if TYPE_CHECKING:
    from collections.abc import Container

    from pflow.flow.flow import FlowInput, FlowSpec
    from pflow.flow.wired import WiredFlow

DESCRIPTION = """\
Flags of the flow are those of its inputs, and of the params of its steps; --ID.FLAG where several steps have one.
Those behind the name of a node are the step's, as in pipe syntax: a template in them takes a value from the store.
A step takes the bare words and letters that its program takes, a flow takes flags alone; --KEY@FILE takes a value from
a file, in a step when its text is read.
It is checked before anything runs (pflow check), asks on a terminal for what is missing, and keeps a log of the run
(pflow runs, pflow trace). Until it has gone well it keeps a journal beside the log, with which pflow resume goes on:
the store it began with, and what each step changed; of a secret only a digest. It is written before the next step
begins and outlasts kill -9 and a full disk, though not a power cut. For a line of cron, --resume goes on with the
newest unfinished run of this flow with these inputs and params in this directory, or begins one. On a terminal a batch
says how far it is and what it cost; in a log it does so once a minute, after its first. A budget (--max-calls,
--max-tokens-total, --max-cost) holds for a run with its batches, subflows and resumes; each try counts, a failed one
too. Once it is reached, no call of a model begins, what runs ends, and the code is 79. No more than --max-calls are
made; tokens and dollars may go over it by what was being asked just then. What commands spend is not seen. Where a file
here is called as a saved flow or a node is, ./NAME is the file.

Pure steps (@flow_safe) are cached: what one gave for the same values, with the same code, is handed on. --cache has
every other step cached that can be, --no-cache none; a flow says it of a step by itself. What a step reads and cannot
name is not cached: list-files, a conversation, a node that writes files. A file counts by what is in it, a model by
what would be asked. Failures are never kept, nor is an answer that was cut. --refresh runs and replaces,
--cache=require fails with 66 instead of running, and PFLOW_CACHE=off beats them all. pflow why says what changed.

For --if-running a flow is its file or script, whatever its flags; without one it is its text in this directory. What a
killed run had started counts as that run while it goes on. With wait, --timeout limits the waiting, then the run."""

EXAMPLES = (
    "pflow run 'read-file --path=examples/notes.txt => write-file --path=copy.txt'",
    "cat examples/notes.txt | pflow run 'llm --prompt=Summarize' -r",
    "pflow run shell --command='uname -s' :: write-file --path=name.txt",
)


def usage_of_run(wired: WiredFlow | None = None) -> CommandUsage:
    """How a flow is run: this one, or any."""
    usage = CommandUsage(
        "pflow run",
        "Run a flow as a stage of a pipe: a .pflow.json file, a saved flow, or pipe syntax.",
        ("pflow run FLOW [FLAG]…", "pflow run STEP [FLAG]… :: STEP [FLAG]… …"),
    )
    usage.description = DESCRIPTION
    usage.flags = [*(_flow_flags(wired) if wired else []), *flags_of_runs()]
    usage.arguments = [argument("FLOW", kinds.FLOW)]
    usage.examples = EXAMPLES
    return usage


def flags_of_runs(without: Container[str] = ()) -> list[Flag]:
    """The flags of `pflow run` itself, but for those of some names."""
    common = [common_flag(name) for name in COMMON if name in (*TAKEN, "help") and name not in without]
    for flag in common:
        flag.text = flag.text.replace("the node", "the run")
    own = [item for name, item in own_items().items() if name not in without]
    return common + [
        flag_of_common(item) if isinstance(item, CommonFlag) else flag_of(item, kinds.COMMON) for item in own
    ]


def help_of(flow: FlowSpec | None, words: list[str] | None = None, synopsis: str = "", *, is_whole: bool = True) -> str:
    """The help, for a flow if there is one. `words` name it: one that is saved is run by its name alone."""
    if flow is None:
        return help_text(usage_of_run(), is_whole=is_whole)
    wired = wire(flow)
    for step in wired.steps.values():
        if step.kind is None and not step.fault:
            raise no_such_kind(step.step.type)
    usage = usage_of_run(wired)
    usage.summary = clean(flow.description) or usage.summary
    file = find_file(words[0]) if words and len(words) == 1 else None
    name = flow_name(os.path.basename(file)) if file else ""
    if name and saved_flow(name) == file:
        synopsis = f"pflow {name} [FLAG]…"
    if synopsis:
        usage.synopsis, usage.examples = (synopsis,), ()
    return "\n".join(map(clean, help_text(usage, is_whole=is_whole).split("\n")))


def _flow_flags(wired: WiredFlow) -> list[Flag]:
    """Those of its inputs, then what a step takes otherwise, by each name that means it alone."""
    flags = [_input_flag(wired, each) for each in wired.inputs.values()]
    for item, names in FlowFlags(wired).of_steps():
        if "secret" not in item.marks:
            item = copy(item)
            item.default = None if item.required else item.default  # the step has a value
            flag = flag_of(item, kinds.PARAMS)
            flag.names = tuple(map(spell_flag, names))
            flags.append(flag)
    return flags


def _input_flag(wired: WiredFlow, wanted: FlowInput) -> Flag:
    if wanted.secret:
        return Flag((wanted.name,), noted(clean(wanted.doc), ["a secret, from the store"]), kinds.INPUTS)
    item = Item("read", wanted.flag[2:], wanted.type)
    item.doc = clean(wanted.doc)
    if not wanted.required or wanted.has_default:
        reads = [wired.steps[step].interface.reads.get(key) for step, key in wanted.readers]
        default = next((read.default for read in reads if read and not read.required), None)
        item.default = wanted.default if wanted.has_default else default
    return flag_of(item, kinds.INPUTS)
