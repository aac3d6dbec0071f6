"""What a model may build with: each node and saved flow in a few exact lines; of many, those that matter."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pflow.catalog.kinds import BUNDLED, FLOW, list_kinds
from pflow.catalog.lines import cannot_read, lines
from pflow.errors import PflowError
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired import WiredFlow
from pflow.interface.interface import UNDECLARED, Interface, Item
from pflow.library.nearest import About, nearest
from pflow.library.saved import Saved, list_saved, readable
from pflow.models.choose import Model, is_small
from pflow.plan.limits import PERSONS
from pflow.plan.secrets import hider
from pflow.terminal.messages import say
from pflow.values.jsontext import text_of
from pflow.values.masks import MASK, is_secret_name
from pflow.words.printable import clean

ROOM = 24_000
"""Characters for all of them; past that, those that matter."""

_ROOM_SMALL = 3_000
"""For a small model: the nodes that come with pflow, and little more."""

_LONGEST_DOC = 200
_NEAREST_FLOWS, _NEAREST_NODES = 3, 5
"""How many are named where no model can plan: a sentence takes one flow, and several nodes."""


@dataclass
class Blocks:
    """The text for a model, and the `digest` of all nodes and flows, described or not.

    `types` are the names of all, where all are described.
    """

    text: str
    digest: str
    types: list[str]


@dataclass
class _Block:
    name: str
    text: str
    is_bundled: bool = False


def building_blocks(sentence: str, room: int = ROOM) -> Blocks:
    """Every node and saved flow; where that takes too much room, the bundled nodes and what the sentence is about."""
    saved = saved_flows()
    blocks = list(_blocks(saved))
    chosen = _chosen(blocks, sentence, room)
    left = len(blocks) - len(chosen)
    more = f"\n\n({left} more, which have less to do with the task, are left out.)" if left > 0 else ""
    types = [] if left > 0 else [each.name for each in chosen]
    return Blocks("\n\n".join(each.text for each in chosen) + more, _digest(blocks, saved), types)


def room_for(model: Model) -> int:
    return _ROOM_SMALL if is_small(model) else ROOM


def saved_flows() -> list[Saved]:
    """Every saved flow that can be read, by name. What cannot be read is reported, and stops no plan."""
    try:
        return readable(list_saved(), "pflow")
    except PflowError as error:
        say("pflow", error.message)
        return []


def add_nearest(error: PflowError, sentence: str) -> PflowError:
    """The same error; its hint and `details` name the nearest saved flows and nodes."""
    flows = _near(sentence, [(each.name, each.description) for each in saved_flows()])
    there = [line for line in lines(FlowCatalog()) if line.is_there and line.origin != FLOW]
    nodes = _near(sentence, [(line.name, f"{line.summary} {line.words}") for line in there])
    error.details = {"flows": flows[:_NEAREST_FLOWS], "nodes": nodes[:_NEAREST_NODES]}
    named = [f"{what}: {', '.join(error.details[key])}" for what, key in (("saved flows", "flows"), ("nodes", "nodes"))
             if error.details[key]]  # fmt: skip
    hints = [error.hint, "pipe syntax, 'a => b', needs none"]
    error.hint = "; ".join([*hints, *([f"nearest {', '.join(named)}"] if named else [])])
    return error


def _blocks(saved: Iterable[Saved]) -> Iterator[_Block]:
    """The nodes, then the saved flows; without those of which `pflow nodes` says what is wrong, and of flows stderr."""
    catalog, hide = FlowCatalog(), hider()
    flows = [f"flow:{each.name}" for each in saved]
    for name, kind in [*((kind.name, kind) for kind in list_kinds()), *((name, catalog.find(name)) for name in flows)]:
        try:
            if kind is not None:
                yield _Block(name, interface_text(name, kind.interface, hide), is_bundled=kind.origin == BUNDLED)
        except (PflowError, OSError, ValueError, RecursionError) as error:
            if kind is not None and kind.origin == FLOW:
                say("pflow", error.message if isinstance(error, PflowError) else cannot_read(kind.file, error))


def _chosen(blocks: list[_Block], sentence: str, room: int) -> list[_Block]:
    if sum(len(each.text) + 2 for each in blocks) <= room:
        return blocks
    by_name = {each.name: each for each in blocks}
    chosen = {each.name for each in blocks if each.is_bundled}
    room -= sum(len(by_name[name].text) for name in chosen)
    for name in _near(sentence, [(each.name, each.text) for each in blocks]):
        if name not in chosen and len(by_name[name].text) <= room:
            chosen.add(name)
            room -= len(by_name[name].text)
    return [each for each in blocks if each.name in chosen]


def _near(sentence: str, abouts: Sequence[tuple[str, str]]) -> list[str]:
    """The names of what a sentence is about, best first."""
    return [match.about.name for match in nearest(sentence, [About(name, text) for name, text in abouts])]


def _digest(blocks: list[_Block], saved: list[Saved]) -> str:
    digest = hashlib.sha256()
    contents = [(each.name, each.text) for each in blocks] + [(each.file, _content(each.file)) for each in saved]
    for name, text in contents:
        digest.update(f"{len(text)} {name}\n{text}".encode("utf-8", "replace"))
    return digest.hexdigest()


def _content(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def interface_text(name: str, interface: Interface, hide: Callable[[str], str]) -> str:
    """Return an interface in its docstring's words, a line an item, without what a person chooses; `hide` masks."""
    text = [f"{name}: {_line(interface.summary, hide)}"]
    if interface.open:
        text.append("  any reads, writes and params")
    for kind, items in (("read", interface.reads), ("write", interface.writes), ("param", interface.params)):
        text += [f"  {kind} {_item(item, hide)}" for item in items.values() if not _is_choice(name, item)]
    if interface.actions != ("default",):
        text.append(f"  actions {', '.join(interface.actions)}")
    if interface.effects:
        text.append(f"  effects {', '.join(interface.effects)}")
    return "\n".join(text)


def interfaces_text(wired: WiredFlow) -> str:
    """The interface of each kind of node in a flow, once."""
    kinds = {step.step.type: step.interface for step in wired.steps.values() if step.kind is not None}
    hide = hider()
    return "\n\n".join(interface_text(type, interface, hide) for type, interface in kinds.items()) + "\n"


def _is_choice(name: str, item: Item) -> bool:
    """Whether a person chooses it, and an answer with it would only lose it again."""
    is_model = name == "llm" or name.startswith("flow:")
    return bool(item.env) or (is_model and item.kind == "param" and item.name.rpartition(".")[2] in PERSONS)


def _item(item: Item, hide: Callable[[str], str]) -> str:
    default = "" if item.default is UNDECLARED else f" = {_default(item)}"
    marks = "".join(f" [{mark}]" for mark in ("explicit", "verbatim", "secret") if mark in item.marks)
    about = f"  # {_line(item.doc, hide)}" if item.doc else ""
    return f"{item.name}: {item.type}{_line(default, hide)}{marks}{about}"


def _default(item: Item) -> str:
    if item.default is None:
        return "null"
    return MASK if "secret" in item.marks or is_secret_name(item.name) else text_of(item.default)


def _line(text: str, hide: Callable[[str], str]) -> str:
    text = hide(clean(text))
    return text if len(text) <= _LONGEST_DOC else text[: _LONGEST_DOC - 1] + "…"
