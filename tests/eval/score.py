"""Scoring a plan: how far it is one of the flows that were expected of a sentence. Pure functions."""

from __future__ import annotations

import re
from posixpath import expanduser, normpath
from typing import Any

from pflow.explain.origins import Origins
from pflow.explain.pipe_form import with_literals
from pflow.flow.flow import Flow
from pflow.flow.load import load_document
from pflow.flow.pipe import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.paths import parse_path, write_path
from pflow.plan.declare_inputs import values_in

ASPECTS = ("valid", "nodes", "order", "mappings", "values")
FREE = {"prompt", "system", "criteria"}
"""Reads and params whose words are the model's own."""

ONE_READ = {"llm": {"prompt": "text", "system": "text"}, "shell": {"args": "input"}}
"""Reads of a node that a value may come in by just as well as by another, and that may take more than was expected."""

Feed = tuple[str, str, str]
"""A reader with its read, and what feeds it: the path of a write or of a part of it, `pipe`, `item` or `input`."""


class Facts:
    """What counts of a flow. Its steps are called after their types, in the order in which they run: `llm`, `llm-2`."""

    def __init__(self, flow: Flow) -> None:
        self.wired = wire(with_literals(wire(flow), {}))
        self.names = _names(self.wired)
        self.types = [_type(self.wired, id) for id in self.names]
        self.edges = {(self.names[edge.source], self.names[edge.target], edge.action) for edge in flow.edges}
        self.feeds: set[Feed] = set()
        self.values: dict[tuple[str, str], Any] = {}
        origins = Origins(self.wired)
        for id, step in self.wired.steps.items():
            for key in step.interface.reads:
                self._take(id, key, origins.of_read(step, key)[0])
            for key in step.step.params:
                if key not in step.interface.reads:
                    self._take(id, key, origins.of_param(step, key))
            if step.step.batch is not None:
                self.feeds |= {(self.names[id], "batch", path) for path in self._sources(origins.of_batch(step))}

    def _take(self, id: str, key: str, origin: dict[str, Any]) -> None:
        read = ONE_READ.get(_type(self.wired, id), {}).get(key, key)
        found = self._sources(origin)
        self.feeds |= {(self.names[id], read, source) for source in found}
        value = origin.get("value", origin.get("text"))
        if not found and value is not None and origin["from"] != "default":
            self.values[self.names[id], key] = value

    def _sources(self, origin: dict[str, Any]) -> set[str]:
        """What feeds a read: paths of writes by the names of their steps, `pipe`, `item` or `input`."""
        return {self._named(*feed) for feed in _feeds(self.wired, origin)}

    def _named(self, first: str | int, *rest: str | int) -> str:
        return write_path((self.names[str(first)], *rest)) if first in self.names else str(first)


def _names(plan: WiredFlow) -> dict[str, str]:
    names: dict[str, str] = {}
    ids = list(dict.fromkeys([*plan.graph.order(), *plan.steps]))
    for id in ids:
        type = _type(plan, id)
        number = sum(_type(plan, other) == type for other in names) + 1
        names[id] = type if number == 1 else f"{type}-{number}"
    return names


def _type(plan: WiredFlow, id: str) -> str:
    wired = plan.steps[id]
    return wired.kind.name if wired.kind is not None and not wired.step.type.startswith("flow:") else wired.step.type


class Score:
    """What is right of a plan, for each aspect, and in words what is not."""

    def __init__(self, right: dict[str, bool], differs: list[str]) -> None:
        self.right = right
        self.differs = differs

    @property
    def is_all_right(self) -> bool:
        return all(self.right.values())


def expected_flows(entry: dict[str, Any]) -> list[Flow]:
    """The flows of an entry of sentences.json: each pipe syntax, or IR where that has no pipe form."""
    return [
        parse_pipe([flow], FlowCatalog())
        if isinstance(flow, str)
        else load_document(flow, "expected", FlowCatalog()).usable()
        for flow in entry["flows"]
    ]


def score(entry: dict[str, Any], flow: Flow | None) -> Score:
    """The score of what came of a sentence, None for no flow, against the nearest of the flows expected."""
    if not entry["flows"]:
        right = flow is None
        return Score(dict.fromkeys(ASPECTS, right), [] if right else ["a flow, where no node can do it"])
    if flow is None:
        return Score(dict.fromkeys(ASPECTS, False), ["no flow"])
    found = Facts(flow)
    scores = [compared(entry["sentence"], Facts(wanted), found) for wanted in expected_flows(entry)]
    return max(scores, key=lambda score: sum(score.right.values()))


def compared(sentence: str, wanted: Facts, found: Facts) -> Score:
    right = {"valid": True, "nodes": sorted(wanted.types) == sorted(found.types)}
    right["order"] = (wanted.types, wanted.edges) == (found.types, found.edges)
    missing, extra = _missing(wanted.feeds, found.feeds), _extra(wanted, found)
    right["mappings"] = not (missing or extra)
    wrong = [key for key, value in wanted.values.items() if not _is_said(sentence, key, value, found.values.get(key))]
    right["values"] = not wrong
    differs = []
    if not right["order"]:
        differs.append(
            f"{' => '.join(found.types)}, not {' => '.join(wanted.types)}"
            if wanted.types != found.types
            else "other edges"
        )
    differs += [f"{step} {read} is not from {source}" for step, read, source in missing]
    differs += [f"{step} {read} is also from {source}" for step, read, source in extra]
    differs += [
        f"{step} {key} is {found.values.get((step, key))!r}, not {wanted.values[step, key]!r}" for step, key in wrong
    ]
    return Score(right, differs)


def _missing(wanted: set[Feed], found: set[Feed]) -> list[Feed]:
    """The feeds that are not there; a part of what was wanted will do."""
    return sorted(each for each in wanted if not any(_is_of(other, each) for other in found))


def _extra(wanted: Facts, found: Facts) -> list[Feed]:
    """What comes in beside what was wanted of a read, where more is not just more to go by."""
    types = dict(zip(wanted.names.values(), wanted.types, strict=True))
    fed = {each[:2] for each in wanted.feeds if each[1] not in ONE_READ.get(types[each[0]], {}).values()}
    there = [each for each in found.feeds if each[:2] in fed]
    return sorted(each for each in there if not any(_is_of(each, other) for other in wanted.feeds))


def _is_of(part: Feed, whole: Feed) -> bool:
    return part == whole or (part[:2] == whole[:2] and part[2].startswith((f"{whole[2]}.", f"{whole[2]}[")))


def _is_said(sentence: str, key: tuple[str, str], wanted: Any, found: Any) -> bool:
    """Whether a value is there as far as the sentence says it: whole, or the paths and numbers of it."""
    if key[1] in FREE:
        return True
    if isinstance(wanted, bool | int | float):
        return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)
    if isinstance(wanted, list):
        return wanted == found or not any(map(sentence.__contains__, map(str, wanted)))
    if not isinstance(wanted, str):
        return True
    named = [each.text for each in values_in(sentence)]
    if key[1] == "command":
        return isinstance(found, str) and _is_command(sentence, named, wanted, found)
    if _holds(sentence, wanted):
        return isinstance(found, str) and _is_same(named, wanted, found)
    return all(isinstance(found, str) and text in found for text in named if text in wanted)


def _holds(sentence: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", sentence, re.IGNORECASE) is not None


def _is_command(sentence: str, named: list[str], wanted: str, found: str) -> bool:
    """Whether a command has the words of the one expected that the sentence says, and what it names in that order."""
    said = [word for word in wanted.split() if _holds(sentence, word)]
    files = ".*".join(re.escape(word) for word in said if word in named)
    return all(word in found for word in said) and re.search(files, found, re.DOTALL) is not None


def _is_same(named: list[str], wanted: str, found: str) -> bool:
    """Whether a value is the one that is said: a path however it is written, any other text in either case."""
    if wanted not in named:
        return found.casefold() == wanted.casefold()
    return normpath(expanduser(found)) == normpath(expanduser(wanted))


def _feeds(wired: WiredFlow, origin: dict[str, Any]) -> set[tuple[str | int, ...]]:
    """What feeds a read, of its origin (pflow.explain.origins)."""
    found: set[tuple[str | int, ...]] = {feed for each in origin.get("of", []) for feed in _feeds(wired, each)}
    if origin["from"] in ("pipe", "item", "input"):
        found.add((origin["from"], origin.get("input", "")))
    for place in map(parse_path, origin.get("paths", [])):
        for writer in origin["written_by"]:
            step = wired.steps[writer]
            targets = {key: step.place_of(key) for key in [*step.interface.writes, *step.targets]}
            found |= {
                (writer, key, *place[len(target) :])
                for key, target in targets.items()
                if place[: len(target)] == target
            }
    return found
