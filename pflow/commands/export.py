"""pflow export: Export a flow as JSON, Python, a script, a picture, or a pack.

FLOW is a file, a saved flow, pipe syntax, or - for stdin. A flow that breaks a rule, or that the target cannot express,
is not exported (65); stderr says why.

--to=pack -o DIR writes a directory for pflow install, which must be new or empty (73): the flow, its subflows, your own
nodes that it uses with the modules beside them, and a README.md. A tool of an MCP server cannot be exported (65), nor a
subflow whose path leads out of the flow's directory: save that one, and use it as flow:NAME.

\b
pflow export --to=python -o report.py examples/report.pflow.json
pflow export --to=sh 'list-files --pattern=*.txt => shell --command=wc' >wc.sh
pflow export --to=json 'read-file --path=examples/notes.txt => llm Summarize' -o summary.pflow.json
pflow export --to=mermaid examples/report.pflow.json
pflow export --to=pack -o words-pack examples/words.pflow.json
"""

from pflow.commands._command import OUTPUT, Command, own
from pflow.commands._output import write_output
from pflow.errors import USAGE, PflowError
from pflow.export import exporter, targets
from pflow.flow.subflow import load_named, wire_and_check
from pflow.help.spec import FLOW
from pflow.interface.interface import TEXTS, UNDECLARED, Flag, argument, choice

_ABOUT = {target: (exporter(target).__doc__ or "").partition("\n")[0] for target in targets()}
_TARGETS = "\n".join(["Targets:", *(f"  {target:9}{about}" for target, about in _ABOUT.items())])


@Command(
    __doc__,
    Flag("to", "choose the form to write", type=choice(*targets()), default=UNDECLARED),
    own(OUTPUT, f"{OUTPUT.doc}; scripts become executable; a pack is a directory"),
    argument("FLOW…", FLOW, name="flow", type=TEXTS),
    epilog=_TARGETS,
)
def command(to: str, output: str | None, flow: list[str]) -> None:
    module = exporter(to)
    wired = wire_and_check(load_named(flow, is_run_here=to in ("dot", "mermaid")), "export")
    if hasattr(module, "export_to"):
        if output is None:
            raise PflowError(f"cannot export a {to} to stdout", hint="-o DIR names a new directory", exit=USAGE)
        module.export_to(wired, output)
        return
    text = module.export(wired)
    data = text.encode("utf-8", "surrogateescape")  # a file's name may have bytes that are not text
    write_output(output, data, mode=0o777 if getattr(module, "IS_PROGRAM", False) else 0o666)
