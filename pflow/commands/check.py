"""pflow check: Check a flow before it runs.

FLOW is a file, a saved flow, pipe syntax, or - for stdin. Nothing is run, imported or changed.

Each finding is one line: the file, the place, the rule, the fault and the remedy. The exit code is 65 if one of them is
an error.

stderr warns if the flow would ask the small local model because no model was chosen (pflow models default). If a node
declares no interface, or its interface has no mark [pipe], a line says what pflow inferred.

With --json each finding also has its place as a JSON pointer. Where the rule knows them, it has the names that may have
been meant, nearest first (near), and a change to merge into the flow (merge, see RFC 7396). needs, gives and touches
are those of pflow explain --json; inferred has the inferred facts by node.

\b
pflow check examples/report.pflow.json
pflow check --json --strict examples/words.pflow.json
pflow check 'read-file --path=notes.txt => llm --prompt=Summarize'
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from json import dumps, loads
from typing import Any

from pflow.catalog.find import FLOW
from pflow.commands._command import COLOR, Command
from pflow.commands._output import print_json
from pflow.errors import BAD_DATA, PflowError
from pflow.explain.account import outside
from pflow.explain.effects import Provenance
from pflow.flow.findings import SHAPE, Finding, pointer
from pflow.flow.flow import FlowSpec
from pflow.flow.lock import drift
from pflow.flow.rules import RULES, check
from pflow.flow.subflow import find_file, is_stdin, load_named, python_source
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.help import spec as kinds
from pflow.interface.account import inferred_in_words
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.models.identity import identify
from pflow.models.known import has_small
from pflow.process.streams import write_pieces
from pflow.terminal.columns import AUTO, NEVER, Colour, colour_of
from pflow.text.naming import names_meant
from pflow.text.printable import clean, counted

_FORMS = {
    "pflow": "pflow form",
    "bindings": "the form of input_bindings, output_bindings and config",
    "keys": "the form of input_key and output_key",
    "pipe": "pipe syntax",
}


_RULES = [
    "Rules:",
    "  PF00  every part has the right shape (error)",
    *(f"  {rule.id}  {rule.title} ({rule.otherwise})" for rule in RULES.values()),
]


@Command(
    __doc__,
    Flag("json", "print one JSON document: findings, and what the flow needs, gives and touches"),
    Flag("strict", "treat warnings as errors"),
    Flag("locked", "compare the flow with its lock file (pflow lock)"),
    Flag("schema", "print the JSON schema of flow files; takes no FLOW"),
    COLOR,
    argument("[FLOW…]", kinds.FLOW, name="flow", type=TEXTS),
    epilog="\n".join(_RULES),
)
def command(flow: list[str], json: bool, strict: bool, locked: bool, schema: bool, color: str) -> int:
    if schema:
        from pflow.flow.schema import SCHEMA

        write_pieces(1, [dumps(SCHEMA, indent=2, ensure_ascii=False).encode(), b"\n"])
        return 0
    name = _name_of(flow)
    try:
        loaded = load_named(flow, is_run_here=True)
    except PflowError as error:
        if json and error.exit == BAD_DATA:
            _print_json(name, None, [Finding(SHAPE, (), error.message, error.hint)], error.exit)
        raise
    wired = wire(loaded)
    doubts = [Finding("PF14", (), each, is_warning=True) for each in loaded.warnings]
    if has_small() and any(map(_asks_default, wired.all_steps())):
        with suppress(PflowError):  # the run itself reports a missing model
            identify(None)  # warns if the model was not chosen
    wired.opens_files = wired.flow.catalog.opens_files
    findings = [*doubts, *check(wired), *(drift(wired) if locked else ())]
    code = BAD_DATA if any(strict or not each.is_warning for each in findings) else 0
    if json:
        _print_json(name, wired, findings, code)
    else:
        _print_lines(name, loaded, findings, color)
        notes = [_one_line(f"{name}: {node}: {note}") for node, note in _inferred(wired).items()]
        write_pieces(1, [f"{note}\n".encode() for note in notes])
    return code


def _asks_default(step: WiredStep) -> bool:
    """Return True if a step asks the default model, since neither the step nor the environment names one."""
    model = step.interface.params.get("model")
    return model is not None and bool(model.env) and not (step.step.params.get("model") or os.environ.get(model.env))


def _inferred(wired: WiredFlow) -> dict[str, str]:
    """Return, by node, the inferred parts of an incomplete interface, and why they were inferred."""
    notes = {}
    for step in wired.steps.values():
        interface, node_type = step.interface, step.node_type
        if node_type is not None and (interface.inferred or (interface.open and node_type.origin != FLOW)):
            what = f"inferred: {inferred_in_words(interface)}" if interface.inferred else "its interface is unknown"
            without = interface.fault or "its 'Interface:' block is missing or prose"
            lacks = without if interface.open else "no item is marked [pipe]"
            notes[node_type.name] = f"{what} ({node_type.file}: {lacks})"
    return notes


def _name_of(words: Sequence[str]) -> str:
    if len(words) != 1:
        return "pipe"
    other = words[0] if python_source(words[0]) else "pipe"
    return "stdin" if is_stdin(words) else find_file(words[0]) or other


def _print_lines(name: str, flow: FlowSpec, findings: Sequence[Finding], when: str) -> None:
    colour = colour_of(1, when)
    about = f"{counted(len(flow.steps), 'step')}, {_FORMS[flow.dialect]}"
    if findings:
        write_pieces(1, [_line(name, each, colour).encode() + b"\n" for each in findings])
        program = colour_of(2, NEVER if when == NEVER else AUTO).heading("pflow check:")
        write_pieces(2, [f"{program} {_counted(findings)} ({about})\n".encode()])
        return
    write_pieces(1, [f"{_one_line(f'{name}: {about}:')} {colour.good('no findings')}\n".encode()])


def _line(name: str, finding: Finding, colour: Colour) -> str:
    """Return a line such as `bad.json: nodes[0].id: PF12: …`, its rule painted."""
    paint = colour.warning if finding.is_warning else colour.fault
    return _one_line(f"{name}: {finding}").replace(finding.rule, paint(finding.rule), 1)


def _one_line(text: str) -> str:
    return clean(text.replace("\n", "\\n"))


def _counted(findings: Sequence[Finding]) -> str:
    warnings = sum(each.is_warning for each in findings)
    counts = ((len(findings) - warnings, "error"), (warnings, "warning"))
    return ", ".join(counted(number, what) for number, what in counts if number)


def _print_json(name: str, wired: WiredFlow | None, findings: Sequence[Finding], code: int) -> None:
    """Print the document of a check that ends with this exit code. `wired` is None for an unreadable flow."""
    document = {
        "file": _one_line(name),
        "ok": code == 0,
        "exit": code,
        "dialect": wired.flow.dialect if wired else None,
        "steps": len(wired.flow.steps) if wired else None,
        "findings": [_finding_in_json(each) for each in findings],
    }
    if wired is not None:
        names = {"name": wired.flow.name, "description": wired.flow.description}
        document |= {**names, **outside(Provenance(wired)), "inferred": _inferred(wired)}
    print_json(document)


def _finding_in_json(finding: Finding) -> dict[str, Any]:
    """Return a finding with its place as a JSON `pointer`, and `near` and `merge` from its remedy (see the help)."""
    found = {"near": names_meant(finding.remedy), "merge": _merge(finding.remedy)}
    return {
        **finding.as_json(),
        "pointer": pointer(finding.location),
        **{key: each for key, each in found.items() if each},
    }


def _merge(remedy: str) -> Any:
    """Return the members of a flow that are written out in a remedy, such as `"mappings": {…}`."""
    try:
        return loads(f"{{{remedy}}}") if remedy.startswith(('"mappings": {', '"inputs": {')) else None
    except ValueError:  # the remedy has a … for a person to fill in
        return None
