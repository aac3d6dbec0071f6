"""Texts of a flow's file that would be code, in every place of one, and what an exporter makes of it."""

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.export import exporter
from pflow.flow.ir import load_document
from pflow.flow.subflow import wire_and_check
from tests.export.cases import chain, edge, node

SH = "\n>CANARY\n"
PYTHON = '"""\nopen("CANARY", "w")\n"""'
BREAKS = [
    *(SH, "';>CANARY;'", "$(>CANARY)", "`>CANARY`", '";>CANARY;"', "\\", "\\'", "a='b>CANARY", "*) >CANARY;;", "-n"),
    *(PYTHON, '"); open("CANARY", "w"); ("', "'", '"', '\\"', "{0}", "\u2028\u0085\r", "\0", "\x1b[31m\x9b"),
    *("%%{init: {}}%%", '"]\n    n9["x', '" --> n9', "\\N", "&quot;", "<b>", "#quot;", "\n---\n", " => shell #", "::"),
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
hostile = st.sampled_from(BREAKS) | st.tuples(texts, st.sampled_from(BREAKS), texts).map("".join) | texts
SHELL = node("a", "shell", inputs={"command": "true"})


def of_input(name="text", **about):
    """A flow whose only step takes an input, which is declared."""
    source = f"[{json.dumps(name)}]"
    return chain(SHELL, inputs={name: about}, mappings={"a": {"input_mappings": {"input": source}}})


def of_batch(over, item):
    """A flow whose only step runs once for each item, and takes it."""
    step = {**SHELL, "batch": {"over": over, "as": item}}
    return chain(step, mappings={"a": {"input_mappings": {"input": f"[{json.dumps(item)}]"}}})


PLACES = {
    "a name": lambda text: {**of_input(), "name": text},
    "a description": lambda text: {**chain(SHELL), "name": "x", "description": text},
    "an input": lambda text: of_input(text, type="str"),
    "the words of an input": lambda text: of_input(type="str", description=text),
    "a default": lambda text: of_input(type="any", default=[text, {text: text}]),
    "a type of an input": lambda text: of_input(type=text),
    "an output": lambda text: {**chain(SHELL), "outputs": {text: "stdout"}},
    "an id": lambda text: chain({**SHELL, "id": text}),
    "a type": lambda text: chain({**SHELL, "type": text}),
    "a version": lambda text: chain({**SHELL, "version": text}),
    "a value": lambda text: chain(node("a", "say", inputs=dict.fromkeys(("value", "tone"), text.replace("$", "$$")))),
    "a command": lambda text: chain(node("a", "shell", inputs={"command": text, "args": [text, "", text]})),
    "a param": lambda text: chain(node("a", "summarise-text", params={text: text})),
    "an action": lambda text: chain(SHELL, {**SHELL, "id": "b"}, edges=[edge("a", "b", text)]),
    "a path": lambda text: chain(SHELL, mappings={"a": {"input_mappings": {"input": text}}}),
    "a key": lambda text: chain(SHELL, mappings={"a": {"output_mappings": {"stdout": f"[{json.dumps(text)}]"}}}),
    "a write": lambda text: chain(SHELL, mappings={"a": {"output_mappings": {text: "x"}}}),
    "an item": lambda text: of_batch("l", text),
    "a batch": lambda text: of_batch(f"[{json.dumps(text)}]", "item"),
}

every_place = pytest.mark.parametrize("make", PLACES.values(), ids=PLACES)


def exported(target, make, text):
    """The text of the flow that has this text in it, and the flow; nothing where it is refused."""
    try:
        wired = wire_and_check(load_document(make(text), "flow"), "export")
        return exporter(target).export(wired), wired
    except PflowError as error:
        if error.exit != 65:
            raise
        return "", None


few = settings(max_examples=20)


def printable(text):
    return "".join(each if each.isprintable() else " " for each in text)
