"""pflow setup: puts man pages and completions where man and the shells look, and takes them away again."""

from __future__ import annotations

from collections import Counter

import click

from pflow.errors import USAGE, PflowError
from pflow.process.streams import write_pieces
from pflow.setup import install
from pflow.setup.install import Installation, Report
from pflow.setup.places import FOLDERS, Places, advise, find_places, find_wanted, zshrc_path
from pflow.terminal.columns import clean
from pflow.terminal.messages import say

_DONE = {
    install.WRITE: "wrote",
    install.UPDATE: "updated",
    install.REMOVE: "removed",
    install.KEEP: "unchanged",
    install.FOUND: "was there already",
    install.CHANGED: "left",
}
_WOULD = _DONE | {install.WRITE: "would write", install.UPDATE: "would update", install.REMOVE: "would remove"}
_ZSHRC = {
    install.WRITE: ("added a block to", "would add a block to"),
    install.REMOVE: ("removed the block from", "would remove the block from"),
}


@click.command
@click.option("--prefix", metavar="DIR", help="Put them below DIR/share; without it, where a user's own are found.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Say what would be done, and touch nothing.")
@click.option("--undo", is_flag=True, help="Take away exactly what an earlier setup put there.")
@click.option("--zshrc", "with_zshrc", is_flag=True, help="Also add the line that zsh needs to ~/.zshrc.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line for each file.")
def command(prefix: str | None, is_dry: bool, undo: bool, with_zshrc: bool, verbose: bool) -> int:
    """Put man pages and completions where man, bash, zsh and fish look: pflow's, and those of your own nodes.

    They go below ~/.local/share, or XDG_DATA_HOME. Setup ends with what a shell still needs to find them; it edits no
    start-up file unless --zshrc asks for it. After an update, or with a new node of yours, run it again.

    Setup never overwrites a file that it did not write: then it does nothing (73). It leaves a file that you changed,
    and so does --undo, which takes the rest away. Where there is nothing to take away, --undo succeeds.

    \b
    pflow setup
    pflow setup --prefix /tmp/pflow --dry-run
    pflow setup --undo
    """
    if undo and with_zshrc:
        hint = "--undo alone takes the block out of ~/.zshrc too"
        raise PflowError("cannot put a block into ~/.zshrc and undo that", hint=hint, exit=USAGE)
    places = find_places(prefix)
    found = install.read_installation(places)
    if undo and found is None:
        say("pflow setup", f"there is nothing to undo in '{places.share}'")
        return 0
    found = found or install.Installation(places)
    report = found.take_away(is_dry=is_dry) if undo else _put(found, is_dry, with_zshrc)
    lines = _report_lines(places, report, is_dry=is_dry, verbose=verbose or is_dry)
    lines += [] if undo or is_dry else _advice_lines(places)
    write_pieces(1, ["".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")])
    return 0


def _put(found: Installation, is_dry: bool, with_zshrc: bool) -> Report:
    wanted, left_out = find_wanted()
    for line in left_out:
        say("pflow setup", line)
    return found.put(wanted, zshrc_path() if with_zshrc else None, is_dry=is_dry)


def _report_lines(places: Places, report: Report, *, is_dry: bool, verbose: bool) -> list[str]:
    """What was done to files and to .zshrc; what was left is said on stderr."""
    words = _WOULD if is_dry else _DONE
    for name in [name for name, change in report.files.items() if change == install.CHANGED]:
        say("pflow setup", f"'{places.share / name}' is left as it is: it was changed since setup wrote it")
    if report.zshrc == install.CHANGED:
        say("pflow setup", f"'{report.zshrc_path}' is left as it is: its block was changed since setup wrote it")
    lines = [f"{words[change]} {clean(str(places.share / name))}" for name, change in report.files.items() if verbose]
    for program, folder in FOLDERS.items():
        counts = Counter(words[change] for name, change in report.files.items() if name.startswith(f"{folder}/"))
        if counts:
            said = ", ".join(f"{word} {count}" for word, count in counts.items())
            lines.append(f"{program:5} {said} in {clean(str(places.folder(program)))}")
    if report.zshrc in _ZSHRC:
        lines.append(f"zsh   {_ZSHRC[report.zshrc][is_dry]} {clean(str(report.zshrc_path))}")
    return lines


def _advice_lines(places: Places) -> list[str]:
    """What the user still has to do."""
    advice = advise(places)
    done = ", ".join(program for program, each in advice.items() if each is None)
    lines = ["", f"New shells find this by themselves: {done}."] if done else []
    for program, each in advice.items():
        if each is not None:
            file, text = each
            lines += ["", f"For {program}, add to {clean(file)}:", *[f"  {line}" for line in text]]
    return lines
