"""pflow setup: Install man pages and completions.

The pages and completions of pflow and of your own nodes, for man, bash, zsh and fish, are written below XDG_DATA_HOME,
or ~/.local/share. Setup ends by printing the lines that a shell still needs to find them. It edits no start-up file,
except ~/.zshrc with --zshrc. Run it again after an update, and after you write a node.

Setup never overwrites a file that it did not write; it then does nothing (73). A file that you changed stays, even with
--undo, which removes the rest. --undo succeeds even if there is nothing to remove.

\b
pflow setup
pflow setup --prefix /tmp/pflow --dry-run
pflow setup --undo
"""

from collections import Counter
from pathlib import Path

import click

from pflow.admin import setup as admin
from pflow.errors import USAGE, PflowError, not_written
from pflow.process.streams import write_pieces
from pflow.terminal.messages import say
from pflow.words.printable import clean

_DONE = {admin.WRITE: "wrote", admin.UPDATE: "updated", admin.REMOVE: "removed"}
_DONE |= {admin.KEEP: "unchanged", admin.CHANGED: "left"}
_WOULD = _DONE | {admin.WRITE: "would write", admin.UPDATE: "would update", admin.REMOVE: "would remove"}


@click.command(help=__doc__)
@click.option("--prefix", metavar="DIR", help="Install below DIR/share; the default is the user's own directory.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Print what would be done, and touch nothing.")
@click.option("--undo", is_flag=True, help="Remove exactly what an earlier setup installed.")
@click.option("--zshrc", "with_zshrc", is_flag=True, help="Also add the line that zsh needs to ~/.zshrc.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line for each file.")
def command(prefix: str | None, is_dry: bool, undo: bool, with_zshrc: bool, verbose: bool) -> None:
    if undo and with_zshrc:
        hint = "--undo alone removes the block from ~/.zshrc too"
        raise PflowError("cannot take both --zshrc and --undo", hint=hint, exit=USAGE)
    share = admin.find_share(prefix)
    setup = admin.read_setup(share)
    if undo and not setup.files:
        say("pflow setup", f"there is nothing to undo in '{share}'")
        return
    wanted, left_out = ({}, []) if undo else admin.find_wanted()
    for line in left_out:
        say("pflow setup", line)
    try:
        lines = _report(setup, wanted, is_dry=is_dry, verbose=verbose or is_dry)
        lines += _act(setup, wanted, admin.zshrc_path() if with_zshrc else None, is_dry=is_dry, undo=undo)
    except OSError as error:
        what = f"cannot write '{error.filename}'" if error.filename else "cannot write"
        hint = "run the same command again to finish, or with --undo to undo it"
        raise not_written(what, error, hint) from None
    lines += [] if undo or is_dry else _advice_lines(share)
    write_pieces(1, ["".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")])


def _report(setup: admin.Setup, wanted: dict[str, bytes], *, is_dry: bool, verbose: bool) -> list[str]:
    """Return lines on what happens to the files; stderr names those that are left."""
    words, changes = _WOULD if is_dry else _DONE, setup.changes(wanted)
    for name in [name for name, change in changes.items() if change == admin.CHANGED]:
        say("pflow setup", f"'{setup.share / name}' is left unchanged: it was edited since setup wrote it")
    lines = [f"{words[change]} {clean(str(setup.share / name))}" for name, change in changes.items() if verbose]
    for program, folder in admin.FOLDERS.items():
        counts = Counter(words[change] for name, change in changes.items() if name.startswith(f"{folder}/"))
        said = ", ".join(f"{word} {count}" for word, count in counts.items())
        lines += [f"{program:5} {said} in {clean(str(setup.share / folder))}"] * bool(said)
    return lines


def _act(setup: admin.Setup, wanted: dict[str, bytes], zshrc: Path | None, *, is_dry: bool, undo: bool) -> list[str]:
    """Install or undo, unless `is_dry`; return lines on what happens to zsh's start-up file."""
    is_new = bool(zshrc and admin.new_block(setup.share, zshrc))
    file, would = clean(setup.zshrc if undo else str(zshrc)), "would " * is_dry
    lines = [f"zsh   {would}add{'ed' * (not is_dry)} a block to {file}"] * is_new
    lines += [f"zsh   {would}remove{'d' * (not is_dry)} the block from {file}"] * bool(undo and setup.block)
    if undo and not is_dry:
        setup.take_away()
    elif not is_dry:
        setup.put(wanted, zshrc)
    return lines


def _advice_lines(share: Path) -> list[str]:
    advice = admin.advise(share)
    done = ", ".join(program for program, (_, text) in advice.items() if not text)
    lines = ["", f"New shells find these by themselves: {done}."] if done else []
    for program, (file, text) in advice.items():
        if text:
            lines += ["", f"For {program}, add to {clean(file)}:", *(f"  {line}" for line in text)]
    return lines
