"""pflow nodes: the nodes there are, a line each, or all that one node declares."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.catalog.entries import is_known
from pflow.catalog.kinds import BUNDLED, FLOW, PROGRAM, own_places
from pflow.errors import FAILED, PflowError
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.help import usage as kinds
from pflow.help.usage import HELP, Flag, Usage, argument
from pflow.terminal.columns import AUTO, PLAIN, WHEN, Colour, clean, table, value_text, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.catalog.lines import Line

    Entry = dict[str, Any]
    Row = tuple[str, ...]

_ONE_LINE = 1 << 30
"""The width of a list that is no terminal's: a line a node, for grep."""

USAGE = Usage(
    "pflow nodes",
    "List the nodes there are, and the saved flows; with NAME, what that node reads, writes, takes and does.",
    ("pflow nodes [--json] [--color WHEN] [NAME]…", "pflow nodes [--json] [--color WHEN] --search WORDS"),
)
USAGE.description = """\
Nodes are looked for among those that come with pflow, then in the directories of PFLOW_NODES and in pflow/nodes under
XDG_DATA_HOME, then on PATH as pflow-NAME; the first of a name is meant everywhere. Their files are read and never run.
What has a name that another has before it, or cannot be a node, stands at the end, with the reason. NAME may be a
path: that of such a file, or of a node that is elsewhere.

With --json each has what --describe prints, its origin and its file: the type of a step is its name, flow:NAME for a
saved flow, whose inputs and outputs are its reads and writes.

The exit code is 0, also where a node that was named is broken; 1 where --search finds nothing; 127 for an
unknown NAME."""
USAGE.flags = [
    Flag(("--json",), "print their interfaces as one JSON list"),
    Flag(("--search",), "only those of which all these words are said, best first", metavar="WORDS"),
    Flag(
        ("--color",),
        "print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set",
        metavar="|".join(WHEN),
        choices=WHEN,
    ),
    HELP,
]
USAGE.arguments = [argument("NAME", kinds.NODE, repeats=True)]
USAGE.examples = (
    "pflow nodes",
    "pflow nodes llm write-file",
    "pflow nodes --search 'write file'",
    "pflow nodes --json | jq -r '.[] | select(.reads) | .name'",
)


def main(words: list[str]) -> int:
    """Raises PflowError: 2 for wrong flags, 127 for an unknown name, 1 for a search that finds nothing."""
    flags, names = _split(words) if words else ({}, [])
    if "--help" in flags:
        from pflow.help.usage import help_text

        return _print(help_text(USAGE))
    when = flags.get("--color", [AUTO])[-1]
    if when not in WHEN:
        raise PflowError(f"cannot take '--color={when}': it is auto, always or never", exit=WRONG_FLAGS)
    as_json = "--json" in flags
    if "--search" in flags:
        return _search(" ".join([*flags["--search"], *names]).split(), when, as_json=as_json)
    if names:
        return _print_interfaces(names) if as_json else _print(_details(names, when))
    from pflow.catalog.lines import lines
    from pflow.flow.subflow import FlowCatalog

    return _list(lines(FlowCatalog()), when, as_json=as_json)


def _split(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    from pflow.help.usage import split_flags

    try:
        return split_flags(words, USAGE.flags)
    except PflowError as error:
        raise PflowError(error.message, hint="pflow nodes --help", exit=error.exit) from None


def _search(words: list[str], when: str, *, as_json: bool) -> int:
    from pflow.catalog.lines import about, lines
    from pflow.flow.subflow import FlowCatalog

    listed = about(lines(FlowCatalog()), words)
    if listed or as_json:
        _list(listed, when, as_json=as_json, is_ranked=True)
    if not listed:
        raise PflowError(f"cannot find a node about '{' '.join(words)}'", hint="pflow nodes lists all", exit=FAILED)
    return 0


def _list(listed: list[Line], when: str, *, as_json: bool, is_ranked: bool = False) -> int:
    if as_json:
        from pflow.catalog.entries import line_entry
        from pflow.flow.subflow import FlowCatalog

        catalog = FlowCatalog()
        return _print_json([line_entry(line, catalog) for line in listed])
    from pflow.terminal.columns import terminal_width

    return _print(list_text(listed, terminal_width(otherwise=_ONE_LINE), _colour(when), is_ranked=is_ranked))


def _print_interfaces(names: list[str]) -> int:
    from pflow.catalog.entries import entry, find
    from pflow.flow.subflow import FlowCatalog

    catalog = FlowCatalog()
    return _print_json([entry(find(name, catalog)) for name in names])


def _print_json(entries: list[dict[str, object]]) -> int:
    from pflow.commands._click import print_json

    print_json(entries)
    return 0


def _details(names: list[str], when: str) -> str:
    from pflow.catalog.entries import entry, find, is_known
    from pflow.flow.subflow import FlowCatalog
    from pflow.terminal.columns import terminal_width

    texts = []
    catalog = FlowCatalog()
    for kind in [find(name, catalog) for name in names]:
        about = entry(kind)
        is_read = is_known(about)
        description = kind.interface.description if is_read else ""
        examples = kind.interface.examples if is_read else ()
        texts.append(detail_text(about, description, examples, terminal_width(), _colour(when)))
    return "\n".join(texts)


def _colour(when: str) -> Colour:
    from pflow.terminal.columns import colour_of

    return colour_of(1, when)


def _print(text: str) -> int:
    import os

    from pflow.process.streams import write_pieces
    from pflow.terminal.columns import in_ascii, is_utf8

    write_pieces(1, [(text if is_utf8(os.environ) else in_ascii(text)).encode("utf-8", "replace")])
    return 0


_TITLES = {BUNDLED: "Nodes that come with pflow", FLOW: "Saved flows"}
_FOUND = "Found, best first"


def list_text(listed: list[Line], width: int, colour: Colour = PLAIN, *, is_ranked: bool = False) -> str:
    """A line for each node: its name, version, what it touches, what it is; ranked ones in their order, else by place.

    Then what is a node only by its look, and why: another has its name, or it has a fault.
    """
    own = set(own_places())
    groups: dict[str, list[Row]] = {}
    for line in listed:
        if line.is_there:
            title = _FOUND if is_ranked else _title(line, own)
            groups.setdefault(title, []).append((line.name, line.version, line.touched, line.summary))
    parts = [_group(title, rows, width, colour) for title, rows in groups.items()]
    hidden = [(line, f"{line.file} is behind {line.behind}") for line in listed if line.behind]
    faulty = [(line, _fault(line)) for line in listed if line.fault]
    parts += [_reasons("Shadowed", hidden, colour.warning, colour)] if hidden else []
    parts += [_reasons("Broken", faulty, colour.fault, colour)] if faulty else []
    return "\n".join(parts)


def _fault(line: Line) -> str:
    return line.fault if line.file in line.fault else f"{line.file}: {line.fault}"


def _title(line: Line, own: set[str]) -> str:
    if line.origin in _TITLES:
        return _TITLES[line.origin]
    folder = os.path.dirname(line.file)
    return f"Your own, in {folder}" if folder in own else f"Programs on PATH, in {folder}"


def _group(title: str, rows: list[Row], width: int, colour: Colour) -> str:
    shown = [tuple(map(clean, row)) for row in rows]
    return "\n".join([colour.heading(clean(title)), *table(shown, width, first=colour.name)]) + "\n"


def _reasons(title: str, rows: list[tuple[Line, str]], paint: Callable[[str], str], colour: Colour) -> str:
    """Why some are no nodes: whole lines, so that a path in them can be copied."""
    lines = [f"  {paint(clean(line.name))}  {clean(why)}" for line, why in rows]
    return "\n".join([colour.heading(title), *lines]) + "\n"


def detail_text(entry: Entry, description: str, examples: tuple[str, ...], width: int, colour: Colour = PLAIN) -> str:
    """What one node declares: its reads, writes and params, its actions and effects, where it comes from."""
    if not is_known(entry):
        return "\n".join(wrap(f"{clean(entry['name'])}: {clean(entry['fault'])}", width)) + "\n"
    summary = f": {clean(entry['summary'])}" if entry["summary"] else ""
    parts = [wrap(f"{clean(entry['name'])} {clean(entry['version'])}{summary}", width)]
    parts += [wrap(clean(paragraph), width) for paragraph in description.split("\n\n") if paragraph]
    where = f"From     {clean(entry['file'])} ({entry['origin']})"
    parts.append([where, *table(list(_facts(entry)), width, indent=0)])
    for title in ("reads", "writes", "params"):
        rows = [_item(name, item) for name, item in entry[title].items()]
        parts.append([colour.heading(title.title()), *table(rows, width, first=colour.name)] if rows else [])
    parts.append([colour.heading("Examples"), *(f"  {clean(line)}" for line in examples)] if examples else [])
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    is_broken = "fault" in entry and entry["origin"] == PROGRAM
    if is_broken:
        yield "Broken", clean(entry["fault"])
    if entry["open"]:
        why = f": {clean(entry['fault'])}" if "fault" in entry and not is_broken else ""
        yield "Open", f"its interface says nothing, so that any key and any param may pass{why}"
    else:
        yield "Effects", ", ".join(entry["effects"]) or "none"
    yield "Actions", ", ".join(map(clean, entry["actions"]))
    if entry["flow_safe"]:
        yield "Pure", "same inputs and params, same outputs"


def _item(name: str, item: dict[str, Any]) -> tuple[str, str, str, str]:
    notes = ["required"] if item.get("required") else []
    if item.get("default") is not None:
        notes.append(f"default {value_text(item['default'])}")
    notes += item.get("marks", [])
    notes += [f"--{flag.replace('_', '-')}" for flag in item.get("flags", [])]
    notes += [item["env"]] if "env" in item else []
    return clean(name), item["type"], ", ".join(notes), clean(item["doc"])
