"""The tools that are always there: to list, describe, check, plan, run and trace."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.mcp.catalogue import Catalogue
    from pflow.mcp.offered import Offered
    from pflow.mcp.schema import Schema

LIST, DESCRIBE, CHECK = "pflow_list", "pflow_describe", "pflow_check"
PLAN, RUN, TRACE = "pflow_plan", "pflow_run", "pflow_trace"

_TEXT: Schema = {"type": "string", "minLength": 1}
_NAME: Schema = {**_TEXT, "maxLength": 300, "description": "the name of a node or a saved flow, as pflow_list has it"}
_LISTED: Schema = {"type": "array", "items": {"type": "object"}}
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class Fixed:
    """One of them: what a client is told of it. `required` are the members of its arguments that it needs."""

    def __init__(self, title: str, about: str, takes: dict[str, Schema], gives: dict[str, Schema], *, needs: str = ""):
        self.title = title
        self.description = about
        required = {"required": [needs]} if needs else {}
        self.input_schema: Schema = {
            "type": "object",
            "properties": takes,
            **required,
            "additionalProperties": False,
        }
        self.output_schema: Schema | None = {"type": "object", "properties": gives} if gives else None
        self.hints = dict(_READS)


FIXED = {
    LIST: Fixed(
        "List nodes and saved flows",
        "List the nodes and saved flows that can be run, each with what it is for and what it touches.",
        {
            "search": {
                "type": "string",
                "maxLength": 1_000,
                "description": "only those that have to do with these words, best first",
            }
        },
        {"tools": _LISTED},
    ),
    DESCRIBE: Fixed(
        "Describe a node or a saved flow",
        "Tell what a node or a saved flow reads, writes, takes and touches; of a flow, its steps too.",
        {"name": _NAME},
        {"name": {"type": "string"}, "input_schema": {"type": "object"}},
        needs="name",
    ),
    CHECK: Fixed(
        "Check a flow",
        "Check a flow against pflow's rules. It is neither run nor saved, and no file that it names is opened.",
        {
            "flow": {
                "anyOf": [_TEXT, {"type": "object"}],
                "description": "pipe syntax, as `read-file --path=a.txt => llm --prompt='Sum up'`; or the flow's JSON",
            }
        },
        {"ok": {"type": "boolean"}, "findings": _LISTED, "steps": {"type": "integer"}},
        needs="flow",
    ),
    PLAN: Fixed(
        "Plan a flow",
        "Make a flow of a sentence, with the model that pflow is set up with, or of pipe syntax without one. The flow "
        "comes back as JSON (`ir`) and as pipe syntax (`pipe`). It is neither run nor saved: a person does that.",
        {"sentence": {**_TEXT, "description": "what the flow is to do, with its paths and values; or pipe syntax"}},
        {"ir": {"type": "object"}, "pipe": {"type": "string"}, "findings": _LISTED},
        needs="sentence",
    ),
    RUN: Fixed(
        "Run a node or a saved flow",
        "Run a node or a saved flow by its name. What is given are values, never templates, flags or files; a flow's "
        "text is not taken.",
        {"name": _NAME, "inputs": {"type": "object", "description": "its inputs, as pflow_describe has their schema"}},
        {},
        needs="name",
    ),
    TRACE: Fixed(
        "Trace a run",
        "Tell what the steps of a run of a flow read from where, wrote and took. No values are told.",
        {
            "run": {
                "type": "string",
                "maxLength": 100,
                "default": "last",
                "description": "a run's id, or `last`, or `@2`: the one before",
            },
            "store": {"type": "boolean", "default": False, "description": "add the keys, types and sizes of its store"},
        },
        {"run": {"type": "string"}, "status": {"type": "string"}, "execution_trace": _LISTED},
    ),
}

FIXED[PLAN].hints = {**_READS, "idempotentHint": False, "openWorldHint": True}


def names(only: Sequence[str], *, read_only: bool) -> set[str]:
    """Those that are offered; `only` are the names that a person gave. Planning asks a model, over the network."""
    offered = FIXED.keys() - {PLAN} if read_only else FIXED.keys()
    return {name for name in offered if not only or name in only}


def run_hints(*, read_only: bool) -> dict[str, bool]:
    """Those of pflow_run: it does what there is to be run."""
    if read_only:
        return {**_READS, "idempotentHint": False}
    return {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def check_arguments(name: str, schema: Schema, arguments: dict[str, Any]) -> None:
    """Raise PflowError (2) for arguments that do not fit."""
    from pflow.mcp.schema import fault_in

    if fault := fault_in(schema, arguments):
        raise PflowError(f"cannot call '{name}': {fault}", hint="its input schema tells", exit=USAGE)


def answer(name: str, catalogue: Catalogue, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool gives that needs no child."""
    if name == LIST:
        return {"tools": _listed(catalogue, arguments.get("search", ""))}
    if name == DESCRIBE:
        return _described(catalogue.find(arguments["name"]))
    from pflow.mcp.tracing import trace

    return trace(arguments.get("run", "last"), with_store=arguments.get("store", False))


def _listed(catalogue: Catalogue, search: str) -> list[dict[str, Any]]:
    from pflow.library.nearest import About, nearest_by_words
    from pflow.mcp.offered import told

    tools = list(catalogue.tools().values())
    if search:
        by_name = {each.label: each for each in tools}
        abouts = [About(each.label, each.description) for each in tools]
        tools = [by_name[match.about.name] for match in nearest_by_words(search, abouts)]
    return [told(each) for each in tools]


def _described(offered: Offered) -> dict[str, Any]:
    from pflow.catalog.described import entry

    about = {key: value for key, value in entry(offered.kind).items() if key not in ("file", "reads", "params")}
    schemas = {"input_schema": offered.input_schema, "output_schema": offered.output_schema}
    about |= {"tool": offered.name, "description": offered.description, "annotations": offered.hints}
    about |= {key: value for key, value in schemas.items() if value is not None}
    if offered.is_flow:
        from pflow.mcp.planning import told

        about |= told(offered.plan.flow)
    return about
