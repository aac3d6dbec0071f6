"""Scoring a plan: how far it is one of the flows that were expected of a sentence. Pure functions."""

import re
from posixpath import expanduser, normpath
from typing import Any

from pflow.explain.origins import Origins
from pflow.explain.pipe_form import with_literals
from pflow.flow.flow import FlowSpec
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired import WiredStep
from pflow.flow.wiring import wire

ASPECTS = ("valid", "nodes", "order", "mappings", "values")
FREE = {"prompt", "system", "criteria", "subject", "style"}
"""Reads and params whose words are the model's own: only what feeds them counts."""
LANGUAGES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "nl": "Dutch"}
"""The names of languages, which a node that takes a name knows by their codes, too."""
ONE_READ = {("llm", "prompt"): "text", ("llm", "system"): "text", ("shell", "args"): "input"}
"""Reads of a node that a value may come in by just as well as by another."""

Right = dict[str, bool]


class Facts:
    """What counts of a flow: its types in the order they run, edges, what feeds each read, and values.

    Steps are called after their types: `llm`, `llm-2`.
    """

    def __init__(self, flow: FlowSpec) -> None:
        wired = wire(with_literals(wire(flow), {}))
        self.names: dict[str, str] = {}
        self.types = [wired.steps[id].step.type for id in dict.fromkeys([*wired.graph.order, *wired.steps])]
        for number, id in enumerate(dict.fromkeys([*wired.graph.order, *wired.steps])):
            same = self.types[:number].count(self.types[number])
            self.names[id] = f"{self.types[number]}-{same + 1}" if same else self.types[number]
        self.edges = {(self.names[edge.source], self.names[edge.target], edge.action) for edge in flow.edges}
        self.feeds: set[tuple[str, str, str]] = set()
        self.values: dict[tuple[str, str], Any] = {}
        origins = Origins(wired)
        for id, step in wired.steps.items():
            for key in step.interface.reads:
                self._take(id, step, key, origins.of_read(step, key)[0])
            for key in [key for key in step.step.params if key not in step.interface.reads]:
                self._take(id, step, key, origins.of_param(step, key))
            if step.step.batch is not None:
                self._take(id, step, "batch", origins.of_batch(step))

    def _take(self, id: str, step: WiredStep, key: str, origin: dict[str, Any]) -> None:
        name, type = self.names[id], step.step.type
        item = step.interface.reads.get(key) or step.interface.params.get(key)
        default = item.default if item else None
        found = self._sources(origin)
        self.feeds |= {(name, ONE_READ.get((type, key), key), source) for source in found}
        value = origin.get("value", origin.get("text"))
        if not found and value is not None and origin["from"] != "default" and value != default:
            self.values[name, key] = value

    def _sources(self, origin: dict[str, Any]) -> set[str]:
        """What feeds a read: the step and the last name of a path, `pipe`, `item` or `input`."""
        found = {source for each in origin.get("of", []) for source in self._sources(each)}
        if origin["from"] in ("pipe", "item", "input"):
            found.add(origin["from"])
        for path in origin.get("paths", []):
            found |= {f"{self.names[id]}.{re.split(r'[.]', path)[-1]}" for id in origin["written_by"]}
        return found


def expected_flows(entry: dict[str, Any]) -> list[FlowSpec]:
    """The flows of an entry of sentences.json, each pipe syntax."""
    return [parse_pipe([flow], FlowCatalog()) for flow in entry["flows"]]


def score(entry: dict[str, Any], flow: FlowSpec | None) -> Right:
    """What is right of what came of a sentence, None for no flow, against the nearest of the flows expected."""
    if flow is None or not entry["flows"]:
        return dict.fromkeys(ASPECTS, flow is None and not entry["flows"])
    found = Facts(flow)
    scores = [_compared(entry["sentence"], Facts(wanted), found) for wanted in expected_flows(entry)]
    return max(scores, key=lambda right: sum(right.values()))


def _compared(sentence: str, wanted: Facts, found: Facts) -> Right:
    unasked = [key for key in found.values if key not in wanted.values and key[1] not in FREE]
    return {
        "valid": True,
        "nodes": sorted(wanted.types) == sorted(found.types),
        "order": (wanted.types, wanted.edges) == (found.types, found.edges),
        "mappings": wanted.feeds == found.feeds,
        "values": not unasked
        and all(_is_said(sentence, key, value, found.values.get(key)) for key, value in wanted.values.items()),
    }


def _is_said(sentence: str, key: tuple[str, str], wanted: Any, found: Any) -> bool:
    """Whether a value is there as far as the sentence says it: a text in either case, the words of a command.

    What a sentence says in other words (a switch, a pattern, the program of a command) is as it is expected.
    """
    if key[1] in FREE:
        return True
    if not isinstance(wanted, str):
        parts = wanted if isinstance(wanted, list) else [wanted]
        return wanted == found or not (isinstance(wanted, bool) or any(str(each) in sentence for each in parts))
    said, text = sentence.casefold(), str(found)
    if key[1] == "language" and LANGUAGES.get(text) == wanted:
        return True
    if key[1] == "command":
        words = [word for word in wanted.split() if word.casefold() in said]
        return text.split()[:1] == wanted.split()[:1] and all(word in text for word in words)
    if key[1] != "pattern" and wanted.casefold() not in said:
        return all(word in text for word in wanted.split() if word.casefold() in said)
    return normpath(expanduser(text)).casefold() == normpath(expanduser(wanted)).casefold()
