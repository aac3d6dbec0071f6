"""Every line of pipe syntax in the seeds, wired; and pasted shell pipes, taken as they are or refused."""

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.recognize import is_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
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
    assert [warning.partition(" is not a part")[0] for warning in parse_pipe([text]).warnings] == warnings


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
