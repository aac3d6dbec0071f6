"""pflow nodes: every node there is and every saved flow, or the interface of some."""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.kinds import Kind


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print their interfaces as one JSON list.")
@click.argument("names", nargs=-1, metavar="[NAME]…")
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the nodes there are, and the saved flows; with NAME, what that node reads, writes, takes and does.

    Their files are read and never run.

    \b
    pflow nodes
    pflow nodes llm write-file
    pflow nodes --json | jq -r '.[].name'
    """
    import os

    from pflow.flow.explaining.catalogue import everything, find
    from pflow.flow.explaining.columns import in_ascii, is_utf8
    from pflow.stage.stdout import write_pieces

    kinds = [find(name) for name in names] if names else everything()
    text = _json(kinds) if as_json else _text(kinds, in_detail=bool(names))
    write_pieces(1, [(text if as_json or is_utf8(os.environ) else in_ascii(text)).encode()])


def _json(kinds: list[Kind]) -> str:
    from pflow.flow.explaining.catalogue import entry
    from pflow.jsontext import encode

    return str(encode([entry(kind) for kind in kinds], escape=False), "utf-8") + "\n"


def _text(kinds: list[Kind], *, in_detail: bool) -> str:
    from pflow.flow.explaining.catalogue import entry
    from pflow.flow.explaining.catalogue_text import list_text
    from pflow.flow.explaining.columns import terminal_width

    entries = [entry(kind) for kind in kinds]
    if not in_detail:
        return list_text(entries, terminal_width())
    return "\n".join(map(_detail, kinds))


def _detail(kind: Kind) -> str:
    from pflow.flow.explaining.catalogue import entry, is_known
    from pflow.flow.explaining.catalogue_text import detail_text
    from pflow.flow.explaining.columns import terminal_width

    about = entry(kind)
    known = is_known(about)
    description = kind.interface.description if known else ""
    examples = kind.interface.examples if known else ()
    return detail_text(about, description, examples, terminal_width())
