"""pflow update: Update installed packs, after showing what changes.

Without NAME, all packs are updated. Each is fetched from its address, at the branch or tag that was installed. NAME@TAG
takes another tag, branch or commit instead, even an older one. First you see what the new version may do that the
installed one may not, and what it no longer does; then how the files differ. Nothing of the new version runs before you
agree. Then its nodes are tested as by pflow install; the exit code is 1 if one is left out.

Without a terminal, --yes agrees, but never to a version that may do more (77); without --yes, the exit code is 2.
--dry-run only shows the difference. --json prints one document: a list of the updates.

If files have changed since they were installed, pflow update NAME restores them, without the network if the commit is
kept. --accept-changes shows the changes and, if you agree, keeps them instead; the next update replaces them.

\b
pflow install examples/pack --yes --allow=files,commands
pflow update
pflow update pack --dry-run --json | jq '.[].wider'
pflow uninstall pack
"""

import os
from dataclasses import replace
from typing import Any

from pflow.catalog.packs import Pack, faults_of, installed_packs
from pflow.commands._command import Command
from pflow.commands._output import print_json, print_text
from pflow.commands._packs import agree, document, try_nodes
from pflow.errors import DENIED, USAGE, PflowError, result_of
from pflow.help import spec as kinds
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.packs.account import declare, differences, widened
from pflow.packs.address import Address
from pflow.packs.install import Staged, address_of, commit, find_pack, stage, staging
from pflow.packs.source import fetch
from pflow.terminal.messages import say, say_error, write_line
from pflow.text.printable import clean


@Command(
    __doc__,
    Flag("yes", "update without asking, unless the new version may do more"),
    Flag("dry_run", "show the difference, and update nothing"),
    Flag("json", "print one JSON document"),
    Flag("force", "also take nodes that are broken or do not keep to what they declare"),
    Flag("accept_changes", "keep the changed files, and pin them as they are now"),
    argument("[NAME[@TAG]]…", kinds.PACK, name="names", type=TEXTS),
)
def command(names: list[str], json: bool, **flags: bool) -> int:
    packs = installed_packs()
    wanted = [name.partition("@")[::2] for name in names] or [(name, "") for name in packs]
    if flags["accept_changes"] and (not names or any(tag for _, tag in wanted)):
        hint = "pflow update NAME --accept-changes"
        raise PflowError("cannot accept changes of no pack, or of another version", hint=hint, exit=USAGE)
    for name, _ in wanted:
        find_pack(name, packs, "update")
    if not wanted:
        say("pflow update", "no pack is installed")
    documents, codes = [], [0]
    for name, tag in wanted:
        try:
            done = _update(packs[name], tag, is_json=json, **flags)
            documents.append(done)
            codes.append(int(bool(done["left_out"])))
        except PflowError as error:
            if len(wanted) == 1:
                raise
            say_error("pflow update", error)
            codes.append(error.exit)
    if json:
        print_json(documents)
    return max(codes)


def _update(pack: Pack, tag: str, *, is_json: bool, yes: bool, dry_run: bool, force: bool, accept_changes: bool) -> Any:
    """Update a pack, and return a document about the change. Raises PflowError."""
    act, has_changed = f"cannot update '{pack.name}'", bool(faults_of(pack))
    if has_changed:
        say("pflow update", f"files of '{pack.name}' have changed since they were installed")
    with staging(act) as folder:
        pinned = result_of(_pinned, pack, folder, of=PflowError, otherwise="") if has_changed else pack.folder
        if accept_changes:
            after = _as_it_is(pack, folder) if has_changed else Staged(pack, "", pack)
        else:
            is_enough = has_changed and pinned and not tag
            after = Staged(pack, pinned, pack) if is_enough else _fetched(pack, tag, folder)
        is_new, (wider, lines, diff) = after.pack.tree != pack.tree, _compare(pack, pinned, after)
        if is_new:
            versions = " to ".join(_version(each) for each in (pack, after.pack))
            text = "\n".join([f"{pack.name}: {versions}", *lines, diff]).rstrip("\n")
            write_line(text) if is_json else print_text(f"{text}\n")
        if is_new and not dry_run:
            question = f"Keep the changed files of {pack.name}?" if accept_changes else f"Update {pack.name}?"
            agree(question, _refusal(act, wider), yes=yes)
            try_nodes("pflow update", [after], force=force)
        notes = [] if dry_run else commit([after], act)
    how = "updated" if is_new else "as it was installed" if has_changed and not dry_run else "up to date"
    told = [] if is_new and dry_run else [_told(after.pack, how, tag)]
    for note in [*notes, *told]:
        say("pflow update", clean(note))
    return document(after, wider=wider, differences=lines, diff=diff, updated=is_new and not dry_run)


def _compare(pack: Pack, pinned: str, after: Staged) -> tuple[list[str], list[str], str]:
    """Return the things that only the new version may do, all differences in words, and a diff of the files.

    `pinned` is the directory of the installed files; empty if they are lost.
    """
    # Read the installed files again: another version of pflow, or a person, may have written the lock.
    declared = declare(pinned, pack.files) if pinned else {}
    before = {path: about | {"declares": declared.get(path)} for path, about in pack.files.items()}
    now, folder = after.pack.files, after.folder or pack.folder
    return widened(before, now), *differences(pinned, before, folder, now)


def _refusal(act: str, wider: list[str]) -> PflowError | None:
    """Return the error (77) for --yes if the new version may do more; else None."""
    why = f"{act} unasked, for it may do more: {'; '.join(wider)}"
    hint = "a person has to agree, at a terminal and without --yes"
    return PflowError(why, hint=hint, exit=DENIED) if wider else None


def _told(pack: Pack, how: str, tag: str) -> str:
    is_followed = pack.asked and not tag and how == "up to date"
    follows = f": it follows '{pack.asked}'; pflow update {pack.name}@TAG takes another" if is_followed else ""
    return f"'{pack.name}' is {how}, version {pack.version}{follows}"


def _version(pack: Pack) -> str:
    """Return `v1 (7fab0c1d2e3f)`; without a tag only the digits."""
    digits = (pack.commit or pack.tree)[:12]
    return clean(f"{pack.asked} ({digits})" if pack.asked else digits)


def _pinned(pack: Pack, folder: str) -> str:
    """Fetch the files of a pack as they were installed; return their directory, or "" if the source has changed."""
    kept, place = fetch(address_of(pack), pack.commit), os.path.join(folder, ".pinned")
    if kept.tree == pack.tree:
        kept.put(place)
    return place if kept.tree == pack.tree else ""


def _as_it_is(pack: Pack, folder: str) -> Staged:
    """Stage the files of a pack as they are now."""
    staged = stage(pack.name, fetch(Address(os.path.realpath(pack.folder))), folder)
    staged.pack = Pack(pack.name, **pack.members() | {"tree": staged.pack.tree, "files": staged.pack.files})
    return staged


def _fetched(pack: Pack, tag: str, folder: str) -> Staged:
    """Stage the present files at a pack's address; if `tag` is given, those at that tag."""
    address = address_of(pack)
    fetched = fetch(replace(address, asked=tag, is_git=True) if tag else address)
    return stage(pack.name, fetched, folder, pack if fetched.tree == pack.tree else None)
