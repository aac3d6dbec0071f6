"""pflow test-node: Test that a node does what every node must do.

PATH is a program pflow-NAME, a NAME.py, or the NAME of one. The node runs some fifty times, as its users run it: a
program as from a shell, a Python class through pflow. Each run has a new directory with sample.txt and
folder/other.txt, and a home of its own. Values for the node's reads are made from their types. FLAG… after -- is added
to each run, to name a model or another command. The exit code is 1 if a check fails.

\b
pflow test-node read-file
pflow test-node shell -v --only=error -- --command='wc -c'
pflow test-node write-file --json | jq -r '.checks[] | select(.result != "ok") | .id, .why'
"""

from collections.abc import Iterable, Sequence
from contextlib import closing

from pflow.commands._command import COLOR, Command, own
from pflow.commands._output import print_json
from pflow.conformance.conduct import Verdict, as_json, choose_checks, conduct, list_lines, summary, verdict_lines
from pflow.conformance.sandbox import limit_files
from pflow.conformance.trial import CHECKS, TestedNode, find_node
from pflow.errors import USAGE, PflowError
from pflow.help.spec import NODE_OR_FILE
from pflow.interface.common import COMMON
from pflow.interface.interface import PATH, PATHS, TEXTS, Flag, argument
from pflow.process.signals import Interrupted, catch_signals, die_of
from pflow.process.streams import write_pieces
from pflow.terminal.columns import colour_of

_CHECKS = "\n".join(["Checks:", *(f"  {line}" for line in list_lines(CHECKS).splitlines())])


@Command(
    __doc__,
    Flag(
        "only",
        "run only this check, or the checks whose names contain this",
        letter="k",
        type=TEXTS,
        metavar="CHECK",
        choices=tuple(check.id for check in CHECKS),
    ),
    Flag("list", "list the checks without running them"),
    Flag("json", "print the report as one JSON document"),
    own(COMMON["verbose"], "show each command that was run"),
    own(COMMON["timeout"], "end a run after so many seconds", default=30.0),
    COLOR,
    argument("PATH", NODE_OR_FILE, type=PATH),
    argument("[-- FLAG…]", name="flags", type=PATHS),
    epilog=_CHECKS,
)
def command(
    path: str | None, flags: list[str], only: list[str], list: bool, json: bool, verbose: bool, timeout: float,
    color: str,
) -> int:  # fmt: skip
    checks = choose_checks(only)
    if list:
        write_pieces(1, [list_lines(checks).encode()])
        return 0
    if path is None:
        raise PflowError("cannot test: no node was named", hint="pflow test-node PATH", exit=USAGE)
    node = find_node(path)
    catch_signals()
    limit_files()
    try:
        with closing(conduct(node, flags, checks, timeout)) as verdicts:
            done = [*verdicts] if json else _print_lines(node, verdicts, verbose=verbose, when=color)
            if json:
                print_json(as_json(node, done))
            return int(any(each.failed for each in done))
    except Interrupted as interrupted:  # its run is ended and its directory removed already
        die_of(interrupted.signal)


def _print_lines(node: TestedNode, verdicts: Iterable[Verdict], *, verbose: bool, when: str) -> Sequence[Verdict]:
    """Print a line for each check when it is done, then the counts; return the verdicts."""
    colour = colour_of(1, when)
    done = []
    for verdict in verdicts:
        done.append(verdict)
        write_pieces(1, [verdict_lines(verdict, colour, verbose=verbose).encode()])
    write_pieces(1, [summary(node, done).encode()])
    return done
