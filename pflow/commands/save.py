"""pflow save: keep a flow under a name."""

from __future__ import annotations

import click

from pflow.commands._click import FlowCommand
from pflow.errors import BAD_DATA, FAILED, MISSING, USAGE, PflowError
from pflow.flow.pipe.redirection import is_rest
from pflow.flow.pipe.scan import is_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.flow.flow import Flow
    from pflow.flow.load import Loaded
    from pflow.library.keep import Kept


class _Command(FlowCommand):
    """A command whose first word is a name, and the others a flow: its options stand before and after both."""

    def flow_last(self, words: list[str]) -> list[str]:
        options, rest = self._split(words)
        more, flow = self._split(rest[1:])
        is_pipe = any(is_sign(word) or is_rest(word) for word in flow)
        last, others = ([], flow[1:]) if is_pipe else self._split(flow[1:])
        return [*options, *more, *last, "--", *rest[:1], *flow[:1], *others]


@click.command(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--description", metavar="TEXT", help="What the flow is for, in your words.")
@click.option("--command", "with_command", is_flag=True, help="Also make pflow-NAME, a program on PATH that runs it.")
@click.option("--force", is_flag=True, help="Replace another flow of this name without asking.")
@click.argument("name")
@click.argument("flow", nargs=-1, type=click.UNPROCESSED, metavar="[FLOW…]")
def command(name: str, flow: tuple[str, ...], description: str | None, with_command: bool, force: bool) -> int:
    """Save a flow under NAME: pflow NAME runs it then, and flow:NAME is a node for other flows.

    FLOW is a file, a saved flow, pipe syntax, or - for stdin, as it is without FLOW too. It is checked first: one that
    breaks a rule is not saved. It is kept as JSON in $XDG_DATA_HOME/pflow/flows/ (~/.local/share/pflow/flows/); that
    file is printed. NAME has letters, digits, - and _, and is that of no command, node or tool of pflow's; names that
    differ only in case, - and _ are one. A subflow that FLOW names by a path is named by its whole path.

    Where another flow has the name, you are asked; without a terminal, only --force replaces it. What was replaced or
    removed is kept, ten times for each name: pflow show --old NAME shows the last, and brings it back as below.

    With --command, pflow-NAME goes into ~/.local/bin, or into ~/bin where that alone is on PATH. It needs neither PATH
    nor the directory that it is started in, for cron; nodes of your own it finds without them only in
    ~/.local/share/pflow/nodes/. pflow remove takes it away. A file that is not ours is left (73).

    The exit code is 0, also where the same flow is there already; 1 for the answer no; 65 for a flow that breaks a rule
    or holds a secret, and for a name that is none; 73 where another flow, or a file, is in the way.

    \b
    pflow save summary 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Sum up the notes'
    pflow summary -r
    pflow save words examples/words.pflow.json --command
    pflow save words --force 'shell --command="wc -w"'
    pflow show words --old --json | pflow save words --force -
    """
    from pflow.library.names import check_name

    check_name(name)
    loaded = _take(name, flow)
    _check(name, loaded)
    if description is not None:
        loaded.flow.description = description
    if with_command:
        _check_command(name)
    kept = _keep(name, loaded.flow, force=force)
    _tell(name, kept)
    if with_command:
        _make_command(kept)
    return 0


def _take(name: str, words: Sequence[str]) -> Loaded:
    """The flow. Raises PflowError (2) where nothing names one and nobody pipes one."""
    import os

    from pflow.flow.take import take_flow

    if not words and os.isatty(0):
        hint = f"pflow save {name} FILE, or pflow save {name} 'a => b'"
        raise PflowError(f"cannot save '{name}': there is no flow", hint=hint, exit=USAGE)
    try:
        return take_flow(words or ["-"])
    except PflowError as error:
        if _is_sentence(words):
            hint = f"pflow plan 'SENTENCE' | pflow save {name}"
            raise PflowError(f"cannot save '{name}': that is a sentence, and no flow", hint=hint, exit=USAGE) from None
        is_empty = not words and error.exit == MISSING
        hint = "FLOW is a file, a saved flow, pipe syntax, or - for stdin" if is_empty else error.hint
        raise PflowError(error.message, hint=hint, exit=error.exit) from None


def _is_sentence(words: Sequence[str]) -> bool:
    """Whether who typed this may have meant a sentence: several words in one, the first of which is no node."""
    from pflow.flow.pipe import is_pipe
    from pflow.flow.pipe.recognize import names_node

    parts = words[0].split() if len(words) == 1 else []
    return len(parts) > 1 and not is_pipe(words) and not names_node(parts[0])


def _check(name: str, loaded: Loaded) -> None:
    """Say every finding. Raises PflowError (65) where one is an error."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire
    from pflow.terminal.messages import say

    findings = check(wire(loaded.flow), loaded.findings)
    for warning in loaded.flow.warnings:
        say("pflow save", f"warning: {warning}")
    for finding in findings:
        say("pflow save", str(finding))
    errors = [finding for finding in findings if not finding.is_warning]
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise PflowError(f"cannot save '{name}': {count}", hint="nothing is saved", exit=BAD_DATA)


def _check_command(name: str) -> None:
    """Raise PflowError (73) before anything is saved where no command can be made."""
    from pflow.flow.subflow import flow_name, saved_flow
    from pflow.library.command import check_command
    from pflow.library.names import file_of

    file = saved_flow(name) or file_of(name)
    check_command(flow_name(file.rpartition("/")[2]), file)


def _keep(name: str, flow: Flow, *, force: bool) -> Kept:
    """Save it; where another has its name, ask. Raises PflowError: 73 where nobody can be asked, 1 for no."""
    from pflow.library.keep import AlreadySaved, keep
    from pflow.terminal.ask import confirm

    try:
        return keep(name, flow, replace=force)
    except AlreadySaved as there:
        answer = confirm(_question(name))
        if answer is None:
            raise
        if not answer:
            raise PflowError(f"'{there.name}' is left as it was", exit=FAILED) from None
    return keep(name, flow, replace=True)


def _question(name: str) -> str:
    from pflow.library.library import read_saved
    from pflow.terminal.columns import clean, shorten

    there = read_saved(name)
    about = f" ({shorten(clean(there.description), 60)})" if there.description else ""
    return f"Another flow is saved as {there.name}{about}. Replace it, and keep it as an older one?"


def _tell(name: str, kept: Kept) -> None:
    import os

    from pflow.process.stdout import write_pieces
    from pflow.terminal.messages import say

    for note in kept.notes:
        say("pflow save", note)
    if not kept.is_changed:
        say("pflow save", f"'{kept.name}' is this very flow already")
    elif kept.name != name:
        say("pflow save", f"saved as '{kept.name}', which is the same name")
    if kept.old is not None:
        say("pflow save", f"what '{kept.name}' was is kept in {kept.old}")
    for warning in [*_shadows(kept.name), *_broken(kept)]:
        say("pflow save", warning)
    write_pieces(1, [os.fsencode(kept.file) + b"\n"])


def _shadows(name: str) -> list[str]:
    """What `pflow NAME` runs instead of the flow."""
    from pflow.catalog.discovery import find_node

    found = find_node(name)
    what = f"warning: pflow {name} is the node '{found.file}'; the flow is flow:{name}" if found else ""
    return [what] if what else []


def _broken(kept: Kept) -> list[str]:
    """The saved flows that cannot run any more with what is here now."""
    from pflow.library.users import broken_users_of

    users = broken_users_of(kept.name) if kept.old is not None else []
    return [f"warning: the saved flow '{user}' uses it, and breaks a rule now: {fault}" for user, fault in users]


def _make_command(kept: Kept) -> None:
    """Make pflow-NAME, and say where; warn where the shell will not find it there."""
    import os

    from pflow.library.command import is_on_path, put_command
    from pflow.terminal.messages import say

    file = put_command(kept.name, kept.file)
    say("pflow save", f"the command is {file}")
    folder = os.path.dirname(file)
    if not is_on_path(folder):
        say("pflow save", f"warning: '{folder}' is not on PATH; export PATH=\"{folder}:$PATH\" in your profile")
