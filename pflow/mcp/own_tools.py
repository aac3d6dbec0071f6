"""The tools that are always offered: to list, describe, check, plan, run and trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pflow.catalog.entries import entry
from pflow.library.nearest import About, nearest_by_words
from pflow.mcp.catalogue import Catalogue
from pflow.mcp.schema import Schema
from pflow.mcp.texts import forms_of
from pflow.run.runs import find_run
from pflow.run.trace import trace_of_run
from pflow.run.trace_formats import document

LIST, DESCRIBE, CHECK = "pflow_list", "pflow_describe", "pflow_check"
PLAN, RUN, TRACE = "pflow_plan", "pflow_run", "pflow_trace"

_TEXT: Schema = {"type": "string", "minLength": 1}
_NAME: Schema = {**_TEXT, "maxLength": 300, "description": "the name of a node or a saved flow, as pflow_list has it"}
_LISTED: Schema = {"type": "array", "items": {"type": "object"}}
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_RUNS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


@dataclass(frozen=True)
class OwnTool:
    """One of them as a client sees it: `takes` and `gives` are the members of its arguments and of its result.

    The first argument is required where `is_first_required`.
    """

    title: str
    description: str
    takes: dict[str, Schema]
    gives: dict[str, Schema] = field(default_factory=dict)
    is_first_required: bool = True
    hints: dict[str, bool] = field(default_factory=lambda: dict(READS))

    @property
    def input_schema(self) -> Schema:
        required = {"required": [next(iter(self.takes))]} if self.is_first_required else {}
        return {"type": "object", "properties": self.takes, **required, "additionalProperties": False}

    @property
    def output_schema(self) -> Schema | None:
        return {"type": "object", "properties": self.gives} if self.gives else None


OWN_TOOLS = {
    LIST: OwnTool(
        "List nodes and saved flows",
        "List the nodes and saved flows that can be run, each with its purpose and effects.",
        {"search": {"type": "string", "maxLength": 1_000, "description": "only those about these words, best first"}},
        {"tools": _LISTED},
        is_first_required=False,
    ),
    DESCRIBE: OwnTool(
        "Describe a node or a saved flow",
        "Describe what a node or a saved flow reads, writes, takes and touches; for a flow, its steps too.",
        {"name": _NAME},
        {"name": {"type": "string"}, "input_schema": {"type": "object"}},
    ),
    CHECK: OwnTool(
        "Check a flow",
        "Check a flow against pflow's rules. It is neither run nor saved, and no file that it names is opened.",
        {
            "flow": {
                "anyOf": [_TEXT, {"type": "object"}],
                "description": "pipe syntax, as `read-file --path=a.txt => llm --prompt='Sum up'`; or the flow's JSON",
            }
        },
        {"ok": {"type": "boolean"}, "findings": _LISTED, "steps": {"type": "integer"}},
    ),
    PLAN: OwnTool(
        "Plan a flow",
        "Make a flow of a sentence, with the model that pflow is set up with, or of pipe syntax without one. The flow "
        "comes back as JSON (`ir`) and as pipe syntax (`pipe`). It is neither run nor saved: a person does that.",
        {"sentence": {**_TEXT, "description": "what the flow is to do, with its paths and values; or pipe syntax"}},
        {"ir": {"type": "object"}, "pipe": {"type": "string"}, "findings": _LISTED},
        hints={**READS, "idempotentHint": False, "openWorldHint": True},
    ),
    RUN: OwnTool(
        "Run a node or a saved flow",
        "Run a node or a saved flow by its name. Inputs are values, never templates, flags or files; a flow's text is "
        "not accepted.",
        {"name": _NAME, "inputs": {"type": "object", "description": "its inputs, as pflow_describe has their schema"}},
        hints=_RUNS,
    ),
    TRACE: OwnTool(
        "Trace a run",
        "Show what the steps of a run of a flow read from where, wrote and took, without values.",
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
        is_first_required=False,
    ),
}


def offered_names(only: Sequence[str], *, read_only: bool) -> set[str]:
    """The names that are offered; `only` are those that a person chose. Planning asks a model over the network."""
    return {name for name in OWN_TOOLS if (not only or name in only) and not (read_only and name == PLAN)}


def answer(name: str, catalogue: Catalogue, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer of a tool that needs no child. Raises PflowError: 127 and 66 for an unknown name or run."""
    if name == LIST:
        return {"tools": _listed(catalogue, arguments.get("search", ""))}
    if name == DESCRIBE:
        return _described(catalogue, arguments["name"])
    return _trace(arguments.get("run", "last"), with_store=arguments.get("store", False))


def _listed(catalogue: Catalogue, search: str) -> list[dict[str, Any]]:
    tools = {each.label: each for each in catalogue.tools().values()}
    if not search:
        return [each.entry() for each in tools.values()]
    matches = nearest_by_words(search, [About(each.label, each.description) for each in tools.values()])
    return [tools[match.about.name].entry() for match in matches]


def _described(catalogue: Catalogue, name: str) -> dict[str, Any]:
    offered = catalogue.find(name)
    about = {key: value for key, value in entry(offered.kind).items() if key not in ("file", "reads", "params")}
    about |= {"tool": offered.name, "description": offered.description, "annotations": offered.hints}
    about |= {"input_schema": offered.input_schema}
    if offered.output_schema is not None:
        about["output_schema"] = offered.output_schema
    return about | (forms_of(offered.flow) if offered.is_flow else {})


def _trace(run: str, *, with_store: bool) -> dict[str, Any]:
    """A run's trace, without values: of the store its keys, types and sizes."""
    found = find_run(run)
    about = document(trace_of_run(found, found.events()[0]), with_store=with_store)
    return {name: value for name, value in about.items() if name != "snapshot" and value is not None}
