"""pflow show: one saved flow, as pipe syntax, with what it needs, gives and touches."""

from __future__ import annotations

import click

from pflow.commands._color import color_option
from pflow.errors import BAD_DATA, MISSING, OK, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.findings import Finding
    from pflow.flow.wired import WiredFlow

_REFUSED = "cannot write the flow in pipe syntax: "


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print its file, exactly as it is.")
@click.option("--old", "is_old", is_flag=True, help="Show what it was before it was last replaced or removed.")
@color_option
@click.argument("flow")
def command(flow: str, as_json: bool, is_old: bool, when: str) -> int:
    """Show a saved flow: as pipe syntax, its description, its inputs and outputs, what it touches, its file.

    FLOW is its name. With --old it may be that of a flow that was removed. pflow explain tells of its steps too.

    The exit code is 0; 65 where the flow is broken: what is wrong with it is said on stderr; 66 where --old finds
    nothing; 127 where no flow has the name.

    \b
    pflow save count 'read-file --path=examples/notes.txt => shell --command="wc -w"' --description='Count words'
    pflow show count
    pflow show count --json
    pflow remove count
    pflow show count --old --json | pflow save count
    """
    file = _file(flow.removeprefix("flow:"), is_old=is_old)
    return _print_file(file) if as_json else _print_text(file, flow.removeprefix("flow:"), when)


def _file(name: str, *, is_old: bool) -> str:
    """The flow's file. Raises PflowError (127, 66) where there is none."""
    from pflow.library.old import olds_of

    olds = olds_of(name)
    if is_old and olds:
        return olds[-1]
    from pflow.flow.subflow import saved_flow
    from pflow.flow.take import no_saved_flow

    file = saved_flow(name)
    if file is None:
        error = no_saved_flow(name)
        hint = f"pflow show {name} --old shows what it was" if olds else error.hint
        raise PflowError(error.message, hint=hint, exit=error.exit)
    if is_old:
        raise PflowError(f"cannot find an older '{name}': it was never replaced", exit=MISSING)
    return file


def _print_file(file: str) -> int:
    from pflow.errors import exit_code
    from pflow.process.stdout import write_pieces

    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot read the flow '{file}': {why}", exit=exit_code(error)) from None
    write_pieces(1, [data])
    return OK


def _print_text(file: str, name: str, when: str) -> int:
    """What can be told of it; what is wrong with it goes to stderr."""
    import os

    from pflow.flow.load import load_text, read_text
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire
    from pflow.library.names import library_folder
    from pflow.process.stdout import write_pieces
    from pflow.terminal.columns import in_ascii, is_utf8
    from pflow.terminal.messages import say

    loaded = load_text(read_text(file, f"the flow '{file}'"), file, library_folder())  # an older one was there too
    loaded.flow.name = loaded.flow.name or name
    plan = wire(loaded.flow)
    findings = check(plan, loaded.findings)
    errors = [finding for finding in findings if not finding.is_warning]
    for error in errors:
        say("pflow show", str(error))
    text = _text(plan, findings, file, when)
    write_pieces(1, [(text if is_utf8(os.environ) else in_ascii(text)).encode("utf-8", "replace")])
    return BAD_DATA if errors else OK


def _text(plan: WiredFlow, findings: list[Finding], file: str, when: str) -> str:
    from pflow.explain.account import explain
    from pflow.explain.text import brief_text
    from pflow.flow.subflow import flow_name
    from pflow.library.command import commands_of
    from pflow.terminal.colour import colour_of
    from pflow.terminal.columns import clean, terminal_width

    name = flow_name(file.rpartition("/")[2])
    about = [f"From     {clean(file)}", *(f"Command  {clean(each)}" for each in commands_of(name, file))]
    account = explain(plan, findings)
    if account["pipe"] is None and plan.flow.inputs:
        account["pipe"], account["pipe_fault"] = _with_defaults(plan)
    return brief_text(account, about, terminal_width(), colour_of(1, when))


def _with_defaults(plan: WiredFlow) -> tuple[str | None, str]:
    """The pipe syntax of a flow that declares inputs, with their defaults in it, or the reason why there is none."""
    from pflow.explain.pipe_form import pipe_of

    try:
        return pipe_of(plan, is_masked=True).rstrip("\n"), ""
    except PflowError as error:
        return None, error.message.removeprefix(_REFUSED)
