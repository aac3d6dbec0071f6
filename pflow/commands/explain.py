"""pflow explain: what a flow does, where its values come from and go to, and what it will touch."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.commands._color import color_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.wired import WiredFlow


@click.command(cls=FlowCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--graph", "as_graph", is_flag=True, help="Draw the flow's steps and edges instead.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
@color_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="FLOW…")
def command(words: tuple[str, ...], as_graph: bool, as_json: bool, when: str) -> int:
    """Explain a flow without running it: its steps, where each value comes from and goes to, what it will touch.

    FLOW is a file, a saved flow, pipe syntax, or - for stdin. What is wrong with the flow is said on stderr, and the
    exit code is then 65.

    \b
    pflow explain examples/report.pflow.json
    pflow explain --graph 'read-file --path=a.txt => llm --prompt=Summarize'
    """
    from pflow.errors import BAD_DATA, OK, USAGE, PflowError
    from pflow.flow.rules import check
    from pflow.flow.take import take_flow
    from pflow.flow.wiring import wire
    from pflow.process.stdout import write_pieces
    from pflow.terminal.messages import say

    if as_graph and as_json:
        raise PflowError("cannot take both --graph and --json", exit=USAGE)
    loaded = take_flow(words)
    plan = wire(loaded.flow)
    findings = check(plan, loaded.findings)
    errors = [finding for finding in findings if not finding.is_warning]
    for error in errors:
        say("pflow", str(error))
    write_pieces(1, [_output(plan, findings, when, as_graph=as_graph, as_json=as_json).encode()])
    return BAD_DATA if errors else OK


def _output(plan: WiredFlow, findings: list[Finding], when: str, *, as_graph: bool, as_json: bool) -> str:
    import os

    from pflow.terminal.columns import in_ascii, is_utf8

    text = _drawn(plan) if as_graph else _told(plan, findings, when, as_json=as_json)
    return text if as_json or is_utf8(os.environ) else in_ascii(text)


def _drawn(plan: WiredFlow) -> str:
    from pflow.explain.drawing import draw
    from pflow.terminal.columns import terminal_width

    return draw(plan, terminal_width())


def _told(plan: WiredFlow, findings: list[Finding], when: str, *, as_json: bool) -> str:
    from pflow.explain.account import explain
    from pflow.explain.text import account_text
    from pflow.terminal.colour import colour_of
    from pflow.terminal.columns import terminal_width

    account: dict[str, Any] = explain(plan, findings)
    if as_json:
        from pflow.commands._json import json_line

        return str(json_line(account), "utf-8")
    return account_text(account, terminal_width(), colour_of(1, when))
