"""pflow remove: Remove a saved flow, and keep its last versions.

FLOW is a name. The programs pflow-NAME that pflow save --command made for it are removed too. The last version of each
flow is kept, and its path is printed; pflow show --old NAME shows it. If one of the names is unknown, nothing is
removed, and the exit code is 127.

\b
pflow save count 'read-file --path=examples/notes.txt => shell --command="wc -w"'
pflow remove count
pflow show count --old --json | pflow save count
"""

import os

from pflow.commands._command import Command
from pflow.errors import PflowError
from pflow.help.spec import SAVED
from pflow.interface.interface import TEXTS, argument
from pflow.process.streams import write_pieces
from pflow.saved_flows.executables import edited_executables_of, flow_script, remove_executables
from pflow.saved_flows.saved import check_is_own, find_saved, name_of, remove_flow, users_of
from pflow.terminal.messages import say, say_error


@Command(__doc__, argument("FLOW…", SAVED, name="flows", type=TEXTS, required=True))
def command(flows: list[str]) -> None:
    found = _find([name.removeprefix("flow:") for name in flows])
    for name, file in found.items():
        for removed in remove_executables(
            name,
            flow_script(file),
            # Before the flow, so that after an interrupt its name is still known.
        ):
            say("pflow remove", f"removed the command {removed}")
        write_pieces(1, [os.fsencode(remove_flow(name)) + b"\n"])
        for changed in edited_executables_of(name):
            say("pflow remove", f"'{changed}' is left unchanged: it was edited since pflow save wrote it")
    for name in found:
        for user in users_of(name):
            say("pflow remove", f"warning: the saved flow '{user.name}' uses flow:{name}")


def _find(names: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    errors: list[PflowError] = []
    for name in names:
        try:
            file = find_saved(name)
            check_is_own(file, f"cannot remove '{name}'")
            found[name_of(file)] = file
        except PflowError as error:
            errors.append(error)
    if errors:
        *others, last = errors
        for other in others:
            say_error("pflow remove", other, debug=False)
        raise PflowError(f"{last.message}: nothing is removed", hint=last.hint, exit=last.exit)
    return found
