"""The IR's shape, as pydantic models: what a flow's JSON may hold, and the JSON schema that says so."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pflow.flow.flow import MAX_VISITS
from pflow.types import parse_type

VERSION = 1
ID = f"pflow:flow:{VERSION}"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

# Nothing is converted, nothing is left over; no model but Document is validated, so only that one is built.
_STRICT = ConfigDict(strict=True, extra="forbid", defer_build=True)
_OLDER: Any = {"deprecated": True}
_UNSET: Any = None
"""Stands where a member has no default that could be written down."""


def _is_type(text: str) -> str:
    _, end = parse_type(text)
    if end < len(text):
        raise ValueError(f"'{text[end:]}' follows the type '{text[:end]}'")
    return text


Name = Annotated[str, Field(min_length=1)]
Times = Annotated[int, Field(ge=1)]
Values = dict[str, Any]


class Batch(BaseModel):
    """Runs a step once per item of a list, or per member of an object."""

    model_config = _STRICT
    over: Annotated[Name, Field(description="The path of the list or the object.")]
    item: Annotated[Name, Field(alias="as", description="What the step calls one item.")] = "item"
    jobs: Annotated[Times, Field(description="How many items run at the same time.")] = _UNSET
    on_error: Annotated[
        Literal["stop", "keep"],
        Field(
            description="When an item fails: stop, or keep going with null in its place and the failure in ID.errors."
        ),
    ] = "stop"


class Node(BaseModel):
    """One step. It needs an id, a type or a name."""

    model_config = ConfigDict(
        **_STRICT, json_schema_extra={"anyOf": [{"required": [each]} for each in ("id", "type", "name")]}
    )
    id: Annotated[Name, Field(description="What the step is called in this flow; else after its type.")] = _UNSET
    type: Annotated[
        Name,
        Field(description="The node that it runs, flow:NAME, or a path to a flow's file; else the name or the id."),
    ] = _UNSET
    name: Annotated[Name, Field(description="The type, where that is not given.")] = _UNSET
    description: Annotated[str, Field(description="What the step is for, in the user's words.")] = ""
    version: Annotated[
        str, Field(pattern=r"^[0-9]+(\.[0-9]+){0,2}$", description="The node's: the same major, and at least this.")
    ] = _UNSET
    params: Annotated[Values, Field(description="How it works; templates are expanded just before it runs.")] = {}
    inputs: Annotated[Values, Field(description="What it works on: a value for a read, as a flag would give it.")] = {}
    retries: Annotated[int, Field(ge=0, description="How many more tries it has when it fails.")] = _UNSET
    wait: Annotated[float, Field(ge=0, description="Seconds before each further try.")] = _UNSET
    timeout: Annotated[float, Field(gt=0, description="Seconds after which it has failed.")] = _UNSET
    max_visits: Annotated[Times, Field(description="How often it may run; else what the flow says.")] = _UNSET
    batch: Annotated[Batch, Field(description="What it runs once for each of.")] = _UNSET
    input_bindings: Annotated[
        dict[str, str],
        Field(description="An older form: the store's key for each read. Write mappings.", json_schema_extra=_OLDER),
    ] = _UNSET
    output_bindings: Annotated[
        dict[str, str],
        Field(description="An older form: the store's key for each write. Write mappings.", json_schema_extra=_OLDER),
    ] = _UNSET
    config: Annotated[
        Values, Field(description="An older form: the params. Write params.", json_schema_extra=_OLDER)
    ] = _UNSET


class Edge(BaseModel):
    """Leads from one step to another, for one action."""

    model_config = _STRICT
    source: Annotated[str, Field(alias="from", description="The id of the step that it leads from.")]
    target: Annotated[str, Field(alias="to", description="The id of the step that it leads to.")]
    action: Annotated[Name, Field(description="What the first step returns when this edge is taken.")] = "default"


class Mapping(BaseModel):
    """Where one step's reads come from and its writes go to."""

    model_config = _STRICT
    input_mappings: Annotated[
        dict[str, str | Annotated[list[str], Field(min_length=1)]],
        Field(description="For a read: a path, template: and text, or paths of which the one written last counts."),
    ] = {}
    output_mappings: Annotated[dict[str, str], Field(description="For a write: the path that it goes to; for *: where all others go below.")] = {}


class Input(BaseModel):
    """A value that the flow starts with."""

    model_config = _STRICT
    type: Annotated[
        str,
        AfterValidator(_is_type),
        Field(description="str, int, float, bool, path, bytes, list, dict, any, a|b|c, list[…] or dict{…}."),
    ] = "any"
    description: Annotated[str, Field(description="What it is.")] = ""
    required: Annotated[bool, Field(description="Whether the flow needs it; not where it has a default.")] = True
    pipe: Annotated[bool, Field(description="Whether it takes what comes through the pipe.")] = False
    default: Annotated[Any, Field(description="Its value where none is given.")] = None


class Document(BaseModel):
    """A flow of pflow's: nodes, edges and mappings."""

    model_config = _STRICT
    schema_: Annotated[str, Field(alias="$schema", description="For editors: where this schema lies.")] = _UNSET
    pflow: Annotated[int, Field(ge=VERSION, le=VERSION, description="The version of this form.")] = VERSION
    name: Annotated[str, Field(description="What the flow is called.")] = ""
    description: Annotated[str, Field(description="What it is for, in the user's words.")] = ""
    inputs: Annotated[
        dict[str, Input], Field(description="What it starts with; without any, each source that no step writes.")
    ] = {}
    outputs: Annotated[
        dict[str, str], Field(description="What it gives, and the path or template: that each comes from; else all.")
    ] = {}
    nodes: Annotated[list[Node], Field(min_length=1, description="The steps; the first one starts the flow.")]
    edges: Annotated[
        list[Edge], Field(description="What leads where; without this member, the steps follow one another.")
    ] = _UNSET
    mappings: Annotated[dict[str, Mapping], Field(description="For a step's id: its mappings.")] = {}
    max_visits: Annotated[Times, Field(description="How often any step may run.")] = MAX_VISITS


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Document,
    ("nodes",): Node,
    ("nodes", "batch"): Batch,
    ("edges",): Edge,
    ("inputs",): Input,
    ("mappings",): Mapping,
}


def errors(document: object) -> list[Any]:
    """What pydantic finds wrong with a document: for each error its `type`, `loc`, `input` and `ctx`."""
    try:
        Document.model_validate(document)
    except ValidationError as error:
        return list(error.errors(include_url=False))
    return []


def members(part: tuple[str, ...], *, with_older: bool = False) -> list[str]:
    """What a part may hold. It goes by the way to it without indexes and names: `()`, `("nodes",)`, `("mappings",)`."""
    fields = _MODELS[part].model_fields.items()
    return [field.alias or name for name, field in fields if with_older or field.json_schema_extra is not _OLDER]


def schema() -> dict[str, Any]:
    """The JSON schema of a flow's file."""
    return {"$schema": DRAFT, "$id": ID, **_plain(Document.model_json_schema())}


def _plain(schema: Any) -> Any:
    """A schema without the titles that pydantic makes up, and without a null that no member may be."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(each) for key, each in schema.items()}
    if isinstance(plain.get("title"), str):
        del plain["title"]
    if "default" in plain and plain["default"] is None:
        del plain["default"]
    return plain
