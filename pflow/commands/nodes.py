"""pflow nodes: every node there is and every saved flow, or the interface of some."""

from __future__ import annotations

from pflow.errors import FAILED, PflowError
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.help import usage as kinds
from pflow.help.usage import Argument, Flag, Usage
from pflow.terminal.colour import AUTO, WHEN, Colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.catalog.lines import Line

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
    Flag(("-h", "--help"), "print this help"),
]
USAGE.arguments = [Argument("NAME", kinds.NODE, repeats=True)]
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
        from pflow.help.text import help_text

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
        from pflow.catalog.entries import entries
        from pflow.flow.subflow import FlowCatalog

        return _print_json(entries(listed, FlowCatalog()))
    from pflow.commands._nodes_text import list_text
    from pflow.terminal.columns import terminal_width

    return _print(list_text(listed, terminal_width(otherwise=_ONE_LINE), _colour(when), is_ranked=is_ranked))


def _print_interfaces(names: list[str]) -> int:
    from pflow.catalog.entries import entry, find
    from pflow.flow.subflow import FlowCatalog

    catalog = FlowCatalog()
    return _print_json([entry(find(name, catalog)) for name in names])


def _print_json(entries: list[dict[str, object]]) -> int:
    from pflow.commands._print import print_json

    print_json(entries)
    return 0


def _details(names: list[str], when: str) -> str:
    from pflow.catalog.entries import entry, find, is_known
    from pflow.commands._nodes_text import detail_text
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
    from pflow.terminal.colour import colour_of

    return colour_of(1, when)


def _print(text: str) -> int:
    import os

    from pflow.process.stdout import write_pieces
    from pflow.terminal.columns import in_ascii, is_utf8

    write_pieces(1, [(text if is_utf8(os.environ) else in_ascii(text)).encode("utf-8", "replace")])
    return 0
