"""Every line of pipe syntax in the seeds, with stand-ins for the nodes that they name."""

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.recognize import is_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes

NODES = {
    "github_get_issue": """
    - Reads: shared["issue_number"]: int [flag issue]  # issue number
    - Reads: shared["repo"]: str = null  # which repository
    - Writes: shared["issue"]: str [pipe]  # what it says
    - Writes: shared["issue_title"]: str  # what it is called""",
    "claude_code": """
    - Reads: shared["prompt"]: str [pipe]  # what to do
    - Writes: shared["code_report"]: str [pipe]  # what was done""",
    "git_commit": """
    - Reads: shared["message"]: str [pipe]  # the commit message""",
    "github_add_comment": """
    - Reads: shared["issue_number"]: int [flag issue]  # issue number
    - Reads: shared["comment"]: str [pipe]  # what to say""",
    "yt_transcript": """
    - Reads: shared["url"]: str  # which video
    - Writes: shared["transcript"]: str [pipe]  # what is said in it
    - Params: language: str = "en"  # in which language""",
    "summarise_text": """
    - Reads: shared["text"]: str [pipe]  # what to summarise
    - Writes: shared["summary"]: str [pipe]  # the summary
    - Params: temperature: float = 0.7  # how freely""",
    "load_csv": """
    - Reads: shared["file"]: path [explicit]  # which file
    - Writes: shared["rows"]: list [pipe]  # its rows""",
    "clean_data": """
    - Reads: shared["data"]: list [pipe]  # rows
    - Writes: shared["cleaned"]: list [pipe]  # those that are whole
    - Params: strict: bool = false  # drop more""",
    "analyze": """
    - Reads: shared["data"]: list [pipe]  # rows
    - Writes: shared["findings"]: dict [pipe]  # what is in them
    - Params: method: quick|detailed = "quick"  # how""",
    "save_results": """
    - Reads: shared["results"]: any [pipe]  # what to save
    - Params: format: text|json = "text"  # in which form""",
}


@pytest.fixture(autouse=True)
def nodes(tmp_path):
    with own_nodes(tmp_path, NODES):
        yield


INSTRUCTIONS = """<instructions>
                        1. Understand the problem described in the issue
                        2. Search the codebase for relevant files
                        5. Return a report of what you have done as output
                      </instructions>
                      This is the issue: $issue"""

LINES = {
    "001, templates": (
        f'github-get-issue --issue=1234 >> claude-code --prompt="{INSTRUCTIONS}"',
        {},
    ),
    "001, dependencies": (
        """
github-get-issue --issue=1234 >>  # Outputs: shared["issue"], shared["issue_title"]
claude-code --prompt="...This is the issue: $issue" >>  # Depends on: shared["issue"]
llm --prompt="Write commit message for: $code_report" >>  # Depends on: shared["code_report"]
git-commit --message="$commit_message"  # Depends on: shared["commit_message"]
""",
        {
            "llm": {"prompt": "template:Write commit message for: $code_report"},
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
        {"llm": {"text": "issue"}, "github-add-comment": {"comment": "response"}},
    ),
    "003, generated": (
        "load-csv --file data.csv => clean-data => analyze => save-results",
        {"clean-data": {"data": "rows"}, "analyze": {"data": "cleaned"}, "save-results": {"results": "findings"}},
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
    assert len(flow.warnings) == (line == "001, dependencies")


def test_the_chain_of_seed_001_is_written_as_one_would_write_it():
    assert write_pipe(parse_pipe([LINES["001, dependencies"][0]])) == (
        "github-get-issue --issue-number=1234\n"
        "  => claude-code --prompt='...This is the issue: $issue'\n"
        "  => llm --prompt='Write commit message for: $code_report'\n"
        "  => git-commit --message='${response}'\n"
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
