"""What a model may build with: each node and saved flow in a few exact lines; of many, those that matter."""

from __future__ import annotations

from pflow.interface import UNDECLARED
from pflow.plan.limits import PERSONS
from pflow.plan.secrets import hide_secrets, is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from llm import Model

    from pflow.catalog.kinds import Kind
    from pflow.interface import Interface, Item
    from pflow.library.saved import Saved

ROOM = 24_000
"""Characters of the catalogue; past them, those that matter."""

_ROOM_SMALL = 3_000
"""Of the nodes that come with pflow, and little more."""

_MOST_FLOWS = 40
"""Saved flows that are told in full: each has to be loaded for that."""

_LONGEST_DOC = 200


class Catalogue:
    """The text for a model, and the `digest` of all there is, told or not: it changes when an interface does.

    `types` are the names of all there is, where all of it is told.
    """

    def __init__(self, text: str, digest: str, types: list[str]) -> None:
        self.text = text
        self.digest = digest
        self.types = types


class _Entry:
    def __init__(self, name: str, text: str, *, is_bundled: bool = False) -> None:
        self.name = name
        self.text = text
        self.is_bundled = is_bundled


def room_for(model: Model) -> int:
    """How many characters of catalogue a model is told."""
    from pflow.models.choose import is_small

    return _ROOM_SMALL if is_small(model) else ROOM


def catalogue(sentence: str, room: int = ROOM) -> Catalogue:
    """Every node and saved flow; where that takes too much room, the bundled nodes and what the sentence is about."""
    from pflow.plan.saved import saved_flows

    nodes = list(_nodes())
    saved = saved_flows()
    digest = _digest(nodes, saved)
    about = _about(sentence, saved)
    entries = nodes + list(_flows(about))
    chosen = _chosen(entries, sentence, room)
    left = len(saved) - len(about) + len(entries) - len(chosen)
    more = f"\n\n({left} more, which have less to do with the task, are left out.)" if left > 0 else ""
    types = [] if left > 0 else [each.name for each in chosen]
    return Catalogue("\n\n".join(each.text for each in chosen) + more, digest, types)


def _nodes() -> Iterable[_Entry]:
    from pflow.catalog.kinds import BUNDLED, list_kinds
    from pflow.errors import PflowError

    for kind in list_kinds():
        try:
            text = interface_text(kind.name, kind.interface)
        except (PflowError, OSError, ValueError, RecursionError):
            continue  # `pflow nodes` says what is wrong with it
        yield _Entry(kind.name, text, is_bundled=kind.origin == BUNDLED)


def _about(sentence: str, saved: list[Saved]) -> list[Saved]:
    """The saved flows that are worth being loaded."""
    if len(saved) <= _MOST_FLOWS:
        return saved
    by_name = {each.name: each for each in saved}
    return [by_name[name] for name in near(sentence, ((each.name, each.description) for each in saved))[:_MOST_FLOWS]]


def _flows(saved: Iterable[Saved]) -> Iterable[_Entry]:
    from pflow.errors import PflowError
    from pflow.flow.subflow import FlowCatalog

    catalog = FlowCatalog()

    for each in saved:
        try:
            kind: Kind | None = catalog.find(f"flow:{each.name}")
            text = interface_text(f"flow:{each.name}", kind.interface) if kind else ""
        except (PflowError, OSError, ValueError, RecursionError):
            continue
        if text:
            yield _Entry(f"flow:{each.name}", text)


def _chosen(entries: list[_Entry], sentence: str, room: int) -> list[_Entry]:
    if sum(len(each.text) + 2 for each in entries) <= room:
        return entries
    names = near(sentence, ((each.name, each.text) for each in entries))
    by_name = {each.name: each for each in entries}
    chosen = {each.name for each in entries if each.is_bundled}
    room -= sum(len(by_name[name].text) for name in chosen)
    for name in names:
        if name not in chosen and len(by_name[name].text) <= room:
            chosen.add(name)
            room -= len(by_name[name].text)
    return [each for each in entries if each.name in chosen]


def near(sentence: str, abouts: Iterable[tuple[str, str]]) -> list[str]:
    """The names of what a sentence is about, best first."""
    from pflow.library.nearest import About, nearest

    return [match.about.name for match in nearest(sentence, [About(name, text) for name, text in abouts])]


def _digest(nodes: list[_Entry], saved: list[Saved]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name, data in [(node.name, node.text.encode("utf-8", "replace")) for node in nodes] + [
        (f"flow:{each.name}", _content(each.file)) for each in saved
    ]:
        digest.update(f"{len(data)} {name}\n".encode("utf-8", "replace") + data)
    return digest.hexdigest()


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return b""


def interface_text(name: str, interface: Interface) -> str:
    """An interface in the words of its docstring, a line an item."""
    lines = [f"{name}: {_line(interface.summary)}"]
    if interface.open:
        lines.append("  any reads, writes and params")
    for kind, items in (("read", interface.reads), ("write", interface.writes), ("param", interface.params)):
        lines += [f"  {kind} {_item(item)}" for item in items.values() if not _is_choice(name, item)]
    if interface.actions != ("default",):
        lines.append(f"  actions {', '.join(interface.actions)}")
    if interface.effects:
        lines.append(f"  effects {', '.join(interface.effects)}")
    return "\n".join(lines)


def _is_choice(name: str, item: Item) -> bool:
    """Whether it is a person's to say, and would only be dropped."""
    is_model = name == "llm" or name.startswith("flow:")
    return bool(item.env) or (is_model and item.kind == "param" and item.name.rpartition(".")[2] in PERSONS)


def _item(item: Item) -> str:
    default = "" if item.default is UNDECLARED else f" = {_default(item)}"
    marks = "".join(f" [{mark}]" for mark in ("explicit", "verbatim", "secret") if mark in item.marks)
    return f"{item.name}: {item.type}{_line(default)}{marks}" + (f"  # {_line(item.doc)}" if item.doc else "")


def _default(item: Item) -> str:
    """A default in words, for whom it may be told: a secret's is nobody's."""
    from pflow.explain.account import MASK
    from pflow.jsontext import text_of

    if item.default is None:
        return "null"
    return MASK if "secret" in item.marks or is_secret_name(item.name) else text_of(item.default)


def _line(text: str) -> str:
    from pflow.terminal.columns import clean

    text = hide_secrets(clean(text))
    return text if len(text) <= _LONGEST_DOC else text[: _LONGEST_DOC - 1] + "…"
