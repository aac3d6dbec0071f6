"""The piped input of a plan: its description for the planner, without values, and its way into the flow's inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pflow.binding.sources import find
from pflow.driver.inputs import names_stdin
from pflow.errors import PflowError, result_of
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec, Input
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.flow.written import INPUT, MAPPING, OVER, PARAM, renamed, rewritten
from pflow.plan.declare_inputs import free_name
from pflow.plan.limits import NAME
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake
from pflow.text.printable import clean
from pflow.values.paths import UNITS, Path, parse_path
from pflow.values.secrets import is_secret_name

_MOST_KEYS = 50


@dataclass(frozen=True)
class Piped:
    """The piped input. `kind` is raw or a store, `carried` the path of the value that the pipe carries ("" for
    nothing), with its `type` and `size`; `keys` has the type of each key that an input may take by its name."""

    kind: str
    carried: str
    type: str
    size: int | None
    keys: dict[str, str]

    @property
    def form(self) -> list[Any]:
        """The part of a plan's cache key: the same for another value of the same type."""
        return [self.kind, self.carried, self.type, self.keys]

    def __str__(self) -> str:
        """Describe it for a model."""
        size = f", {self.size:,} {UNITS[self.type]}" if self.size is not None else ""
        if self.kind == RAW:
            what = f"{'text' if self.type == 'str' else 'data that is not text'}{size}"
        else:
            what = f"{clean(self.carried)} ({self.type}{size})" if self.carried else "a store"
        keys = [f"${key} ({type})" for key, type in self.keys.items()]
        taken = ": the first step takes it" if self.carried else ""
        return f"Through the pipe comes {what}{taken}." + (f" In it are {', '.join(keys)}." if keys else "")


def piped_in(intake: Intake) -> Piped | None:
    """Describe the intake; None if stdin is not read. An empty pipe is an empty text; taking it ends the run."""
    if intake.kind == NOTHING:
        return None
    if intake.kind == EMPTY:
        return Piped(RAW, "stdin", "str", 0, {})
    document = intake.document
    carried = document.header.get("last", "")
    value = _value(document, parse_path(carried)) if carried else None
    size = len(value) if isinstance(value, str | bytes | list | dict) else None
    return Piped(intake.kind, carried, _type_of(value), size, _keys(document) if intake.kind == STORE else {})


def _keys(document: Document) -> dict[str, str]:
    """Return the type of each key, including those that a dry stage would write."""
    keys = dict.fromkeys([*document, *document.header.get("dry", [])])
    names = [key for key in keys if NAME.fullmatch(key) and not is_secret_name(key)]
    return {name: _type_of(_value(document, (name,))) for name in names[:_MOST_KEYS]}


def _value(document: Document, path: Path) -> Any:
    """Return the value at a path; None if it is missing, or cannot be decoded."""
    return result_of(find, document, path, of=PflowError, otherwise=None)


def _type_of(value: Any) -> str:
    return name if (name := type(value).__name__) in ("str", "bool", "int", "float", "list", "dict", "bytes") else "any"


def declare_keys(flow: FlowSpec, piped: Piped | None) -> None:
    """Declare the keys of the store that the flow names, as pipe syntax cannot."""
    named = {each.input for each in wire(flow).references} if piped else set()
    for key, type in piped.keys.items() if piped else ():
        if key in named and key != "stdin":
            flow.inputs.setdefault(key, Input(key, type=type))


def check_piped(wired: WiredFlow, piped: Piped | None) -> list[Finding]:
    """Find PL09: raw input that nothing takes would end the run."""
    takes = wired.first_read is not None or any(each.pipe and each.readers for each in wired.inputs.values())
    if piped is None or piped.kind != RAW or not piped.size or takes or names_stdin(wired):
        return []
    message, remedy = "nothing uses the piped input", "begin with a step that takes a text, or write $stdin in a flag"
    return [Finding("PL09", ("inputs",), message, remedy)]


def declare_piped(wired: WiredFlow, piped: Piped | None) -> WiredFlow:
    """Return a wired copy in which the piped input is declared, which pipe syntax cannot do."""
    if any(each.pipe for each in wired.flow.inputs.values()):
        return wired
    changed = wire(_with_input(wired, piped))
    is_declared = any(each.pipe for each in changed.flow.inputs.values())
    return changed if is_declared and not errors_of(check(changed)) else wired


def _with_input(wired: WiredFlow, piped: Piped | None) -> FlowSpec:
    """Return the flow with the piped input: in place of `stdin`, named like the carried key, or for the first read."""
    flow = wired.flow.copied()
    named = [each for each in wired.references if each.path[0] == "stdin"]
    carried = wired.inputs.get(piped.carried) if piped else None
    first, key = wired.first_read, "stdin"
    if named and not (piped and piped.carried != "stdin" and "stdin" in piped.keys):
        is_whole = len(named) == 1 and named[0].role == MAPPING and not named[0].part.is_template
        name = _declare(wired, flow, named[0].step, named[0].key if is_whole else "")
        _rename(wired, flow, {each.path: (name, *each.path[1:]) for each in named})
    elif carried is not None and carried.declared and carried.readers and not carried.has_default:
        name = key = carried.name
        flow.inputs[name].pipe = True
    elif piped and piped.carried and first and not flow.inputs.keys() & piped.keys.keys():  # it uses no other key
        name = _declare(wired, flow, *first)
    else:
        return flow
    in_templates = {(each.step, each.path[0]) for each in wired.references if each.part.is_template}
    if first and (first[0], key) not in in_templates:  # else the read that the pipe would fill keeps its default
        flow.step(first[0]).input_mappings[first[1]] = name
    return flow


def _declare(wired: WiredFlow, flow: FlowSpec, id: str, key: str) -> str:
    """Declare the piped input, with the name and type of the read that takes it if there is one; return the name."""
    item = wired.steps[id].interface.reads.get(key) if key else None
    name = free_name(wired, id or "piped", key or "text", {id} if key else set())
    type = str(item.type) if item is not None else "any"
    flow.inputs[name] = Input(name, type=type, description=item.doc if item is not None else "", pipe=True)
    return name


def _rename(wired: WiredFlow, flow: FlowSpec, places: dict[Path, Path]) -> None:
    several = {path: (place,) for path, place in places.items()}
    for step in flow.steps:
        for part in wired.parts[step.id]:
            if part.role in (INPUT, PARAM) and part.is_template:
                values = step.inputs if part.role == INPUT else step.params
                values[part.key] = rewritten(part.written, places)
            elif part.role == MAPPING:
                step.input_mappings[part.key] = renamed(step.input_mappings[part.key], several)
            elif part.role == OVER and step.batch is not None:
                step.batch.over = str(renamed(step.batch.over, several))
    flow.outputs = {name: str(renamed(source, several)) for name, source in flow.outputs.items()}
