"""Writing the node of an MCP server's tool: its name, its interface, and the file of its class.

Texts from a server are data: each is put on one line, shortened, and escaped in a Python string.
"""

import json
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from keyword import iskeyword
from textwrap import indent
from unicodedata import normalize

from pflow.interface.common import RESERVED
from pflow.mcp.client.servers import Server
from pflow.mcp.schema import Schema, as_dict, as_list, choices_of, resolve, type_of
from pflow.text.naming import kebab
from pflow.text.printable import foreign_line

MADE = "# Made by pflow mcp add: pflow mcp remove "
"""The beginning of the file of each tool's class."""

_WRITES = """\
- Writes: shared["result"]: any [pipe]  # its answer: structured data, else its text
- Writes: shared["files"]: list[dict{type: str, data: bytes}]  # the images, sounds and files of its answer
- Writes: shared["links"]: list[dict]  # the links of its answer"""
_NO_PROPERTIES = RESERVED | {"result", "files", "links", "stdin"}
"""Names that a property must not have: the flags of every stage, the writes of every tool, and `stdin`."""

_LONGEST_NAME, _DIGITS = 100, 8
_LONGEST = 300
"""The most letters of a tool's or a property's name that are used."""
_HINTS = {"readOnlyHint": "changes nothing", "destructiveHint": "may destroy", "idempotentHint": "may be repeated"}


@dataclass(frozen=True)
class ToolNode:
    """The node of a tool: its name, the server's name for the tool, and the text of its file."""

    name: str
    tool: str
    text: str


def tool_nodes(server: Server, tools: list[Schema]) -> list[ToolNode]:
    """Return the nodes of a server's `tools`, which are JSON as in MCP.

    Flows use the names of nodes: so an existing node keeps its name, and no name depends on the order of the tools.
    """
    named = {tool["name"]: tool for tool in tools}
    had = {tool: name for name, tool in server.tools.items()}
    names = _made_unique({each: _node_name(server, each) for each in named}, "-", had)
    return [_tool_node(server, tool, names[each]) for each, tool in named.items()]


def _node_name(server: Server, tool: str) -> str:
    """Return the name of a tool's node, which has the server's name only once: git_log of git is mcp-git-log.

    A long name ends with a digest.
    """
    name = "-".join(["mcp", server.name, *_words(tool)])
    if name.startswith(f"mcp-{server.name}-{server.name}-"):
        name = name.replace(f"-{server.name}", "", 1)
    if len(name) <= _LONGEST_NAME:
        return name
    digest = sha256(tool.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
    return f"{name[: _LONGEST_NAME - _DIGITS - 1].rstrip('-')}-{digest}"


def _words(name: str) -> list[str]:
    """Split a name into words of a to z and digits. Other letters become their code points: 查 is u67e5."""
    start = normalize("NFC", name[:_LONGEST])
    words = "".join(map(_spelling, kebab(start))).split()
    return words or ["".join([f"u{ord(each):x}" for each in start])]


def _spelling(letter: str) -> str:
    plain = [each for each in normalize("NFKD", letter).casefold() if each.isascii() and each.isalnum()]
    return "".join(plain) or (f"u{ord(letter):x}" if letter.isalnum() else " ")


def _made_unique(spelt: dict[str, str], hyphen: str, had: Mapping[str, str]) -> dict[str, str]:
    """Return the spellings of names, with a number after each that equals an earlier one, apart from `-`.

    Their order: names that `had` a spelling, which they keep; names that are spelt without a change; the others.
    """
    apart: dict[str, str] = {}
    taken: set[str] = set()
    ranks = {each: (each not in had, each.replace("_", hyphen) not in spelt[each], each) for each in spelt}
    for name in sorted(spelt, key=ranks.__getitem__):
        number, found = 2, had.get(name, spelt[name])
        while found.replace("-", "") in taken:
            number, found = number + 1, f"{spelt[name]}{hyphen}{number}"
        taken.add(found.replace("-", ""))
        apart[name] = found
    return apart


def _tool_node(server: Server, tool: Schema, name: str) -> ToolNode:
    schema = _root(as_dict(tool.get("inputSchema")))
    properties = _properties(schema)
    lines = [*_about(server, tool), "", "Interface:", *_reads(schema, properties), _WRITES, *_effects(server, tool)]
    docstring = indent("\n".join(lines).replace("\\", "\\\\").replace('"""', r"\"\"\""), "    ")
    text = f"""\
{MADE}{server.name} takes it away.
from pflow.mcp.client.node import McpNode


class {"".join(map(str.capitalize, name.split("-")))}(McpNode):
    \"""{docstring.strip()}
    \"""

    version = "{re.sub("[^A-Za-z0-9.+-]", "", server.version)[:40] or "1.0.0"}"
    server = {server.name!r}
    tool = {tool["name"]!r}
    properties = {properties!r}
"""
    return ToolNode(name, tool["name"], text)


def _about(server: Server, tool: Schema) -> list[str]:
    """Return the summary (the first paragraph of the tool's description), the tool's own name and the hints.

    The other paragraphs follow as a quotation, since agents may otherwise take a server's text for orders.
    """
    words = str(tool.get("description") or tool.get("title") or "").strip()
    said, *more = map(_plain_line, re.split(r"\n\s*\n", words, maxsplit=1))
    hints = [words for hint, words in _HINTS.items() if as_dict(tool.get("annotations")).get(hint) is True]
    about = f"The tool {_json(tool['name'])} of the MCP server {server.name}."
    about += f" The server says that it {' and '.join(hints)}." if hints else ""
    about += f" It also says: {json.dumps(more[0], ensure_ascii=False)}" if more else ""
    return [about] if said in ("", "Interface:") else [said, "", about]


def _root(schema: Schema) -> Schema:
    """Return a tool's schema, with the properties of referenced and alternative schemas among its own."""
    found = {**schema, **resolve(schema, schema)}
    parts = {key: [resolve(each, schema) for each in as_list(found.get(key))] for key in ("allOf", "anyOf", "oneOf")}
    every = [found, *parts["allOf"]]
    members = [as_dict(each.get("properties")) for each in (*every, *parts["anyOf"], *parts["oneOf"])]
    found["properties"] = {name: ChainMap(*members)[name] for name in chain(*members)}
    return {**found, "required": [name for each in every for name in _required(each)]}


def _effects(server: Server, tool: Schema) -> list[str]:
    """Return the lines for the tool's effects and repeats. The server's hints count only if the user trusts them."""
    hints = as_dict(tool.get("annotations")) if server.trusts_hints else {}
    if hints.get("readOnlyHint") is not True:
        return ["- Effects: anything", f"- Repeats: {'yes' if hints.get('idempotentHint') is True else 'no'}"]
    more = "" if hints.get("openWorldHint") is False else ", network"
    return [f"- Effects: reads files{more}", "- Repeats: yes"]


def _properties(schema: Schema) -> dict[str, str]:
    """Return a schema's properties by the names of their flags, which are `arg_NAME` if NAME cannot be a flag."""
    names = dict.fromkeys([*as_dict(schema.get("properties")), *_required(schema)])
    flags = _made_unique({name: _flag_of(name) for name in names}, "_", had={})
    return {flags[name]: name for name in names}


def _flag_of(name: str) -> str:
    flag = "_".join(_words(name))[:_LONGEST_NAME].strip("_")
    is_free = flag[:1].isalpha() and flag not in _NO_PROPERTIES and not iskeyword(flag)
    is_free &= not flag.startswith("no_")  # --no-NAME turns the flag --NAME off
    return flag if is_free else f"arg_{flag}".strip("_")


def _required(schema: Schema) -> list[str]:
    return [each for each in as_list(schema.get("required")) if isinstance(each, str)]


def _reads(schema: Schema, properties: dict[str, str]) -> Iterator[str]:
    """Yield a line for each property. If exactly one required property is a text, the pipe fills it."""
    required = _required(schema)
    members = as_dict(schema.get("properties"))
    schemas = {flag: resolve(members.get(name), schema) for flag, name in properties.items()}
    types = {flag: type_of(each, schema) for flag, each in schemas.items()}
    texts = [flag for flag, name in properties.items() if name in required and types[flag].name == "str"]
    for flag, each in schemas.items():
        marks = " [pipe]" if texts == [flag] else "" if properties[flag] in required else " = null [explicit]"
        choices = [] if types[flag].choices else choices_of(each)
        about = [
            "" if flag == kebab(properties[flag]).replace("-", "_") else f"the property {_json(properties[flag])}",
            _plain_line(str(each.get("description") or each.get("title") or "")),
            foreign_line(f"one of {', '.join(map(_json, choices))}") if choices else "",
            f"default: {_json(each['default'])}" if each.get("default") is not None else "",
        ]
        line = f'- Reads: shared["{flag}"]: {types[flag]}{marks}  # {"; ".join(filter(None, about))}'
        yield line.removesuffix("  # ")


def _plain_line(text: str) -> str:
    """Return a server's words on one line, without ANSI colours."""
    return foreign_line(re.sub("\x1b\\[[^@-~]*[@-~]", "", text))


def _json(value: object) -> str:
    return foreign_line(json.dumps(value, ensure_ascii=False))
