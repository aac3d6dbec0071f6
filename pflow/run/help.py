"""What `pflow run --help` says: its flags, and with a flow those of the flow."""

from __future__ import annotations

from pflow.common import COMMON
from pflow.errors import EXIT_CODES
from pflow.interface import UNDECLARED
from pflow.jsontext import encode
from pflow.run.flags import is_secret
from pflow.run.words import TAKEN, own_items
from pflow.stage.help import common_row, group, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.plan import Plan, PlanInput

USAGE = """\
Usage: pflow run FLOW [FLAG]…
       pflow run STEP [FLAG]… :: STEP [FLAG]… …

Run a flow as a stage of a pipe: a .pflow.json file, a saved flow, or pipe syntax, as 'read-file --path=a => llm'.
Flags of the flow are those of its inputs, and of the params of its steps; --ID.FLAG where several steps have one.
It is checked before anything runs (pflow check), asks on a terminal for what is missing, and keeps a log of the run
(pflow runs, pflow trace).
"""


def run_help(words: list[str]) -> str:
    """The help, for the flow that the words name, if they name one."""
    parts = [USAGE]
    if words:
        from pflow.flow.kinds import no_such_kind
        from pflow.flow.wiring import wire
        from pflow.run.driver import load

        plan = wire(load(words))
        for wired in plan.steps.values():
            if wired.kind is None and not wired.fault:
                raise no_such_kind(wired.step.type)
        parts.append(_flow_groups(plan))
    rows = [common_row(name) for name in COMMON if name in TAKEN or name == "help"]
    rows = [(flag, doc.replace("the node", "the run")) for flag, doc in rows]
    rows += [
        (f"--{name.replace('_', '-')}" + (" N" if item.type.name == "int" else ""), item.doc)
        for name, item in own_items().items()
    ]
    parts.append(group("Common", rows))
    parts.append(
        "Examples:\n"
        "  pflow run 'read-file --path=examples/notes.txt => write-file --path=copy.txt'\n"
        "  cat examples/notes.txt | pflow run 'llm --prompt=Summarize' -r\n"
        "  pflow run shell --command='uname -s' :: write-file --path=name.txt\n"
    )
    codes = [f"{code} {text}" for code, text in EXIT_CODES.items()]
    parts.append("Exit codes: " + wrap([*codes, "128+n ended by signal n"]) + "\n")
    return "\n".join(part for part in parts if part)


def _flow_groups(plan: Plan) -> str:
    inputs = [_input_row(plan, each) for each in plan.inputs.values()]
    params = [
        (f"--{wired.id}.{name}".replace("_", "-"), item.doc + _default(item.default))
        for wired in plan.steps.values()
        for name, item in wired.interface.params.items()
        if "secret" not in item.marks
    ]
    return "\n".join(text for text in (group("Inputs", inputs), group("Params", params)) if text)


def _input_row(plan: Plan, given: PlanInput) -> tuple[str, str]:
    if is_secret(plan, given):
        return given.name, f"{given.doc} [a secret, from the store]"
    about = " [required]" if given.required and not given.has_default else _default(_default_of(plan, given))
    return given.flag, (given.doc + about).lstrip()


def _default_of(plan: Plan, given: PlanInput) -> Any:
    """What an input is without its flag: its own default, else that of the read that takes it."""
    if given.has_default:
        return given.default
    items = [plan.steps[step].interface.reads.get(key) for step, key in given.readers]
    return next((item.default for item in items if item is not None), None)


def _default(value: Any) -> str:
    return "" if value in (None, "", [], {}, UNDECLARED) else f" [default {str(encode(value), 'utf-8')}]"
