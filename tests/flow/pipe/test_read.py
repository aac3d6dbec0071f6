"""Every line of pipe syntax in the seeds, wired."""

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.recognize import is_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.wiring import wire

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
            "clean-data": {"rows": "load-csv.rows"},
            "analyze": {"rows": "clean-data.rows"},
            "save-results": {"results": "report"},
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
