"""pflow remove: take saved flows away, and keep what they were."""

from __future__ import annotations

import click

from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("flow", nargs=-1, required=True)
def command(flow: tuple[str, ...]) -> int:
    """Remove saved flows, and the programs pflow-NAME that pflow save --command made for them.

    FLOW is a name. What each was is kept, and the file is printed: pflow show --old NAME shows it. All names are looked
    for before anything is removed: where one is none, the exit code is 127 and all stay.

    \b
    pflow save count 'read-file --path=examples/notes.txt => shell --command="wc -w"'
    pflow remove count
    pflow show count --old --json | pflow save count
    """
    import os

    from pflow.library.command import changed_commands_of, take_commands
    from pflow.library.keep import remove_flow
    from pflow.library.users import users_of
    from pflow.process.stdout import write_pieces
    from pflow.terminal.messages import say

    found = _find(name.removeprefix("flow:") for name in flow)
    for name, file in found.items():
        for taken in take_commands(name, file):  # first: ended in between, remove finds the flow again
            say("pflow remove", f"the command {taken} is gone")
        write_pieces(1, [os.fsencode(remove_flow(name)) + b"\n"])
        for changed in changed_commands_of(name):
            say("pflow remove", f"'{changed}' is left as it is: it was changed since pflow save made it")
    for name in found:
        for user in users_of(name):
            say("pflow remove", f"warning: the saved flow '{user.name}' uses flow:{name}")
    return 0


def _find(names: Iterable[str]) -> dict[str, str]:
    """The file of each flow, by its name as it is saved. Raises PflowError (127) where one is none."""
    from pflow.flow.subflow import flow_name, saved_flow
    from pflow.flow.take import no_saved_flow

    found: dict[str, str] = {}
    errors: list[PflowError] = []
    for name in names:
        file = saved_flow(name)
        if file is None:
            errors.append(no_saved_flow(name))
        else:
            found[flow_name(file.rpartition("/")[2])] = file
    if errors:
        raise _nothing_removed(errors)
    return found


def _nothing_removed(errors: list[PflowError]) -> PflowError:
    """The error for the last name that is none; those before it are said."""
    from pflow.terminal.messages import say_error

    *others, last = errors
    for error in others:
        say_error("pflow remove", error, debug=False)
    return PflowError(f"{last.message}: nothing is removed", hint=last.hint, exit=last.exit)
