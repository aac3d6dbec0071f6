"""pflow show: Show a saved flow, and what it needs, gives and touches.

It shows the flow's pipe syntax, description, inputs and outputs, what it touches, and its file. pflow explain shows its
steps too. FLOW is a name; with --old also that of a removed flow.

The exit code is 0; 65 if the flow has errors, which stderr lists; 66 if --old finds no version; 127 for an unknown
name.

\b
pflow save count 'read-file --path=examples/notes.txt => shell --command="wc -w"' --description='Count words'
pflow show count
pflow show count --json
pflow remove count
pflow show count --old --json | pflow save count
"""

from pflow.commands._command import COLOR, Command
from pflow.commands._output import examined, print_text, write_output
from pflow.errors import MISSING, OK, PflowError
from pflow.explain.account import explain
from pflow.explain.text import brief_text
from pflow.flow.load import load_text, read_text
from pflow.flow.subflow import FlowCatalog
from pflow.help.spec import SAVED
from pflow.interface.interface import Flag, argument
from pflow.saved_flows.executables import executables_of, flow_script
from pflow.saved_flows.saved import find_saved, flows_folder, name_of, older_versions
from pflow.terminal.columns import colour_of, terminal_width
from pflow.text.printable import clean


@Command(
    __doc__,
    Flag("json", "print the flow's file unchanged"),
    Flag("old", "show the version before it was last replaced or removed"),
    COLOR,
    argument("FLOW", SAVED, required=True),
)
def command(flow: str, json: bool, old: bool, color: str) -> int:
    name = flow.removeprefix("flow:")
    file = _file(name, is_old=old)
    text = read_text(file, f"the flow '{file}'")
    if json:
        write_output(None, text.encode("utf-8", "surrogateescape"))
        return OK
    loaded = load_text(text, file, FlowCatalog(flows_folder()))  # an older version's paths begin there too
    loaded.name = loaded.name or name
    wired, findings, code = examined(loaded, "pflow show")
    commands = executables_of(name_of(file), flow_script(file))
    where = [f"From     {clean(file)}", *(f"Command  {clean(each)}" for each in commands)]
    print_text(brief_text(explain(wired, findings), where, terminal_width(), colour_of(1, color)))
    return code


def _file(name: str, *, is_old: bool) -> str:
    olds = older_versions(name)
    if is_old and olds:
        return olds[-1]
    try:
        file = find_saved(name)
    except PflowError as error:
        error.hint = f"pflow show {name} --old shows its last version" if olds else error.hint
        raise
    if is_old:
        raise PflowError(f"cannot find an older version of '{name}': it was never replaced", exit=MISSING)
    return file
