"""Steps in parentheses: which flow they are, what goes in and out of it, and which are refused."""

import json

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire

TREE = "list-files '**/*.md' => ( read-file => llm 'To $language' => write-file 'o/$item_dir/$item_name' ):up --each"
TREE_IR = {
    "pflow": 1,
    "nodes": [
        {"id": "list-files", "type": "list-files", "inputs": {"pattern": "**/*.md"}},
        {
            "id": "up",
            "type": "flow",
            "batch": {"over": "files"},
            "nodes": [
                {"id": "read-file", "type": "read-file"},
                {"id": "llm", "type": "llm"},
                {"id": "write-file", "type": "write-file", "inputs": {"path": "o/$item_dir/$item_name"}},
            ],
            "mappings": {
                "llm": {"input_mappings": {"text": "content", "prompt": "template:To $language"}},
                "write-file": {"input_mappings": {"content": "response"}},
            },
        },
    ],
    "mappings": {"up": {"input_mappings": {"path": "item"}}},
}


def parse(*words):
    return parse_pipe(words, FlowCatalog())


LINES = """
list-files '**/*.md' =>
(  # each file

  read-file
  => llm:llm 'To $language'; ; llm => write-file 'o/$item_dir/$item_name'
):up --each
"""
WORDS = ["list-files", "**/*.md", "::", "(", "read-file", "::", "llm", "To $language", "::", "write-file"]
WORDS += ["o/$item_dir/$item_name", "):up", "--each"]


@pytest.mark.parametrize("words", [[TREE], [LINES], WORDS])
def test_steps_in_parentheses_are_a_step_with_a_flow_inside(words):
    flow = parse(*words)
    ir = flow_to_ir(flow)
    assert json.dumps(ir, sort_keys=True) == json.dumps(TREE_IR, sort_keys=True)
    assert flow_to_ir(parse(write_pipe(flow))) == ir
    wired = wire(flow)
    assert [name for name, each in wired.inputs.items() if each.required] == ["language"]
    assert [str(each) for each in check(wired)] == []


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("( read-file a => llm X ) => write-file o", ["response"]),
        ("( read-file a => llm X ) => write-file 'o/$content'", ["content", "response"]),
        ("( read-file a => llm X ):g --map-out=content=c => write-file o", ["content", "response"]),
        ("( llm X => llm Y ) => template '$response'", ["response"]),
        ("( llm X => shell cat ):g => template '${g.response} $exit_code'", ["response", "stdout", "exit_code"]),
        ("( ( llm X => shell cat ) => write-file o ) => shell cat --args='$response'", ["stdout"]),
        ("( write-file o --content=x ) => shell ls", []),
    ],
)
def test_out_comes_what_it_carries_and_what_later_steps_name(text, writes):
    wired = wire(parse(text))
    assert sorted(next(iter(wired.steps.values())).interface.writes) == sorted(writes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a => ( llm X", "at 'a => ( llm X': the ( here is never closed; a ) with spaces around it ends"),
        ("( ( llm X )", "at '( ( llm X )': the ( here is never closed"),
        ("( llm X) => llm Y", "the ( here is never closed"),
        ("llm X ) => llm Y", "at 'llm X ) => llm Y': this ) closes nothing"),
        ("(llm X ) => llm Y", "this ) closes nothing"),
        ("llm X => (llm Y)", "'(llm' is not a node: a step begins with one; put spaces around ( and )"),
        ("llm ( X )", "a ( begins a step; put a separator before it, or quotes around it"),
        ("llm X => ( )", "it has no step"),
        ("( llm X => ) => llm Y", "nothing follows '=>'"),
        ("( llm X ) Y", "( … ) cannot take the bare word 'Y'"),
        ("( llm X ) --tempo=1", "cannot take --tempo: no such flag"),
        ("( llm X --tempo=1 )", "cannot take --tempo: no such flag"),
        ("( llm X ):1a", "cannot name a step '1a'"),
        ("( llm X ):x:y", "cannot name a step 'x:y'"),
        ("( " * 21 + "llm X" + " )" * 21, "parentheses are nested more than 20 levels deep"),
    ],
)
def test_what_is_no_step_in_parentheses_is_refused_with_its_place(text, why):
    with pytest.raises(PflowError) as caught:
        parse(text)
    assert caught.value.exit == 2
    assert why in f"{caught.value.message}; {caught.value.hint}"


def test_parentheses_in_quotes_are_text():
    assert parse("llm '( a )' => llm \"(\" => llm \\(").steps[0].inputs == {"prompt": "( a )"}


def test_a_finding_inside_has_its_place():
    found = check(wire(parse("llm X => ( nope => ( llm Y; shell ls ) )")))
    places = [str(each).partition(";")[0] for each in found if not each.is_warning]
    assert places == [
        "nodes[1].nodes[0].type: PF11: there is no node 'nope'",
        "nodes[1].nodes[1].nodes[1]: PF12: no edge leads to 'shell'",
    ]


def test_a_file_for_each_item_that_is_written_from_the_list_drops_the_answers():
    flow = wire(parse("list-files x => read-file --each => llm X --each => write-file 'o/$item_name' --each=files"))
    assert [each.rule for each in check(flow)] == ["PF18"]
