"""Plans as a model might write them, drawn by hypothesis: wired by mappings, templates and names, with odd values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from pflow.flow.rewrite import escaped

awkward = st.text(st.sampled_from("ab '\"\\\n\t$|;#=>:<&é—{}[](),.!*~`-_"), max_size=10)
texts = awkward | st.sampled_from(
    ["", "007", "$$", "$x", "${a.b}", "a => b", "# no", "it's", "template:x", "true", "1"]
)
jsons = st.recursive(texts | st.integers(-9, 9) | st.booleans() | st.none(), lambda each: st.lists(each, max_size=2))

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": texts,
    "any": texts,
    "path": texts.filter(bool),
    "int": st.integers(-9, 9),
    "float": st.sampled_from([0.5, 2.0, 3]),
    "bool": st.booleans(),
    "list": st.lists(texts, max_size=3),
    "dict": st.dictionaries(st.sampled_from("ab"), jsons, max_size=2),
}
BUNDLED = {
    "read-file": {"path": "path", "encoding": "str"},
    "llm": {"text": "any", "prompt": "str", "system": "str", "max_tokens": "int", "temperature": "float"},
    "shell": {"command": "str", "input": "any", "args": "list", "check": "bool"},
    "write-file": {"path": "path", "content": "any", "append": "bool"},
}
OWN = {
    "judge": {"text": "any", "strict": "bool", "level": "int"},
    "many": {
        "words": "list", "table": "dict", "score": "int", "rate": "float", "loud": "bool", "free": "any", "code": "str",
        "ratio": "float", "extra": "dict", "tags": "list",
    },
}  # fmt: skip
READS = {**BUNDLED, **OWN}
PARAMS = {"encoding", "system", "max_tokens", "temperature", "check", "append", "level", "ratio", "extra", "tags"}
VERBATIM = {"command", "code"}
NEEDED = {"read-file": ["path"], "shell": ["command"], "write-file": ["path", "content"], "judge": ["text"]}
PIPED = {"llm": ["text"], "shell": ["input"]}
WRITES = {"read-file": "content", "llm": "response", "shell": "stdout", "judge": "verdict", "many": "result"}
ACTIONS = {"judge": "failed", "shell": "error"}
INPUTS = {
    "topic": "str",
    "file": "path",
    "size": "int",
    "names": "list",
    "things": "dict",
    "on": "bool",
    "path": "path",
}


@st.composite
def inputs_of_plans(draw: st.DrawFn, *, is_plain: bool) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(list(INPUTS)), unique=True, max_size=3))
    inputs = {name: {"type": INPUTS[name], "default": draw(VALUES[INPUTS[name]])} for name in chosen}
    for given in inputs.values():
        if not is_plain and draw(st.integers(0, 7)) == 0:
            del given["default"]
    return inputs


@st.composite
def plans(draw: st.DrawFn, *, is_plain: bool = False) -> dict[str, Any]:
    """A plan's IR: a chain, or with a branch, a way back or a fork; nearly all of them pass the rules.

    Where `is_plain` it is a chain of bundled nodes in which each step says what it works on: all have a pipe form.
    """
    inputs = draw(inputs_of_plans(is_plain=is_plain))
    types = draw(st.lists(st.sampled_from(list(BUNDLED if is_plain else READS)), min_size=1, max_size=4))
    ids = [draw(st.sampled_from([f"s{number}", f"{type}-{number}"])) for number, type in enumerate(types)]
    nodes, mappings, sources = [], {}, []
    for id, type in zip(ids, types, strict=True):
        node, mapped = draw(steps(id, type, sources, inputs, is_plain=is_plain))
        nodes.append(node)
        mappings |= {id: {"input_mappings": mapped}} if mapped else {}
        sources += [f"{id}.{WRITES[type]}", *([] if is_plain else [WRITES[type]])] if type in WRITES else []
    plan = {"nodes": nodes, "inputs": inputs, "mappings": mappings}
    if sources and draw(st.booleans()):
        plan["outputs"] = {"out": sources[0]}
    return plan if is_plain else plan | draw(edges(ids, types))


@st.composite
def edges(draw: st.DrawFn, ids: list[str], types: list[str]) -> dict[str, Any]:
    """The edges of a chain and some more; often nothing, which is a chain too."""
    more: list[dict[str, str]] = []
    for id, type in zip(ids, types, strict=True):
        if type in ACTIONS and draw(st.booleans()):
            more.append({"from": id, "to": draw(st.sampled_from(ids)), "action": ACTIONS[type]})
    if len(ids) > 2 and draw(st.integers(0, 5)) == 0:
        more.append({"from": ids[0], "to": ids[2]})
    return {"edges": [{"from": one, "to": other} for one, other in pairwise(ids)] + more} if more else {}


@st.composite
def steps(
    draw: st.DrawFn, id: str, type: str, sources: list[str], inputs: dict[str, Any], *, is_plain: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A step and its input mappings: each read and param that it has is a value, a mapping or a template."""
    step: dict[str, Any] = {"id": id, "type": type, "inputs": {}, "params": {}}
    mapped: dict[str, Any] = {}
    needed = NEEDED.get(type, []) + (PIPED.get(type, []) if is_plain else [])
    optional = [key for key in READS[type] if key not in needed]
    for key in needed + draw(st.lists(st.sampled_from(optional), unique=True, max_size=3) if optional else st.just([])):
        kind = READS[type][key]
        fitting = ("str", "path") if kind == "any" else (kind,)
        there = [name for name, given in inputs.items() if given["type"] in fitting]
        there += sources if kind in ("any", "str") else []
        flags = step["params"] if key in PARAMS else step["inputs"]
        ways = (
            ["value"] if not there else ["value", "mapping", "whole"] + ["text", "mapped text"] * (kind in fitting[:1])
        )
        ways += ["name"] * (key in sources and not is_plain)
        ways = [way for way in ways if way in ("value", "mapping")] if key in VERBATIM else ways
        ways = [way for way in ways if "mapp" not in way] if key in PARAMS else ways
        way = draw(st.sampled_from(ways))
        source = draw(st.sampled_from(there)) if there else ""
        if way == "value":
            value = draw(VALUES[kind])
            flags[key] = value if key in VERBATIM else escaped(value)
        elif way == "mapping":
            mapped[key] = source
        elif way == "whole":
            flags[key] = f"${{{source}}}"
        elif way == "text":
            flags[key] = text_around(draw, kind, source)
        elif way == "mapped text":
            mapped[key] = "template:" + text_around(draw, kind, source)
    return step, mapped


def text_around(draw: st.DrawFn, kind: str, source: str) -> str:
    if kind not in ("str", "any", "path"):
        return f"${{{source}}}"
    return str(escaped(draw(texts))) + f"${{{source}}}" + str(escaped(draw(texts)))
