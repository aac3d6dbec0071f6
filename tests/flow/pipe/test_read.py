"""Every line of pipe syntax in the seeds, wired; pasted shell pipes, taken or refused; steps in parentheses."""

import json

import pytest

from pflow.errors import PflowError
from pflow.flow.ir import flow_to_ir
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.scan import is_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.flow.refusal import refusal

INSTRUCTIONS = """<instructions>
                        1. Understand the problem described in the issue
                        2. Search the codebase for relevant files
                        5. Return a report of what you have done as output
                      </instructions>
                      This is the issue: $issue"""

LINES = {
    "001, templates": (
        f'github-get-issue --issue=1234 >> claude-code --prompt="{INSTRUCTIONS}"',
        {"claude-code": {"prompt": f"template:{INSTRUCTIONS}"}},
    ),
    "001, dependencies": (
        """
github-get-issue --issue=1234 >>  # Outputs: shared["issue"], shared["issue_title"]
claude-code --prompt="...This is the issue: $issue" >>  # Depends on: shared["issue"]
llm --prompt="Write commit message for: $code_report" >>  # Depends on: shared["code_report"]
git-commit --message="$commit_message"  # Depends on: shared["commit_message"]
""",
        {
            "claude-code": {"prompt": "template:...This is the issue: $issue"},
            "llm": {"prompt": "template:Write commit message for: ${claude-code.report}"},
        },
    ),
    "002, chain": (
        "pflow yt-transcript --url=https://youtu.be/abc >> summarise-text --temperature=0.9",
        {"summarise-text": {"text": "transcript"}},
    ),
    "002, walk-through": (
        "pflow yt-transcript \\\n  --url=https://youtu.be/abc123 \\\n  >> summarise-text \\\n  --temperature=0.9\n",
        {"summarise-text": {"text": "transcript"}},
    ),
    "003, sequential": (
        'pflow read-file --path=data.txt => llm --prompt="Summarize this data" => write-file --path=summary.md',
        {"llm": {"text": "content"}, "write-file": {"content": "response"}},
    ),
    "003, several llm steps": (
        'pflow yt-transcript --url=VIDEO => \\\n  llm --prompt="Extract key points" => \\\n'
        '  llm --prompt="Create presentation outline" => \\\n  write-file --path=outline.md',
        {
            "llm": {"text": "transcript"},
            "llm-2": {"text": "llm.response"},
            "write-file": {"content": "llm-2.response"},
        },
    ),
    "003, platforms": (
        'pflow github-get-issue --repo=owner/repo --issue=123 => \\\n  llm --prompt="Analyze this issue and suggest a'
        ' fix" => \\\n  github-add-comment --issue=123',
        {"llm": {"text": "issue"}, "github-add-comment": {"body": "response"}},
    ),
    "003, generated": (
        "load-csv --file data.csv => clean-data => analyze => save-results",
        {
            "clean-data": {name: f"load-csv.{name}" for name in ("rows", "columns", "text_columns")},
            "analyze": {name: f"clean-data.{name}" for name in ("rows", "columns", "text_columns")},
            "save-results": {"results": "report", "columns": "clean-data.columns"},
        },
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_seeds_is_wired_as_its_text_says(line):
    text, mappings = LINES[line]
    assert is_pipe([text])
    flow = parse_pipe([text])
    assert {step.id: step.input_mappings for step in flow.steps if step.input_mappings} == mappings
    findings = check(wire(flow))
    assert [str(finding) for finding in findings if not finding.is_warning or finding.rule == "PF18"] == []
    assert len(flow.warnings) == 2 * (line == "001, dependencies")


def test_the_chain_of_seed_001_is_written_as_one_would_write_it():
    assert write_pipe(parse_pipe([LINES["001, dependencies"][0]])) == (
        "github-get-issue --issue-number=1234\n"
        "  => claude-code --prompt='...This is the issue: $issue'\n"
        "  => llm --prompt='Write commit message for: ${claude-code.report}'\n"
        "  => git-commit --message='${llm.response}'\n"
    )


@pytest.mark.parametrize(
    "line",
    ["cat notes.txt | pflow summarise-text", 'cat notes.txt | pflow llm --prompt="Summarize this"'],
)
def test_a_pipe_from_another_program_says_what_to_write(line):
    assert is_pipe([line])
    with pytest.raises(PflowError) as caught:
        parse_pipe([line])
    assert caught.value.message.endswith("'cat' is a program, not a node")
    assert caught.value.hint == "read-file --path=notes.txt"


def ids(text):
    return [step.id for step in parse_pipe([text]).steps]


@pytest.mark.parametrize(
    "text",
    [
        "pflow-read-file --path=a | pflow-llm --prompt=x | pflow-write-file --path=b",
        "pflow-read-file --path=a |\n  pflow-llm --prompt=x |\n  pflow-write-file --path=b",
        "pflow-read-file --path=a | \\\n  pflow-llm --prompt=x | \\\n  pflow-write-file --path=b",
        "./bin/pflow-read-file --path=a | /usr/bin/pflow-llm --prompt=x | pflow-write-file --path=b -q",
        "pflow read-file --path=a | pflow llm --prompt=x | pflow write-file --path=b",
        "pflow read-file --path=a => llm --prompt=x >> write-file --path=b",
        "pflow-read-file -n --path=a|pflow-llm --prompt=x|write-file --path=b",
    ],
)
def test_a_shell_pipe_is_a_flow(text):
    flow = parse_pipe([text])
    assert ids(text) == ["read-file", "llm", "write-file"]
    assert [step.inputs for step in flow.steps] == [{"path": "a"}, {"prompt": "x"}, {"path": "b"}]
    assert flow.steps[1].input_mappings == {"text": "content"}
    assert flow.steps[2].input_mappings == {"content": "response"}


def test_a_flow_that_is_run_in_the_middle_is_a_step():
    flow = parse_pipe(["pflow-read-file --path=a | pflow run ./x.pflow.json --topic=y | pflow run flow:z"])
    assert [step.type for step in flow.steps] == ["read-file", "./x.pflow.json", "flow:z"]
    assert flow.steps[1].inputs == {"topic": "y"}


def test_an_id_names_a_step_and_puts_it_under_it():
    flow = parse_pipe(["pflow-llm --id=draft --prompt=x | pflow-llm --prompt='Improve ${draft.response}'"])
    assert [step.id for step in flow.steps] == ["draft", "llm"]
    assert flow.steps[0].output_mappings == {"response": "draft.response", "usage": "draft.usage"}
    assert flow.steps[1].output_mappings == {}
    assert flow.steps[1].input_mappings == {"prompt": "template:Improve ${draft.response}"}


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("pflow-read-file -n --path=a | pflow-llm", []),
        ("pflow-llm -n --prompt=a", ["-n of 'llm'"]),
        (
            "pflow-shell cat --from=text --allow-empty | pflow-write-file --path=o",
            ["--from of 'shell'", "--allow-empty of 'shell'"],
        ),
        ("pflow-llm | pflow-write-file --path=o -q", ["-q of 'write-file'"]),
        ("pflow-llm -j | pflow-llm --json", ["-j of 'llm'", "-j of 'llm-2'"]),
    ],
)
def test_flags_of_a_stream_are_left_to_the_run(text, warnings):
    assert [warning.partition(" does nothing in a flow")[0] for warning in parse_pipe([text]).warnings] == warnings


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cat notes.txt | pflow-llm", "'cat' is a program, not a node; read-file --path=notes.txt"),
        ("pflow-llm | tee x | pflow-llm", "'tee' is a program, not a node; write-file --path=x"),
        ("pflow-llm | jq '.a | .b' | pflow-llm", "'jq' is a program, not a node; shell --command="),
        ("FOO=1 pflow-llm | pflow-llm", "'FOO=1' is a program, not a node"),
        ("pflow-llm | pflow-get response", "'pflow-get' is not a node; write-file, or pflow run -r"),
        ("pflow-list-files a | pflow map 'llm Hi'", "'pflow map' is not a node; --each runs a step for each item"),
        ("pflow-llm 2>/dev/null | pflow-llm", "'2>/dev/null' is a redirection"),
        ("pflow-llm <in", "'<in' is a redirection, which only a shell does; read-file"),
        ("pflow-llm >> log.txt", "'>>' is a redirection here; => write-file --append"),
        ("pflow-llm --prompt=a>b", "a shell would interpret the > in '--prompt=a>b'; quote it"),
        ('pflow-llm --prompt="$(git diff)"', "pipe syntax runs no commands inside a text"),
    ],
)
def test_what_only_a_shell_can_do_is_refused(text, why):
    assert why in refusal(text)


def test_a_variable_of_the_shell_is_warned_of():
    doubled = parse_pipe(['pflow-llm --prompt="About $topic"'])
    assert doubled.warnings == [
        "a shell would expand its own variable in '--prompt=About $topic'; here it is a key of the store"
    ]
    assert doubled.steps[0].input_mappings == {"prompt": "template:About $topic"}
    assert parse_pipe(["pflow-llm --prompt='About $topic'"]).warnings == []
    assert parse_pipe(['llm --prompt="About $topic"']).warnings == []


def test_outside_a_pasted_pipe_a_bar_leads_on_and_signs_are_text():
    flow = parse_pipe(["read-file --path=a | llm --prompt=f(x)&y<z | what-is-this"])
    assert [step.id for step in flow.steps] == ["read-file", "llm", "what-is-this"]
    assert flow.steps[1].inputs == {"prompt": "f(x)&y<z"}


def test_a_name_that_a_step_was_given_is_no_program():
    flow = parse_pipe(["pflow-read-file --path=a | pflow-llm:jq --prompt=x =failed=> pflow-llm:y; y | jq"])
    assert [(edge.source, edge.target) for edge in flow.edges] == [("read-file", "jq"), ("jq", "y"), ("y", "jq")]


def test_a_text_that_no_command_line_can_hold_is_refused():
    with pytest.raises(PflowError) as failure:
        parse_pipe(["read-file a\ud800"])
    assert failure.value.exit == 2


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


SPLIT = """
list-files '**/*.md' =>
(  # each file

  read-file
  => llm:llm 'To $language'; ; llm => write-file 'o/$item_dir/$item_name'
):up --each
"""
WORDS = ["list-files", "**/*.md", "::", "(", "read-file", "::", "llm", "To $language", "::", "write-file"]
WORDS += ["o/$item_dir/$item_name", "):up", "--each"]


@pytest.mark.parametrize("words", [[TREE], [SPLIT], WORDS])
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
