"""pflow setup: Install man pages and completions.

The pages and completions of pflow and of your own nodes, for man, bash, zsh and fish, are written below XDG_DATA_HOME,
or ~/.local/share. Setup then starts each shell to see whether it finds them. If one does not, its start-up file
(~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish) gets a line at its end, and setup says so; --no-edit and --prefix
only print that line. Run it again after an update, and after you write a node.

Setup never overwrites a file that it did not write; it then does nothing (73). A file that you changed stays, even with
--undo, which removes the rest, the lines in start-up files too. --undo succeeds even if there is nothing to remove.

\b
pflow setup
pflow setup --prefix /tmp/pflow --dry-run
pflow setup --undo
"""

import shutil
from collections import Counter

from pflow.commands._command import Command, own
from pflow.errors import not_written, reason_of
from pflow.interface.common import COMMON
from pflow.interface.interface import PATH, Flag
from pflow.process.streams import write_pieces
from pflow.setup import setup as admin
from pflow.setup.setup import SHELLS, ask_shells
from pflow.terminal.messages import say
from pflow.text.printable import clean

_DONE = {admin.WRITE: "wrote", admin.UPDATE: "updated", admin.REMOVE: "removed"}
_DONE |= {admin.KEEP: "unchanged", admin.CHANGED: "left"}
_WOULD = _DONE | {admin.WRITE: "would write", admin.UPDATE: "would update", admin.REMOVE: "would remove"}


@Command(
    __doc__,
    Flag("prefix", "install below DIR/share; the default is the user's own directory", type=PATH, metavar="DIR"),
    own(COMMON["dry_run"], "print what would be done, and touch nothing"),
    Flag("undo", "remove exactly what an earlier setup installed"),
    Flag("no_edit", "edit no start-up file: print the lines that shells need"),
    own(COMMON["verbose"], "print a line for each file"),
)
def command(prefix: str | None, dry_run: bool, undo: bool, no_edit: bool, verbose: bool) -> None:
    share = admin.share_directory(prefix)
    setup = admin.read_setup(share)
    if undo and not setup.files:
        say("pflow setup", f"there is nothing to undo in '{share}'")
        return
    wanted, left_out = ({}, []) if undo else admin.wanted_files()
    for line in left_out:
        say("pflow setup", line)
    try:
        lines = _report(setup, wanted, is_dry=dry_run, verbose=verbose or dry_run)
        removed = (_WOULD if dry_run else _DONE)[admin.REMOVE]
        for file in setup.blocks if undo else ():
            done = removed if setup.has_block(file) else "left, since it was edited,"
            lines.append(f"{done} the block in {clean(file)}")
        if not dry_run:
            setup.uninstall() if undo else setup.install(wanted)
    except OSError as error:
        what = f"cannot write '{error.filename}'" if error.filename else "cannot write"
        hint = "run the same command again to finish, or with --undo to undo it"
        raise not_written(what, error, hint) from None
    lines += [] if undo else _in_shells(setup, may_edit=prefix is None and not no_edit, is_dry=dry_run)
    write_pieces(1, ["".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")])


def _report(setup: admin.Setup, wanted: dict[str, bytes], *, is_dry: bool, verbose: bool) -> list[str]:
    """Return lines about the changes of files; report on stderr the edited files, which stay as they are."""
    words, changes = _WOULD if is_dry else _DONE, setup.changes(wanted)
    for name in [name for name, change in changes.items() if change == admin.CHANGED]:
        say("pflow setup", f"'{setup.share / name}' is left unchanged: it was edited since setup wrote it")
    lines = [f"{words[change]} {clean(str(setup.share / name))}" for name, change in changes.items() if verbose]
    for program, folder in admin.FOLDERS.items():
        counts = Counter(words[change] for name, change in changes.items() if name.startswith(f"{folder}/"))
        said = ", ".join(f"{word} {count}" for word, count in counts.items())
        lines += [f"{program:5} {said} in {clean(str(setup.share / folder))}"] * bool(said)
    return lines


def _in_shells(setup: admin.Setup, *, may_edit: bool, is_dry: bool) -> list[str]:
    """Ask each shell if it finds the files, and return lines about the answers; edit start-up files if needed."""
    answers = dict.fromkeys(filter(shutil.which, SHELLS), False) if is_dry else ask_shells()
    lines = []
    for shell in [shell for shell, is_there in answers.items() if may_edit and is_there is False]:
        file, line = admin.start_line(shell, setup.share)
        if line in admin.start_file_text(file):
            continue
        try:
            if is_dry:
                lines.append(f"{shell:5} would add a block to {clean(file)}, if {shell} needs it")
            else:
                setup.add_block(shell)
                lines.append(f"{shell:5} added a block to {clean(file)}")
        except OSError as error:
            say("pflow setup", f"cannot write '{file}': {reason_of(error)}")
    if is_dry:
        return lines
    answers = ask_shells() if lines else answers
    advice = admin.advise(setup.share, answers)
    done = ", ".join(program for program, (todo, _) in advice.items() if not todo)
    lines += ["", f"New shells find these by themselves: {done}."] if done else []
    for program, (todo, text) in advice.items():
        if todo:
            lines += ["", f"For {program}, {clean(todo)}:", *(f"  {line}" for line in text)]
    return lines
