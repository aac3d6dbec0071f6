"""The server's own tools: list, describe, check, plan, run and trace."""

from collections.abc import Sequence
from typing import Annotated, Any

import mcp_types as types
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from pflow.catalog.lines import entry
from pflow.errors import PflowError, result_of
from pflow.explain.pipe_form import pipe_of
from pflow.flow.load import load_document
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.mcp.server.catalogue import Catalogue
from pflow.mcp.server.offered import Offered
from pflow.record.runs import find_run
from pflow.record.trace import trace_of_run
from pflow.record.trace_formats import document
from pflow.saved_flows.nearest import About, nearest_by_words

LIST, DESCRIBE, CHECK = "pflow_list", "pflow_describe", "pflow_check"
PLAN, RUN, TRACE = "pflow_plan", "pflow_run", "pflow_trace"
_NAME = Field(min_length=1, max_length=300, description="the name of a node or a saved flow, as pflow_list has it")

_Object = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
"""Without pydantic's `additionalProperties`, for which clients that make schemas strict refuse the tool."""


class _Arguments(BaseModel):
    """The arguments of a tool; each docstring is the tool's description."""

    model_config = ConfigDict(extra="forbid")


class _List(_Arguments):
    """List the nodes and saved flows that can be run, each with its purpose and effects."""

    search: str = Field("", max_length=1_000, description="only those about these words, best first")


class _Describe(_Arguments):
    """Describe what a node or a saved flow reads, writes, takes and touches; for a flow, its steps too."""

    name: str = _NAME


class _Check(_Arguments):
    """Check a flow against pflow's rules. It is neither run nor saved, and no file that it names is opened."""

    flow: str | _Object = Field(
        description="pipe syntax, as `read-file --path=a.txt => llm --prompt='Sum up'`; or the flow's JSON"
    )


class _Plan(_Arguments):
    """Make a flow of a sentence, with the model that pflow is set up with, or of pipe syntax without one.

    The flow comes back as JSON (`ir`) and as pipe syntax (`pipe`). It is neither run nor saved: a person does that.
    """

    sentence: str = Field(description="what the flow is to do, with its paths and values; or pipe syntax")


class _Run(_Arguments):
    """Run a node or a saved flow by its name.

    Inputs are values, never templates, flags or files; a flow's text is not accepted.
    """

    name: str = _NAME
    inputs: _Object = Field({}, description="its inputs, as pflow_describe has their schema")


class _Trace(_Arguments):
    """Show what the steps of a run of a flow read from where, wrote and took, without values."""

    run: str = Field("last", max_length=100, description="a run's id, or `last`, or `@2`: the one before")
    store: bool = Field(False, description="add the keys, types and sizes of its store")


_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_TRIES = _READS.model_copy(update={"idempotent_hint": False})
_ASKS = _TRIES.model_copy(update={"open_world_hint": True})
_RUNS = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)

OWN_TOOLS: dict[str, tuple[type[_Arguments], types.ToolAnnotations]] = {
    LIST: (_List, _READS),
    DESCRIBE: (_Describe, _READS),
    CHECK: (_Check, _READS),
    PLAN: (_Plan, _ASKS),
    RUN: (_Run, _RUNS),
    TRACE: (_Trace, _READS),
}


def own_tools(only: Sequence[str], *, read_only: bool) -> dict[str, types.Tool]:
    """Return the offered ones by name. `only` are the names that a person chose."""
    tools = {}
    for name, (arguments, hints) in OWN_TOOLS.items():
        if (only and name not in only) or (read_only and name == PLAN):  # it asks a model, over the network
            continue
        schema = arguments.model_json_schema()
        description = schema.pop("description")
        hints = _TRIES if read_only and name == RUN else hints  # it can only run read-only tools
        tools[name] = types.Tool(name=name, description=description, input_schema=schema, annotations=hints)
    return tools


def answer(name: str, catalogue: Catalogue, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool that needs no child. Raises PflowError: 127 and 66 for an unknown name or run."""
    if name == LIST:
        return {"tools": [_entry(each) for each in _found(catalogue, arguments.get("search", ""))]}
    if name == DESCRIBE:
        return _described(catalogue.find(arguments["name"]))
    run = find_run(arguments.get("run", "last"))
    about = document(trace_of_run(run, run.events()[0]), with_store=arguments.get("store", False))
    return {name: value for name, value in about.items() if name != "snapshot" and value is not None}


def _found(catalogue: Catalogue, search: str) -> list[Offered]:
    tools = {each.label: each for each in catalogue.tools().values()}
    if not search:
        return [*tools.values()]
    abouts = [About(each.label, each.description) for each in tools.values()]
    return [tools[name] for name in nearest_by_words(search, abouts)]


def _entry(offered: Offered) -> dict[str, Any]:
    return {
        "name": offered.label,
        "tool": offered.tool.name,
        "kind": "flow" if offered.flow else "node",
        "summary": offered.description.partition("\n")[0],
        "effects": offered.effects,
        "read_only": offered.is_read_only,
    }


def _described(offered: Offered) -> dict[str, Any]:
    """Return a node's entry without its file, and the tool as a client sees it; of a flow its forms too."""
    about = {name: value for name, value in entry(offered.kind).items() if name not in ("file", "reads", "params")}
    about |= {**offered.tool.model_dump(exclude_none=True), "tool": offered.tool.name, "name": offered.label}
    return about | (_forms(offered.flow) if offered.flow else {})


def planned(ir: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of pflow_plan: a flow in its forms."""
    return _forms(wire(load_document(ir, "the flow", FlowCatalog()).usable()))


def _forms(wired: WiredFlow) -> dict[str, Any]:
    pipe = result_of(pipe_of, wired, of=PflowError, otherwise=None)  # not every flow has this form
    return {"ir": flow_to_ir(wired.flow), **({"pipe": pipe} if pipe else {})}
