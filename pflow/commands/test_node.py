"""pflow test-node: hold a node, in whatever language, to what every node has to do."""

from __future__ import annotations

import click

from pflow.commands._color import color_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pflow.conformance.check import Check
    from pflow.conformance.conduct import Verdict
    from pflow.conformance.target import Target

_TIMEOUT = 30.0
_SHORTEST, _LONGEST = 0.001, 86400.0


class _Command(click.Command):
    """A command whose help tells the checks."""

    @staticmethod
    def notes() -> list[str]:
        from pflow.conformance.checks import CHECKS

        return ["\n".join(["Checks:", *(f"  {check.id:16}{check.demand}" for check in CHECKS)])]


def _seconds(text: str) -> float:
    """How long a run is given. Raises UsageError for what is no such time."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _SHORTEST <= seconds <= _LONGEST:
        raise click.UsageError(f"Invalid value for '--timeout': '{text}' is no number of seconds from 1 ms to a day")
    return seconds


@click.command(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--only", "-k", "only", multiple=True, metavar="CHECK", help="Do this check alone, or those whose names hold this."
)
@click.option("--list", "as_list", is_flag=True, help="Print the checks, and do none.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("--verbose", "-v", is_flag=True, help="Show each command that was run.")
@click.option(
    "--timeout",
    type=_seconds,
    default=_TIMEOUT,
    metavar="SECONDS",
    help="End a run after so long; after 30 without it.",
)
@color_option
@click.argument("path", required=False, metavar="PATH")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAG…]")
def command(
    path: str | None,
    words: tuple[str, ...],
    only: tuple[str, ...],
    as_list: bool,
    as_json: bool,
    verbose: bool,
    timeout: float,
    when: str,
) -> int:
    """Test a node: a program pflow-NAME, a NAME.py, or the NAME of one.

    It is run some fifty times, as its users run it: a program by itself, as from a shell; a class in Python by pflow.
    Each run is in a new directory with sample.txt and folder/other.txt, and has a home of its own. What its reads need
    is made from their types; FLAG… after -- gives it what it takes more, as a model or another command. The exit code
    is 1 where a check fails.

    \b
    pflow test-node read-file
    pflow test-node shell -v --only=error -- --command='wc -c'
    pflow test-node write-file --json | jq -r '.checks[] | select(.result != "ok") | .id, .why'
    """
    from contextlib import closing

    from pflow.conformance.conduct import choose_checks, conduct
    from pflow.conformance.process import limit_files
    from pflow.conformance.target import find_target
    from pflow.errors import USAGE, PflowError
    from pflow.process.signals import Interrupted, catch_signals, die_of

    checks = choose_checks(only)
    if as_list:
        return _print_list(checks)
    if path is None:
        raise PflowError("cannot test: which node?", hint="pflow test-node PATH", exit=USAGE)
    target = find_target(path)
    catch_signals()
    limit_files()
    try:
        with closing(conduct(target, list(words), checks, timeout)) as verdicts:
            if as_json:
                return _print_json(target, list(verdicts))
            return _print_lines(target, verdicts, verbose=verbose, when=when)
    except Interrupted as interrupted:  # what ran was ended, and its directory removed
        die_of(interrupted.signal)


def _print_list(checks: Sequence[Check]) -> int:
    from pflow.conformance.report import list_lines
    from pflow.process.stdout import write_pieces

    write_pieces(1, [list_lines(checks).encode()])
    return 0


def _print_json(target: Target, verdicts: Sequence[Verdict]) -> int:
    from pflow.conformance.report import as_json
    from pflow.jsontext import encode
    from pflow.process.stdout import write_pieces

    report = as_json(target, verdicts)
    write_pieces(1, [encode(report), b"\n"])
    return 0 if report["ok"] else 1


def _print_lines(target: Target, verdicts: Iterator[Verdict], *, verbose: bool, when: str) -> int:
    """A line a check as it is done, then the numbers."""
    from pflow.conformance.report import summary, verdict_lines
    from pflow.process.stdout import write_pieces
    from pflow.terminal.colour import colour_of

    colour = colour_of(1, when)
    done = []
    for verdict in verdicts:
        done.append(verdict)
        write_pieces(1, [verdict_lines(verdict, target, colour, verbose=verbose).encode()])
    write_pieces(1, [summary(target, done).encode()])
    return int(any(each.failed for each in done))
