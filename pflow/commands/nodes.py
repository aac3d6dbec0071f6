"""pflow nodes: List the nodes, or show all that one declares.

Saved flows are listed too. With NAME it shows what that node or flow reads, writes, takes and does. pflow finds nodes
among its own, then in the directories of PFLOW_NODES and in pflow/nodes under XDG_DATA_HOME, then in packs and Python
distributions, then on PATH as pflow-NAME. The first node of a name is used everywhere. Their files are read, never run.
Nodes that are shadowed by another of the same name, or broken, come last, with the reason. NAME may be the path of such
a node, or of any other.

With --json each entry has what --describe prints, its origin, file and pack. Its name is the type of a step: flow:NAME
for a saved flow, whose inputs and outputs are its reads and writes.

The exit code is 0, even if a named node is broken; 1 if --search finds nothing; 127 for an unknown NAME.

\b
pflow nodes
pflow nodes llm write-file
pflow nodes --search 'write file'
pflow nodes --json | jq -r '.[] | select(.reads) | .name'
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.catalog.find import BUNDLED, FLOW, PROGRAM, PYTHON
from pflow.catalog.lines import Listing, about, entry, find, line_entry, lines
from pflow.commands._command import COLOR, Command
from pflow.commands._output import print_json, print_text, report_damaged_packs
from pflow.errors import FAILED, PflowError
from pflow.flow.subflow import FlowCatalog
from pflow.help.spec import NODE
from pflow.interface.account import inferred_in_words
from pflow.interface.interface import TEXT, TEXTS, Flag, argument, spell_flag
from pflow.terminal.columns import PLAIN, Colour, colour_of, table, terminal_width, value_text, wrap
from pflow.text.printable import clean

if TYPE_CHECKING:
    from pflow.catalog.find import NodeType

    Account = dict[str, Any]

_ONE_LINE = 1 << 30
"""The width of a list that is not printed on a terminal: each node has a single line, for grep."""


@Command(
    __doc__,
    Flag("json", "print the interfaces as one JSON list"),
    Flag("search", "list only nodes that match all these words, best first", type=TEXT, metavar="WORDS"),
    COLOR,
    argument("[NAME]…", NODE, name="names", type=TEXTS),
    quick=True,
)
def command(names: list[str], json: bool, search: str | None, color: str) -> None:
    """Raises PflowError: 127 for an unknown name, 1 for a search that finds nothing."""
    catalog, colour = FlowCatalog(), colour_of(1, color)
    if search is not None:
        wanted = " ".join([search, *names]).split()
        listed = about(lines(catalog), wanted)
        if not listed:
            raise PflowError(
                f"cannot find a node about '{' '.join(wanted)}'", hint="pflow nodes lists all", exit=FAILED
            )
    elif names:
        node_types = [find(name, catalog) for name in names]
        if json:
            print_json([entry(node_type) for node_type in node_types])
        else:
            print_text("\n".join(detail_text(node_type, terminal_width(), colour) for node_type in node_types))
        return
    else:
        listed = lines(catalog)
    report_damaged_packs("pflow nodes")
    if json:
        print_json([line_entry(line) for line in listed])
    else:
        print_text(list_text(listed, terminal_width(otherwise=_ONE_LINE), colour, is_ranked=search is not None))


_TITLES = {
    BUNDLED: "Nodes that come with pflow",
    PYTHON: "Your own, in Python",
    PROGRAM: "Programs, your own and on PATH",
    FLOW: "Saved flows",
}


def list_text(listed: list[Listing], width: int, colour: Colour = PLAIN, *, is_ranked: bool = False) -> str:
    """Return a line for each node, with its name, version, effects and summary, grouped by origin unless ranked.

    Shadowed and broken nodes follow with the reason. Their lines are not cut, so that a path in them can be copied.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    reasons: dict[str, list[str]] = {"Shadowed": [], "Broken": []}
    for line in listed:
        if line.is_there:
            title = f"From {line.node_type.pack.label}" if line.node_type.pack else _TITLES[line.origin]
            title = "Found, best first" if is_ranked else clean(title)
            about = (line.name, line.version, line.touched, line.summary)
            rows.setdefault(title, []).append(tuple(map(clean, about)))
        if line.behind:
            why = clean(f"{line.file} is behind {line.behind}")
            reasons["Shadowed"].append(f"  {colour.warning(clean(line.name))}  {why}")
        if line.fault:
            why = clean(line.fault if line.file in line.fault else f"{line.file}: {line.fault}")
            reasons["Broken"].append(f"  {colour.fault(clean(line.name))}  {why}")
    groups = {title: table(each, width, first=colour.name) for title, each in rows.items()} | reasons
    return "\n".join("\n".join([colour.heading(title), *each]) + "\n" for title, each in groups.items() if each)


def detail_text(node_type: NodeType, width: int, colour: Colour = PLAIN) -> str:
    """Describe one node: its reads, writes and params, its actions and effects, its origin."""
    about = entry(node_type)
    if "reads" not in about:  # of an unreadable interface, only the fault is known
        return "\n".join(wrap(f"{clean(about['name'])}: {clean(about['fault'])}", width)) + "\n"
    summary, examples = f": {clean(about['summary'])}" if about["summary"] else "", node_type.interface.examples
    parts = [wrap(f"{clean(about['name'])} {clean(about['version'])}{summary}", width)]
    parts += [wrap(clean(paragraph), width) for paragraph in about["description"].split("\n\n") if paragraph]
    inferred = inferred_in_words(node_type.interface)
    where = f"From     {clean(about['file'])} ({about['origin']})"
    parts.append([where, *table(list(_facts(about, inferred)), width, indent=0)])
    for title in ("reads", "writes", "params"):
        rows = [_item(name, item) for name, item in about[title].items()]
        parts.append([colour.heading(title.title()), *table(rows, width, first=colour.name)] if rows else [])
    parts.append([colour.heading("Examples"), *(f"  {clean(line)}" for line in examples)] if examples else [])
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _facts(entry: Account, inferred: str) -> Iterator[tuple[str, str]]:
    if "pack" in entry:
        yield "Pack", clean(" ".join(filter(None, entry["pack"].values())))
    is_broken = "fault" in entry and entry["origin"] == PROGRAM
    if is_broken:
        yield "Broken", clean(entry["fault"])
    if entry["open"]:
        why = f": {clean(entry['fault'])}" if "fault" in entry and not is_broken else ""
        yield "Open", f"its interface is unknown, so any key and any param may pass{why}"
    else:
        yield "Effects", ", ".join(entry["effects"]) or "none"
        yield "Repeats", entry["repeats"]
    yield "Actions", ", ".join(map(clean, entry["actions"]))
    if entry["inferred"]:
        yield "Inferred", clean(inferred)
    if entry["flow_safe"]:
        yield "Pure", "same inputs and params, same outputs"


def _item(name: str, item: dict[str, Any]) -> tuple[str, str, str, str]:
    notes = ["required"] if item.get("required") else []
    if item.get("default") is not None:
        notes.append(f"default {value_text(item['default'])}")
    notes += item.get("marks", [])
    notes += map(spell_flag, item.get("flags", []))
    notes += [f"-{item['short']}"] if "short" in item else []
    notes += [item["env"]] if "env" in item else []
    return clean(name), item["type"], ", ".join(notes), clean(item["doc"])
