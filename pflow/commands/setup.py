"""pflow setup: puts man pages and completions where man and the shells look, and takes them away again."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.places import Places
    from pflow.setup.work import Report


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--prefix", metavar="DIR", help="Put them below DIR/share; without it, where a user's own are found.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Say what would be done, and touch nothing.")
@click.option("--undo", is_flag=True, help="Take away exactly what an earlier setup put there.")
@click.option("--zshrc", "with_zshrc", is_flag=True, help="Also add the line that zsh needs to ~/.zshrc.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line for each file.")
def command(prefix: str | None, is_dry: bool, undo: bool, with_zshrc: bool, verbose: bool) -> int:
    """Put man pages and completions where man, bash, zsh and fish look: pflow's, and those of your own nodes.

    They go below ~/.local/share, or XDG_DATA_HOME. What a shell still needs to find them is said at the end; no
    start-up file is edited, unless --zshrc asks for it. After an update, or with a new node of yours, run it again.

    A file that setup did not write is never overwritten: then nothing is done (73). One that was changed since is left,
    and so it is by --undo, which takes the rest away. Where there is nothing to take away, that is no error.

    \b
    pflow setup
    pflow setup --prefix /tmp/pflow --dry-run
    pflow setup --undo
    """
    from pflow.errors import USAGE, PflowError
    from pflow.setup.places import find_places

    if undo and with_zshrc:
        hint = "--undo alone takes the block out of ~/.zshrc too"
        raise PflowError("cannot put a block into ~/.zshrc and undo that", hint=hint, exit=USAGE)
    places = find_places(prefix)
    if undo:
        return _undo(places, is_dry=is_dry, verbose=verbose)
    return _setup(places, is_dry=is_dry, with_zshrc=with_zshrc, verbose=verbose)


def _setup(places: Places, *, is_dry: bool, with_zshrc: bool, verbose: bool) -> int:
    from pflow.setup.advice import advise
    from pflow.setup.lists import refresh
    from pflow.setup.startup import zshrc_path
    from pflow.setup.text import advice_lines
    from pflow.setup.wanted import find_wanted
    from pflow.setup.work import put
    from pflow.terminal.messages import say

    wanted = find_wanted()
    for line in wanted.left_out:
        say("pflow setup", line)
    zshrc = zshrc_path() if with_zshrc else None
    report = put(places, wanted.files, zshrc, is_dry=is_dry)
    lines = _report(places, report, is_dry=is_dry, verbose=verbose)
    _print(lines if is_dry else [*lines, *advice_lines(advise(places))])
    if not is_dry:
        refresh()
    return 0


def _undo(places: Places, *, is_dry: bool, verbose: bool) -> int:
    from pflow.setup.work import take_away
    from pflow.terminal.messages import say

    report = take_away(places, is_dry=is_dry)
    if report is None:
        say("pflow setup", f"there is nothing to undo in '{places.share}'")
        return 0
    _print(_report(places, report, is_dry=is_dry, verbose=verbose))
    return 0


def _report(places: Places, report: Report, *, is_dry: bool, verbose: bool) -> list[str]:
    """What was done, as lines; what was left is said on stderr."""
    from pflow.setup import changes, startup, text
    from pflow.terminal.messages import say

    for name, kind in report.files.items():
        if kind == changes.CHANGED:
            say("pflow setup", f"'{places.path(name)}' is left as it is: it was changed since setup wrote it")
    if report.zshrc == startup.CHANGED:
        say("pflow setup", f"'{report.zshrc_path}' is left as it is: its block was changed since setup wrote it")
    lines = text.file_lines(places, report, is_dry=is_dry) if verbose or is_dry else []
    return [*lines, *text.summary(places, report, is_dry=is_dry), *text.zshrc_line(report, is_dry=is_dry)]


def _print(lines: list[str]) -> None:
    from pflow.process.stdout import write_pieces

    write_pieces(1, ["".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")])
