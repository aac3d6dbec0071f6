"""How `pflow run` is used: its flags, and with a flow those of the flow."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import COMMON
from pflow.help import usage as kinds
from pflow.help.usage import Flag, Usage, argument, common_flag, default_note, flag_of, help_text, metavar, noted
from pflow.run.arguments import TAKEN, own_items
from pflow.terminal.columns import clean

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.wired import FlowInput, WiredFlow

DESCRIPTION = """\
Flags of the flow are those of its inputs, and of the params of its steps; --ID.FLAG where several steps have one.
It is checked before anything runs (pflow check), asks on a terminal for what is missing, and keeps a log of the run
(pflow runs, pflow trace). Where a file here is called as a saved flow or a node is, ./NAME is the file."""

EXAMPLES = (
    "pflow run 'read-file --path=examples/notes.txt => write-file --path=copy.txt'",
    "cat examples/notes.txt | pflow run 'llm --prompt=Summarize' -r",
    "pflow run shell --command='uname -s' :: write-file --path=name.txt",
)


def usage_of_run(wired: WiredFlow | None = None) -> Usage:
    """How a flow is run: this one, or any."""
    usage = Usage(
        "pflow run",
        "Run a flow as a stage of a pipe: a .pflow.json file, a saved flow, or pipe syntax.",
        ("pflow run FLOW [FLAG]…", "pflow run STEP [FLAG]… :: STEP [FLAG]… …"),
    )
    usage.description = DESCRIPTION
    usage.flags = _flow_flags(wired) if wired else []
    usage.flags += [_of_run(common_flag(name)) for name in COMMON if name in TAKEN or name == "help"]
    usage.flags += [flag_of(item, kinds.COMMON) for item in own_items().values()]
    usage.arguments = [argument("FLOW", kinds.FLOW)]
    usage.examples = EXAMPLES
    return usage


def _of_run(flag: Flag) -> Flag:
    flag.text = flag.text.replace("the node", "the run")
    return flag


def run_help(flow: Flow | None, words: list[str]) -> str:
    """The help, for the flow that the words name, if they name one."""
    if flow is None:
        return help_text(usage_of_run())
    from pflow.catalog.kinds import no_such_kind
    from pflow.flow.wiring import wire

    wired = wire(flow)
    for step in wired.steps.values():
        if step.kind is None and not step.fault:
            raise no_such_kind(step.step.type)
    name = _saved_name(words)
    return help_of(wired, f"pflow {name} [FLAG]…" if name else "")


def help_of(wired: WiredFlow, synopsis: str = "") -> str:
    """The help for a flow that is there already."""
    usage = usage_of_run(wired)
    usage.summary = clean(wired.flow.description) or usage.summary
    if synopsis:
        usage.synopsis, usage.examples = (synopsis,), ()
    return "\n".join(map(clean, help_text(usage).split("\n")))


def _saved_name(words: list[str]) -> str:
    """What the saved flow is called that the words are, by its name or its file; empty for any other flow."""
    import os

    from pflow.catalog.flows import flow_name, saved_flow
    from pflow.flow.named import find_file

    file = find_file(words[0]) if len(words) == 1 else None
    name = flow_name(os.path.basename(file)) if file else ""
    return name if name and saved_flow(name) == file else ""


def _flow_flags(wired: WiredFlow) -> list[Flag]:
    params = [
        Flag(
            (f"--{step.id}.{name}".replace("_", "-"),),
            noted(item.doc, default_note(item.default)),
            kinds.PARAMS,
            metavar=metavar(item.type),
        )
        for step in wired.steps.values()
        for name, item in step.interface.params.items()
        if "secret" not in item.marks
    ]
    return [_input_flag(wired, each) for each in wired.inputs.values()] + params


def _input_flag(wired: WiredFlow, wanted: FlowInput) -> Flag:
    if wanted.secret:
        return Flag((wanted.name,), noted(clean(wanted.doc), ["a secret, from the store"]), kinds.INPUTS)
    is_required = wanted.required and not wanted.has_default
    notes = ["required"] if is_required else default_note(_default_of(wired, wanted))
    values = {"bool": kinds.SWITCH, "path": kinds.FILE}.get(wanted.type.name, kinds.TEXT)
    text, choices = noted(clean(wanted.doc), notes), wanted.type.choices
    return Flag((wanted.flag,), text, kinds.INPUTS, values, choices, metavar=metavar(wanted.type))


def _default_of(wired: WiredFlow, wanted: FlowInput) -> Any:
    """What an input is without its flag: its own default, else that of the read that takes it."""
    if wanted.has_default:
        return wanted.default
    items = [wired.steps[step].interface.reads.get(key) for step, key in wanted.readers]
    return next((item.default for item in items if item is not None), None)
