"""Flows that the tests of the rules are made of, and what they are found to have."""

import pytest

from pflow.values.paths import look_up
from tests.flow.checked import edges, errors, findings, flow, shown, told

NUMBER = {"issue_number": {"type": "int"}}
COUNT = {"id": "count", "type": "count", "params": {"least": 1}}
LOAD = {"id": "load", "type": "load", "inputs": {"path": "p"}}
SAVE = {"id": "save", "type": "save", "inputs": {"path": "q"}}


def query(**members):
    return flow("fetch", {"id": "query", "type": "query", **members})


def step(type, **members):
    return flow({"id": "a", "type": type, **members})


def mapped(source, *nodes, key="prompt", **members):
    return flow("fetch", "query", *nodes, mappings={"query": {"input_mappings": {key: source}}}, **members)


def written(target, **members):
    return flow("query", mappings={"query": {"output_mappings": {"answer": target}}}, **members)


def to(**targets):
    """Mappings of each step's answer."""
    return {id: {"output_mappings": {"answer": path}} for id, path in targets.items()}


def batch(over, item="text", **inputs):
    return flow("fetch", {"id": "query", "type": "query", "batch": {"over": over, "as": item}, "inputs": inputs})


def counted(source, node="fetch"):
    return flow(node, COUNT, mappings={"count": {"input_mappings": {"items": source}}})


def node(name, *lines):
    """A file with a node of this name and interface."""
    items = "".join(f"    - {line}\n" for line in lines)
    text = f"import pocketflow\nclass {name}(pocketflow.Node):\n    '''It.\n\n    Interface:\n{items}    '''\n"
    return {f"{name.lower()}.py": text}


AGAIN = edges("query judge", "judge failed mend", "mend query", "judge save")


def again(source, **members):
    """A loop back to the first step, whose `text` is mapped from there."""
    mend = {"id": "mend", "type": "query", "inputs": {"prompt": "Mend it"}}
    asked = {"query": {"input_mappings": {"text": source}}} if source else {}
    nodes = [{"id": "query", "type": "query", "inputs": {"prompt": "Begin"}}, "judge", mend, SAVE]
    saved = {"save": {"input_mappings": {"content": "judge.verdict"}}}
    mappings = {**asked, **to(mend="mended"), **saved}
    return flow(*nodes, edges=AGAIN, mappings=mappings, outputs={"it": "judge.verdict"}, **members)


FORK = edges("fetch a", "fetch b", "a save", "b save")


def fork(*nodes, **members):
    save = {"id": "save", "type": "save", "inputs": {"path": "p", "content": "c"}}
    return flow("fetch", *nodes, save, edges=FORK, **members)


def other_than(rule, findings):
    """The findings of other rules: most flows here use an answer as little as they can, and leave reads to flags."""
    return [each for each in findings if rule not in each and "PF03: warning" not in each]


BOTH = node("Both", 'Reads: shared["answer"]: str  # one', 'Reads: shared["used"]: int  # other')


def has_just(rows):
    """Return the test that each flow has these findings but for PF18, and that each points at something in the file."""

    @pytest.mark.parametrize(("document", "expected"), rows)
    def test(document, expected):
        there = findings(document)
        assert [shown(each) for each in there if each.rule != "PF18"] == expected
        for each in there:
            look_up(document, each.location)

    return test


def has_errors(rows):
    """Return the test that each flow has just these errors."""

    @pytest.mark.parametrize(("document", "expected"), rows)
    def test(document, expected):
        assert errors(document) == expected

    return test


def says(rows):
    """Return the test that each flow has one finding, with these words."""

    @pytest.mark.parametrize(("document", "words"), rows)
    def test(document, words):
        (finding,) = other_than("PF18", told(document, BOTH))
        assert words in finding

    return test
