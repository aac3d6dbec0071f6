"""pflow explain: what a flow does, where its values come from and go to, and what it will touch."""

from __future__ import annotations

import os

import click

from pflow.commands._click import FlowCommand, color_option, json_line
from pflow.errors import BAD_DATA, OK, USAGE, PflowError
from pflow.explain.account import explain
from pflow.explain.drawing import draw
from pflow.explain.text import account_text
from pflow.flow.findings import Finding
from pflow.flow.named import load_named
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.process.streams import write_pieces
from pflow.terminal.columns import colour_of, in_ascii, is_utf8, terminal_width
from pflow.terminal.messages import say


@click.command(cls=FlowCommand)
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
    if as_graph and as_json:
        raise PflowError("cannot take both --graph and --json", exit=USAGE)
    loaded = load_named(words)
    wired = wire(loaded.flow)
    findings = check(wired, loaded.findings)
    errors = [finding for finding in findings if not finding.is_warning]
    for error in errors:
        say("pflow", str(error))
    if as_json:
        write_pieces(1, [json_line(explain(wired, findings))])
    else:
        text = draw(wired, terminal_width()) if as_graph else _account(wired, findings, when)
        write_pieces(1, [(text if is_utf8(os.environ) else in_ascii(text)).encode()])
    return BAD_DATA if errors else OK


def _account(wired: WiredFlow, findings: list[Finding], when: str) -> str:
    return account_text(explain(wired, findings), terminal_width(), colour_of(1, when))
