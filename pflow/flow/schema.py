"""The JSON schema of a flow's file, which `pflow check --schema` prints, and the check of a document against it."""

from __future__ import annotations

from pflow import Any
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.flow import INLINE_MEMBERS, MAX_VISITS, MODEL_VISITS, version_numbers
from pflow.interface.common import MOST_JOBS
from pflow.text.naming import guess, tries_hint
from pflow.values.jsontext import encode
from pflow.values.paths import Path, type_name
from pflow.values.types import parse_type

Schema = dict[str, Any]

VERSION = 1
TYPE_FORMAT = "pflow-type"
"""The `format` of a text that is a type, such as `list[str]`; other validators ignore unknown formats."""


def _of(type: str, description: str, **more: Any) -> Schema:
    return {"description": description, "type": type, **more}


def _text(description: str, **more: Any) -> Schema:
    return _of("string", description, **more)


def _name(description: str, **more: Any) -> Schema:
    return _text(description, minLength=1, **more)


def _whole(description: str, least: int, **more: Any) -> Schema:
    return _of("integer", description, minimum=least, **more)


def _map(description: str, values: Schema | None = None, **more: Any) -> Schema:
    return _of("object", description, additionalProperties=values or {}, **more)


def _object(description: str, members: Schema, **more: Any) -> Schema:
    return _of("object", description, properties=members, additionalProperties=False, **more)


_TEXT: Schema = {"type": "string"}

_BATCH = _object(
    "Runs the step once for each item of a list, or member of an object.",
    {
        "over": _name("The path of the list or the object."),
        "as": _name(
            "The step's name for one item; for a path, AS_name, AS_stem and AS_dir are its parts.", default="item"
        ),
        "jobs": _whole("The number of items that run at the same time.", 1, maximum=MOST_JOBS),
        "on_error": _text(
            "When an item fails: stop, or keep going with null for its result and the failure in ID.errors.",
            enum=["stop", "keep"],
            default="stop",
        ),
        "keep_item": _of(
            "boolean", "If true, each result holds its item: {item, WRITE} instead of the write's value.", default=False
        ),
    },
    required=["over"],
)

_NODE = _object(
    "One step. It needs an id, a type or a name.",
    {
        "id": _name("The name of the step in this flow; by default after its type."),
        "type": _name("The node that it runs, flow:NAME, or a path to a flow's file; else the name or the id."),
        "name": _name("The type, if that is not given."),
        "description": _text("The purpose of the step, in the user's words.", default=""),
        "version": _text("The node's version: the same major, and at least this.", pattern=r"^[0-9]+(\.[0-9]+){0,2}$"),
        "params": _map("How it works; templates are expanded just before it runs.", default={}),
        "inputs": _map("What it works on: a value for a read, as a flag would give it.", default={}),
        "retries": _whole("The number of further tries when it fails.", 0),
        "wait": _of("number", "Seconds before each further try.", minimum=0),
        "timeout": _of("number", "Seconds after which it has failed.", exclusiveMinimum=0),
        "max_visits": _whole("How often it may run; by default as the flow says.", 1),
        "repeats": _of(
            "boolean", "If true, it may run again without harm after it was cut short; else its node says it."
        ),
        "cache": {
            "description": "If true, its answers are kept and reused for the same values; require: it never runs.",
            "enum": [True, False, "require"],
        },
        "batch": _BATCH,
        **{each: {"description": f"The {each} of its own.", "$ref": f"#/properties/{each}"} for each in INLINE_MEMBERS},
        "input_bindings": _map("An older form: the store's key for each read. Write mappings.", _TEXT, deprecated=True),
        "output_bindings": _map(
            "An older form: the store's key for each write. Write mappings.", _TEXT, deprecated=True
        ),
        "config": _map("An older form: the params. Write params.", deprecated=True),
    },
    anyOf=[{"required": [each]} for each in ("id", "type", "name", "nodes")],
)

_EDGE = _object(
    "Leads from one step to another, for one action.",
    {
        "from": _text("The id of the step that it leads from."),
        "to": _text("The id of the step that it leads to."),
        "action": _name("The action of the first step that takes this edge.", default="default"),
    },
    required=["from", "to"],
)

_MAPPING = _object(
    "Where one step's reads come from and its writes go to.",
    {
        "input_mappings": _map(
            "For each read: a path, template: and text, or a list of paths; of these, the one written last counts.",
            {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]},
            default={},
        ),
        "output_mappings": _map(
            "For each write: the path that it goes to; for *: the path under which all others go.", _TEXT, default={}
        ),
        "soft": {
            "type": "array",
            "items": _TEXT,
            "description": "The reads whose mapping counts only if the store has no key of their name.",
        },
    },
)

_INPUT = _object(
    "A value that the flow starts with.",
    {
        "type": _text(
            "str, int, float, bool, path, bytes, list, dict, any, a|b|c, list[…] or dict{…}.",
            format=TYPE_FORMAT,
            default="any",
        ),
        "description": _text("A description of the value.", default=""),
        "required": _of("boolean", "If true, the flow needs it; ignored if it has a default.", default=True),
        "pipe": _of("boolean", "If true, it takes the data from the pipe.", default=False),
        "default": {"description": "Its value if none is given."},
    },
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"pflow:flow:{VERSION}",
    **_object(
        "A pflow flow: nodes, edges and mappings.",
        {
            "$schema": _text("For editors: the address of this schema."),
            "pflow": _whole("The version of this form.", VERSION, maximum=VERSION, default=VERSION),
            "name": _text("The name of the flow.", default=""),
            "description": _text("The purpose of the flow, in the user's words.", default=""),
            "inputs": _map("Its inputs; by default each source that no step writes.", _INPUT, default={}),
            "outputs": _map(
                "Its outputs, each with its path, or template: and text; by default the whole store.", _TEXT, default={}
            ),
            "nodes": _of("array", "The steps; the first one starts the flow.", items=_NODE, minItems=1),
            "edges": _of("array", "The edges; without this member, the steps follow one another.", items=_EDGE),
            "mappings": _map("The mappings of each step, by its id.", _MAPPING, default={}),
            "max_visits": _whole(
                f"How often any step may run; by default {MAX_VISITS} times, or {MODEL_VISITS} if it asks a model.", 1
            ),
        },
        required=["nodes"],
    ),
}


_TYPES: dict[str, tuple[Any, str, str]] = {
    "string": (str, "a str", 'write "…"'),
    "integer": (int | float, "an int", "write a whole number"),
    "number": (int | float, "a number", "write a number"),
    "boolean": (bool, "a bool", "write true or false"),
    "object": (dict, "a dict", 'write {"…": …}'),
    "array": (list, "a list", "write […]"),
}
"""For each type of JSON schema: the Python types of its values, its name in messages, and the remedy."""


def _is_of_type(value: Any, type_name: str) -> bool:
    """Return True if a value is of a type of JSON schema. 2.0 is an integer there, as in other validators."""
    if type_name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[type_name][0]) and (type_name == "boolean" or not isinstance(value, bool))


def type_fault(text: str) -> str:
    """Say why a text is not a type; "" if it is one."""
    try:
        end = parse_type(text)[1]
    except ValueError as error:
        return str(error)
    return f"'{text[end:]}' follows the type '{text[:end]}'" if end < len(text) else ""


_LEFT_OUT: Any = object()

OTHER_WORDS = {
    "condition": 'a step returns an action, which chooses the edge: {"from": …, "to": …, "action": …}',
    "flow": 'nodes and edges stand at the top; a step of type "flow" has its own, "flow:NAME" runs another flow',
}
"""The remedies for members and types of other programs, for which a near name of ours would be a wrong guess."""


def check_shape(document: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return a document without the parts of a wrong shape (in lists, null replaces them), and a finding for each."""
    findings: list[Finding] = []
    return _well_formed(document, SCHEMA, (), findings), findings


_INLINE = 'write "over": "items", and "inputs": {"items": {"type": "list", "default": […]}} in the flow'
"""The remedy for a batch whose `over` is the list itself instead of a path."""


def _well_formed(value: Any, schema: Schema, location: Path, findings: list[Finding]) -> Any:
    """Return a value without its parts of a wrong shape; _LEFT_OUT if nothing is left."""
    if "$ref" in schema:
        schema = SCHEMA["properties"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema and "properties" not in schema:
        schema = schema["anyOf"][isinstance(value, list)]
    if fault := _fault(value, schema):
        is_inline = location[-2:] == ("batch", "over") and isinstance(value, list)
        findings.append(Finding(SHAPE, location, fault[0], _INLINE if is_inline else fault[1]))
        return _LEFT_OUT
    if "items" in schema:
        checked = [_well_formed(each, schema["items"], (*location, n), findings) for n, each in enumerate(value)]
        return [None if each is _LEFT_OUT else each for each in checked]
    if schema.get("type") != "object":
        return int(value) if schema.get("type") == "integer" else value
    members = schema.get("properties", {})
    findings += _missing(value, schema, location)
    sound = {}
    for key, each in value.items():
        if members and key not in members:
            remedy = OTHER_WORDS.get(key) or tries_hint(key, each, 'a step\'s "retries"') or guess(key, members)
            findings.append(Finding(SHAPE, (*location, key), "unknown member", remedy))
            continue
        checked = _well_formed(each, members.get(key, schema["additionalProperties"]), (*location, key), findings)
        if checked is not _LEFT_OUT:
            sound[key] = checked
    return sound


def _missing(value: dict[str, Any], schema: Schema, location: Path) -> list[Finding]:
    if "anyOf" in schema and not any(each["required"][0] in value for each in schema["anyOf"]):
        return [Finding(SHAPE, location, "it has no id, type or name", 'add "type", the node that it runs')]
    missing = [name for name in schema.get("required", ()) if name not in value]
    return [Finding(SHAPE, location, f"'{name}' is missing", f'add "{name}"') for name in missing]


def _fault(value: Any, schema: Schema) -> tuple[str, str] | None:
    """Return what is wrong with a value, apart from its members, and the remedy."""
    type_name = schema.get("type")
    if type_name is None:
        choices = [str(encode(each), "utf-8") for each in schema.get("enum", ())]
        is_one = not choices or str(encode(value), "utf-8") in choices  # compared as JSON: in Python, 1 == True
        return None if is_one else (f"{_it_is(value)}, not {' or '.join(choices)}", f"write {choices[0]}")
    if not _is_of_type(value, type_name):
        _, wanted, remedy = _TYPES[type_name]
        return f"{_it_is(value)}, not {wanted}", remedy + (", or leave it out" if value is None else "")
    if type_name == "string":
        return _text_fault(value, schema)
    if type_name == "array":
        return ("it is empty", "write one") if len(value) < schema.get("minItems", 0) else None
    if type_name not in ("integer", "number"):
        return None
    if value < schema.get("minimum", value):
        return f"{_it_is(value)}, less than {schema['minimum']}", f"write {schema['minimum']} or more"
    if value > schema.get("maximum", value):
        most = schema["maximum"]
        remedy = "a newer pflow may read it" if most == VERSION else f"write {most} or less"
        return f"{_it_is(value)}, more than {most}", remedy
    if value <= schema.get("exclusiveMinimum", value - 1):
        return f"{_it_is(value)}, not more than 0", "write more than 0"
    return None


def _text_fault(value: str, schema: Schema) -> tuple[str, str] | None:
    if len(value) < schema.get("minLength", 0):
        return "it is empty", "write one"
    if "pattern" in schema and version_numbers(value) is None:
        return f"{_it_is(value)}, not a version", 'write one like "1.0.0"'
    if value not in schema.get("enum", (value,)):
        choices = " or ".join(schema["enum"])
        return f"{_it_is(value)}, not {choices}", f"write {choices}"
    if schema.get("format") == TYPE_FORMAT and (fault := type_fault(value)):
        return fault, "list[str], dict{title: str} and a|b are types too"
    return None


def _it_is(value: Any) -> str:
    shown = str(encode(value), "utf-8") if isinstance(value, int | float | str) else ""
    return f"it is {type_name(value)}" + (f" ({shown})" if 0 < len(shown) < 40 else "")
