"""pflow install: Install a pack of nodes and flows from elsewhere.

ADDRESS is a directory, a file with one node or flow, or a git repository: a URL, HOST:PATH or a bare repository. @TAG
after it names a tag, branch or commit, and #DIR a directory in it. A pack has nodes in nodes/ and flows in flows/.

First you see what each node and flow reads, writes and touches, which variables, commands and hosts its text names, and
which names it shares with others. Nothing of the pack runs before you agree. Then its nodes are tested in a sandbox. A
node that cannot be read, or does not keep to what it declares, is named and left out, and the exit code is 1; --force
installs it all the same.

Without a terminal, --yes agrees to packs whose effects are all in --allow: network, files, commands. A node that
declares anything needs --allow=anything, which allows all effects. A node without an interface may have no effects.
--dry-run only shows the pack. --json prints one document.

The commit and the digest of each file are recorded in ~/.local/share/pflow/packs.lock.json; a file that changes later
is not run (78). --lock also records the pack in pflow-packs.lock in the working directory, to be committed with a
project; without ADDRESS, it records all installed packs. --frozen installs exactly the packs in that file: the same
bytes, or none of them (78).

Each node gets a program pflow-NODE in ~/.local/bin, or in ~/bin if only that is on PATH. Fetched commits are kept in
~/.cache/pflow/packs; installing them again needs no network.

A name belongs to one pack: a node or flow whose name another pack has is named and left out (1), even with --force. A
flow that cannot run yet is installed, and you are told why.

Exit codes: 2 without a terminal and --yes, 65 for an address that is not a pack, 66 for a missing directory or tag, 69
for a server that cannot be reached, 75 for one that answers too late, 73 if another pack or version is in the way, 77
for effects that --allow does not name, 78 for a damaged lock file.

\b
pflow install examples/pack --dry-run
pflow install examples/pack --yes --allow=files,commands
pflow install examples/pack --dry-run --json | jq -r '.nodes[].name'
pflow uninstall pack
"""

from pflow.catalog.packs import Pack, installed_packs
from pflow.commands._command import Command
from pflow.commands._output import print_json, print_text
from pflow.commands._packs import ALLOWED, agree, allowed_words, beyond, document, show, try_nodes
from pflow.errors import FAILED, MISSING, USAGE, PflowError, result_of
from pflow.help import spec as kinds
from pflow.interface.interface import TEXT, TEXTS, Flag, argument
from pflow.packs.install import (
    PROJECT_LOCK,
    commit,
    how_to_run,
    recorded_before,
    stage_frozen,
    stage_new,
    staging,
    write_project,
)
from pflow.setup.setup import read_setup, share_directory
from pflow.terminal.messages import say
from pflow.text.printable import clean, counted

_ALLOW = "with --yes, allow network, files, commands or anything"


@Command(
    __doc__,
    Flag("name", "name the pack NAME, instead of after its address", type=TEXT, metavar="NAME"),
    Flag("yes", "install it without asking, if --allow names its effects"),
    Flag("allow", _ALLOW, type=TEXTS, metavar="EFFECT,…", choices=ALLOWED),
    Flag("dry_run", "show the pack, and install nothing"),
    Flag("json", "print one JSON document"),
    Flag("force", "also install nodes that are broken or do not keep to what they declare"),
    Flag("lock", f"also record it in ./{PROJECT_LOCK}; without ADDRESS, all installed packs"),
    Flag("frozen", f"install exactly the packs in ./{PROJECT_LOCK}"),
    argument("[ADDRESS]", kinds.DIRECTORY, name="address", type=TEXT),
)
def command(
    address: str | None, name: str | None, yes: bool, allow: list[str], dry_run: bool, json: bool, force: bool,
    lock: bool, frozen: bool,
) -> int:  # fmt: skip
    allowed = allowed_words(allow)
    if (frozen and (address or name or lock)) or not (frozen or address or (lock and not dry_run)):
        what = "with --frozen and more" if frozen else "without an address"
        raise PflowError(f"cannot install {what}", hint="pflow install --help", exit=USAGE)
    recorded = recorded_before() if lock else {}  # now, so that a damaged file fails before a pack is fetched
    if not address and not frozen:
        return _record(installed_packs(), recorded)
    with staging("cannot install") as folder:
        staged = stage_frozen(folder) if frozen else [stage_new(address or "", name or "", folder)]
        new, code = [each for each in staged if each.is_new], 0
        if new:
            show(new, on_stderr=json)
        if new and not dry_run:
            agree(f"Install {', '.join(each.pack.name for each in new)}?", beyond(new, allowed), yes=yes)
            code = try_nodes("pflow install", new, force=force)
            if code and frozen:
                raise PflowError("cannot install these packs as they are", hint="--force does", exit=FAILED)
        notes = [] if dry_run else commit(staged, "cannot install")
    if lock and not dry_run:
        done = f"'{staged[0].pack.name}' is installed, but "
        write_project((recorded | {each.pack.name: each.pack for each in staged}).values(), done)
    for each in staged:
        if not each.is_new:
            say("pflow install", f"'{each.pack.name}' is installed already, version {each.pack.version}")
        if each.before and each.before.asked != each.pack.asked:
            followed = f"'{each.pack.asked}'" if each.pack.asked else "the default branch"
            say("pflow install", f"pflow update {each.pack.name} follows {followed} now")
    if not dry_run and result_of(lambda: read_setup(share_directory(None)).files, of=PflowError, otherwise={}):
        notes.append("pflow setup brings their man pages")
    for note in notes:
        say("pflow install", note)
    documents = [document(each, installed=not dry_run) for each in staged]
    if json:
        print_json(documents if frozen else documents[0])
    elif not dry_run:
        print_text("".join(f"{word}\n" for each in staged for word in how_to_run(each.pack)))
    return code


def _record(packs: dict[str, Pack], before: dict[str, Pack]) -> int:
    """Record all installed packs in the project's lock file. Raises PflowError (66) if no pack is installed."""
    if not packs:
        hint = "pflow install ADDRESS --lock installs and records one"
        raise PflowError(f"cannot write '{PROJECT_LOCK}': no pack is installed", hint=hint, exit=MISSING)
    write_project(packs.values())
    gone = f"; no longer: {', '.join(name for name in before if name not in packs)}".removesuffix("; no longer: ")
    say("pflow install", f"{counted(len(packs), 'pack')} recorded in {PROJECT_LOCK}{clean(gone)}")
    return 0
