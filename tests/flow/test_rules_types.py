"""PF15: the types of what reads are mapped from, or take by name."""

import pytest

from pflow.flow.fits import MAYBE, NO, YES, fits, template_fits
from pflow.types import fit, parse_type
from tests.flow.checked import flow, found, only

VALUES = {
    "str": "x",
    "int": 1,
    "float": 1.5,
    "bool": True,
    "path": "p",
    "bytes": b"b",
    "list": [1],
    "list[str]": ["a"],
    "list[int]": [1],
    "dict": {"a": 1},
    "dict{a: int}": {"a": 1},
    "a|b": "a",
}


def of(text):
    return parse_type(text)[0]


@pytest.mark.parametrize("wanted", [*VALUES, "any"])
@pytest.mark.parametrize("there", VALUES)
def test_a_type_that_never_fits_has_no_value_that_does(there, wanted):
    """Held against what takes the values when a flow runs."""
    try:
        fit(of(wanted), VALUES[there])
        takes = True
    except ValueError:
        takes = False
    if takes:
        assert fits(of(there), of(wanted)) != NO
    else:
        assert fits(of(there), of(wanted)) != YES or wanted == "a|b" or there == "list"


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        ("int", "str", YES),
        ("dict", "str", YES),
        ("int", "float", YES),
        ("float", "int", MAYBE),
        ("any", "str", YES),
        ("any", "int", MAYBE),
        ("any", "any", YES),
        ("str", "int", NO),
        ("str", "list", NO),
        ("list[int]", "list[str]", YES),
        ("list[str]", "list[int]", NO),
        ("list", "list[int]", YES),
        ("a|b", "a|b|c", YES),
        ("a|b", "b|c", MAYBE),
        ("a|b", "c|d", NO),
        ("str", "a|b", YES),
        ("int", "a|b", NO),
        ("path", "bytes", YES),
    ],
)
def test_which_types_fit_which(there, wanted, expected):
    assert fits(of(there), of(wanted)) == expected


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [("str", "int", YES), ("list", "int", NO), ("str", "list[str]", YES), ("dict", "int", NO), ("any", "int", YES)],
)
def test_text_in_a_template_is_read_as_a_flag_is(there, wanted, expected):
    assert template_fits(of(there), of(wanted)) == expected


def counted(source, node="fetch"):
    count = {"id": "count", "type": "count", "params": {"least": 1}}
    return flow(node, count, mappings={"count": {"input_mappings": {"items": source}}})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fetch.issue_data.labels", []),
        ("fetch.issue_data.title", ["PF15 mappings.count.input_mappings.items"]),
        ("fetch.issue_data.votes", ["PF15 mappings.count.input_mappings.items"]),
        ("fetch.issue_data", ["PF15 mappings.count.input_mappings.items"]),
        (["fetch.issue_data.labels", "fetch.issue_data.votes"], ["PF15 mappings.count.input_mappings.items"]),
        ("template:${fetch.issue_data.labels}", []),
        ("template:${fetch.issue_data.title}", []),
        ("template:${fetch.issue_data}", []),
        ("somewhere", []),
    ],
)
def test_a_mapped_value_is_of_the_type_of_its_read(source, expected):
    assert found(counted(source)) == expected


def test_both_types_are_named():
    finding = only(counted("fetch.issue_data.votes"))
    assert "'items' wants a list[str], and 'fetch.issue_data.votes' is an int; map it from a list[str]" in finding


def test_any_is_a_warning_where_a_node_says_that_it_writes_it():
    load = {"id": "load", "type": "load", "inputs": {"path": "p"}}
    assert found(counted("load.content", load)) == ["PF15? mappings.count.input_mappings.items"]
    assert [each for each in found(counted("anything.content", "anything")) if "PF15" in each] == []


def test_a_read_by_name_is_of_the_type_that_was_written():
    node = {"items.py": "import pocketflow\nclass Items(pocketflow.Node):\n    '''I.\n\n    Interface:\n"
            "    - Writes: shared[\"items\"]: int  # how many\n    '''\n"}  # fmt: skip
    document = flow("items", {"id": "count", "type": "count", "params": {"least": 1}})
    assert "'count' reads 'items' as a list[str], and 'items' writes it as an int" in only(document, node)
    assert found({**document, "mappings": {"items": {"output_mappings": {"items": "other"}}}}, node) == []


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("int", []),
        ("any", []),
        ("float", []),
        ("str", ["PF15 inputs.issue_number.type"]),
    ],
)
def test_a_declared_input_is_of_the_type_of_its_readers(type, expected):
    assert found(flow("fetch", inputs={"issue_number": {"type": type}})) == expected


def test_a_batch_runs_over_a_list_or_an_object():
    def over(path):
        node = {"id": "ask", "type": "ask", "batch": {"over": path, "as": "text"}, "inputs": {"prompt": "p"}}
        return found(flow("fetch", node))

    assert over("fetch.issue_data.labels") == over("fetch.issue_data") == over("unknown") == []
    assert over("fetch.issue_data.votes") == over("fetch.issue_data.title") == ["PF15 nodes[1].batch.over"]
