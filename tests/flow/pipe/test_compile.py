"""Pipe syntax: from text to steps, edges, inputs and params."""

import os
import shlex

import pytest

from pflow.errors import PflowError
from pflow.flow import wiring
from pflow.flow.ir import flow_to_ir
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.scan import is_pipe, taken_for_redirection
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes
from tests.flow.refusal import refusal

NODES = {
    "judge": """
    - Reads: shared["text"]: any [pipe]  # what to judge
    - Reads: shared["strict"]: bool = false  # how
    - Writes: shared["verdict"]: str [pipe]  # what is to be said of it
    - Params: level: int = 1  # how much is asked for
    - Actions: default, failed""",
    "many": """
    - Reads: shared["words"]: list[str] = []  # some
    - Reads: shared["numbers"]: list[int] = []  # some
    - Reads: shared["table"]: dict = {}  # any
    - Reads: shared["rate"]: float = 1.0  # how fast
    - Reads: shared["issue_number"]: int = 0 [flag issue]  # which
    - Reads: shared["loud"]: bool = false  # how
    - Reads: shared["where"]: path = "." [explicit]  # where
    - Reads: shared["blob"]: bytes = null  # what
    - Reads: shared["code"]: str = "" [verbatim] [own]  # what to run
    - Reads: shared["token"]: str = null [secret]  # who asks
    - Params: form: text|json = "text"  # in which form
    - Params: flat: bool = true  # how deep
    - Params: extra: dict = {}  # more""",
    "prose": None,
}
SUBFLOW = """{"inputs": {"topic": {"type": "str"}}, "nodes": [{"id": "draft-it", "type": "llm"}],
"mappings": {"draft-it": {"input_mappings": {"prompt": "topic"}}}}"""


@pytest.fixture(autouse=True)
def nodes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pflow" / "flows").mkdir(parents=True)
    (tmp_path / "pflow" / "flows" / "fix-issue.pflow.json").write_text(SUBFLOW)
    (tmp_path / "sub.pflow.json").write_text(SUBFLOW)
    with own_nodes(tmp_path, NODES):
        yield


def steps(text):
    """`id type` of each step, `id` alone where the type is the same."""
    found = parse_pipe([text], FlowCatalog()).steps
    return [step.id if step.id == step.type else f"{step.id} {step.type}" for step in found]


def edges(text):
    return [f"{edge.source} {edge.action} {edge.target}" for edge in parse_pipe([text], FlowCatalog()).edges]


def step(text):
    return parse_pipe([text], FlowCatalog()).steps[0]


@pytest.mark.parametrize(
    "text",
    [
        "read-file --path=a => llm => write-file --path=b",
        "read-file --path=a >> llm >> write-file --path=b",
        "read-file --path=a | llm | write-file --path=b",
        "read-file --path=a|llm|write-file --path=b",
        "read-file --path=a :: llm :: write-file --path=b",
        "read-file --path=a =>\nllm\n\n  => # why\n # and\n\nwrite-file --path=b\n",
        "\n# first\nread-file --path=a \\\n  => llm \\\n  => write-file \\\n  --path=b\n\n",
        "read-file --path a => llm => write-file --path b;",
        ";read-file --path=a => llm => write-file --path=b; ;\n",
    ],
)
def test_separators_lead_from_step_to_step(text):
    flow = parse_pipe([text], FlowCatalog())
    assert [(step.id, step.inputs) for step in flow.steps] == [
        ("read-file", {"path": "a"}), ("llm", {}), ("write-file", {"path": "b"}),
    ]  # fmt: skip
    assert edges(text) == ["read-file default llm", "llm default write-file"]
    assert flow.dialect == "pipe"


def test_words_from_a_command_line_are_taken_as_they_are():
    flow = parse_pipe(["read-file", "--path", "a b", "::", "llm:x", '--prompt=it\'s # "|" => x', "=failed=>", "llm"])
    assert [step.id for step in flow.steps] == ["read-file", "x", "llm"]
    assert flow.steps[0].inputs == {"path": "a b"}
    assert flow.steps[1].inputs == {"prompt": 'it\'s # "|" => x'}
    assert [edge.action for edge in flow.edges] == ["default", "failed"]
    assert steps("llm") == ["llm"]


def test_a_step_without_a_name_is_called_after_its_type_and_numbered():
    assert steps("llm => llm => judge => llm") == ["llm", "llm-2 llm", "judge", "llm-3 llm"]
    assert steps("llm => llm:llm-2 => llm") == ["llm", "llm-2 llm", "llm-3 llm"]
    assert steps("llm => judge:llm") == ["llm-2 llm", "llm judge"]
    assert steps("flow:fix-issue => flow:fix-issue:x => ./sub.pflow.json => ./sub.pflow.json:y") == [
        "fix-issue flow:fix-issue", "x flow:fix-issue", "sub ./sub.pflow.json", "y ./sub.pflow.json",
    ]  # fmt: skip
    assert steps("fix-issue --topic=x => './1 odd.name.json'") == [
        "fix-issue flow:fix-issue",
        "step-1-odd-name ./1 odd.name.json",
    ]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("read-file a.txt => llm 'Sum up' => write-file o.md",
            "read-file --path=a.txt => llm --prompt='Sum up' => write-file --path=o.md"),
        ("llm -m x -s 'be brief' -o seed 1 Summarize => judge",
            "llm --model=x --system='be brief' --option=seed=1 --prompt=Summarize => judge"),
        ("llm:a Why -mx -oseed 1 -o top_p 0.5", "llm:a --prompt=Why --model=x --option=seed=1 --option=top_p=0.5"),
        ("llm --text=x 'On $topic, $$5' --id=b", "llm --text=x --prompt='On $topic, $$5' --id=b"),
        ("llm --verbatim '$5'", "llm --prompt='$$5'"),
        ("list-files *.txt --hidden => llm Why", "list-files --pattern=*.txt --hidden => llm --prompt=Why"),
        ("llm --map-in=prompt=topic -s -q", "llm --map-in=prompt=topic --system=-q"),
        ("read-file a => shell 'grep \"$1\" \"$2\"' '[1]' '$content'",
            "read-file --path=a => shell --command='grep \"$1\" \"$2\"' --args:='[\"[1]\",\"$content\"]'"),
        ("shell 'cat $@' -- -n --args --", "shell --command='cat $@' --args=-n --args=--args --args=--"),
        ("llm 'a => b' => write-file '|'", "llm --prompt='a => b' => write-file --path='|'"),
        ("llm read-file => write-file llm", "llm --prompt=read-file => write-file --path=llm"),
        ("llm:a x => llm a => a", "llm:a --prompt=x => llm --prompt=a => a"),
        ("llm:llm x => judge => llm y", "llm:llm --prompt=x => judge => llm --prompt=y"),
        ("llm '' => judge", "llm --prompt= => judge"),
        ("pflow-read-file a | pflow-llm Why -m x", "read-file --path=a | llm --prompt=Why --model=x"),
        ("pflow read-file a | pflow llm Why", "read-file --path=a | llm --prompt=Why"),
        ("llm --prompt@p.txt --schema@s.json => judge", "llm --prompt='On $topic' --schema='{\"$id\": 1}' => judge"),
        ("llm --verbatim --prompt@p.txt", "llm --prompt='On $$topic'"),
        ("llm @p.txt => write-file a@b", "llm --prompt=@p.txt => write-file --path=a@b"),
    ],
)  # fmt: skip
def test_words_and_letters_give_what_flags_give(tmp_path, text, same):
    (tmp_path / "p.txt").write_text("On $topic\n")
    (tmp_path / "s.json").write_text('{"$id": 1}\n')
    assert flow_to_ir(parse_pipe([text], FlowCatalog())) == flow_to_ir(parse_pipe([same], FlowCatalog()))
    words = shlex.split(text)
    if len(words) > 1 and "|" not in text and "$(" not in text:
        assert flow_to_ir(parse_pipe(words, FlowCatalog())) == flow_to_ir(parse_pipe([same], FlowCatalog()))


def test_a_saved_flow_takes_no_words():
    with pytest.raises(PflowError, match="cannot take the bare word 'x': it takes flags only") as caught:
        parse_pipe(["fix-issue x"], FlowCatalog())
    assert caught.value.hint == "--topic='x'"


def test_a_misspelt_node_is_told_whatever_words_it_has():
    flow = parse_pipe(["raed-file a.txt -m x --strict => llm -m y Why => wirte-file o"])
    remedies = [finding.remedy for finding in check(wire(flow)) if finding.rule == "PF11"]
    assert remedies == ["did you mean read-file?", "did you mean write-file?"]


def test_only_a_given_name_is_referred_back_to_and_bare():
    assert steps("judge:check =failed=> llm:fix => check; check => llm") == ["check judge", "fix llm", "llm"]
    assert steps("llm => judge => llm") == ["llm", "judge", "llm-2 llm"]
    assert steps("llm:judge => judge --strict") == ["judge llm", "judge-2 judge"]
    assert steps("llm:judge => judge") == ["judge llm"]
    assert edges("llm:judge => judge") == ["judge default judge"]
    assert steps("llm --id=draft => draft") == ["draft llm", "draft-2 draft"]


def test_actions_forks_and_loops_are_edges():
    text = "judge:check =failed=> llm:fix --prompt='…' => check; check => write-file --path=o"
    assert edges(text) == ["check failed fix", "check default write-file", "fix default check"]
    assert edges("llm:a => llm:b => llm:d; a => llm:c\nc => d; a => b; a =default=> b") == [
        "a default b", "a default c", "b default d", "c default d",
    ]  # fmt: skip
    assert edges("llm") == []
    assert edges("llm; judge") == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no step"),
        ("# nothing", "it has no step"),
        ("llm =>", "nothing follows '=>'"),
        ("=> llm", "there is nothing before '=>'"),
        ("llm => => judge", "there is nothing before '=>'"),
        ("llm || judge", "there is nothing before '|'; add a step, or leave it out; step =error=> other"),
        ("llm && judge", "'&&' works only in a shell"),
        ("llm -> judge", "'->' is not a separator; steps are joined by =>"),
        ("llm ==> judge", "'==>' is not a separator; steps are joined by =>"),
        ("llm → judge", "'→' is not a separator; steps are joined by =>"),
        ("llm x then judge", "'then' is not a separator; steps are joined by =>"),
        ("llm=> judge", "'llm=>' is not a separator; put spaces around it"),
        ("llm >>judge", "'>>judge' is not a separator"),
        ("llm:: judge", "'llm::' is not a separator"),
        ("llm --prompt=x > out.md", "'>' is a redirection, which only a shell does; => write-file"),
        ("--prompt=x => llm", "'--prompt=x' is not a node"),
        ("llm: => judge", "cannot name a step ''"),
        ("llm:stdin", "cannot name a step 'stdin'"),
        ("llm:a => judge:a", "two steps are called 'a'; a alone"),
        ("llm:a --id=b", "cannot name a step 'a' and 'b'"),
        ("llm:fix => judge => fix --prompt=x", "cannot refer to 'fix' here: words and flags belong where"),
        ("judge => fix; llm:fix", "cannot refer to 'fix' here: it is only named later"),
        ("llm --promt=x", "cannot take --promt: no such flag; did you mean --prompt?"),
        ("judge --level=abc", "cannot take --level='abc': it is not an int"),
        ("llm Summarize this", "cannot take the bare word 'this': --prompt has 'Summarize'; quotes keep"),
        ("read-file a => write-file b c", "cannot take the bare word 'c': --path has 'b'"),
        ("llm --prompt=x y", "cannot take the bare word 'y': --prompt is given"),
        ("judge x", "cannot take the bare word 'x': it takes flags only; --text='x'"),
        ("prose x", "cannot take the bare word 'x': it takes flags only"),
        ("llm -x a", "cannot take -x: no such flag"),
        ("llm => judge:j --lines=2", "judge:j cannot take --lines: no such flag; pflow judge --help lists the flags"),
        ("judge --max-visits=0", "judge cannot take --max-visits=0: it must be from 1 to"),
        ("judge -x", "judge cannot take -x: no such flag; pflow judge --help lists the flags"),
        ("llm -m", "llm cannot take -m: it needs a value"),
        ("llm - => judge", "cannot take '-'"),
        ("llm:fix x => judge => fix y", "cannot refer to 'fix' here: words and flags belong where"),
        ("llm --prompt@", "no file is named"),
        ("many --token@key.txt", "a secret is never a flag"),
        ("many --token=x", "a secret is never a flag"),
        ("many --table='{\"$a\": 1}'", "a template cannot stand in the key of an object"),
        ("llm --map-in=text", "it has no =; --map-in=KEY=PATH"),
        ("llm --map-in=text=a..b", "has an empty step"),
        ("read-file:a --path=b => llm --map-in=text='${a.content}'", "'${a.content}' is a template: write a.content"),
        ("llm --prompt='${l[${i}].x}'", "references do not nest"),
        ("llm --prompt='${a.}'", "'${a.}' is not a reference"),
        ("llm --map-in='text=template:${a..b}'", "cannot take --map-in=text=template:…: "),
        ("llm --map-in=text=a --map-in=text=template:x", "cannot take --map-in=text twice: one is a template"),
        ("llm --text=x --map-in=text=a", "--text gives it"),
        ("llm --text=x --map-in=text=", "--text gives it"),
        ("llm => llm --map-in=prompt=", "the pipe does not fill 'prompt'"),
        ("list-files => llm --each --prompt=x --map-in=text=", "nothing in this step takes an item"),
        ("llm --map-out=response=stdin", "it is not a place to write to"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place_and_a_remedy(text, why):
    message = refusal(text)
    assert message.startswith("cannot read the flow at '")
    assert why in message


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        *(
            (flag, f"give it to pflow run: pflow run {flag}")
            for flag in ("--dry-run", "--debug", "--verbose", "--help")
        ),
        ("--describe", "pflow explain describes a flow"),
        ("--version", "pflow --version"),
    ],
)
def test_flags_of_a_run_are_refused_in_a_step(flag, hint):
    assert f"cannot take {flag} in a step; {hint}" in refusal(f"llm {flag} => judge")


def test_flags_become_inputs_and_params_of_their_types():
    found = step(
        "many --words=a --words='[\"b\"]' --numbers='[1,2]' --numbers=3 --table='{\"a\":null}' --rate=2 --issue=007"
        " --loud --where=./x --blob=bytes --no-flat --form=json --extra='{}'"
    )
    assert found.inputs == {
        "words": ["a", "b"], "numbers": [1, 2, 3], "table": {"a": None}, "rate": 2.0, "issue_number": 7,
        "loud": True, "where": "./x", "blob": "bytes",
    }  # fmt: skip
    assert found.params == {"flat": False, "form": "json", "extra": {}}
    assert isinstance(found.inputs["rate"], float)


def test_verbatim_values_are_escaped_where_a_template_would_stand():
    found = step("many --verbatim --words='$a' --where='$b/${c}' --code='$d' --extra='{\"k\": [\"$e\", 1]}'")
    assert found.inputs == {"words": ["$$a"], "where": "$$b/$${c}", "code": "$d"}
    assert found.params == {"extra": {"k": ["$$e", 1]}}
    assert step("many --code='$d and $$'").inputs == {"code": "$d and $$"}


def test_what_is_not_utf8_is_bytes():
    word = os.fsdecode(b"caf\xe9")
    assert step(f"many --where={word} --blob={word}").inputs == {"where": b"caf\xe9", "blob": b"caf\xe9"}
    assert "its bytes are not UTF-8" in refusal(f"llm --prompt={word}")


def test_flags_of_a_type_that_is_not_known_are_data():
    found = step("tidy-data --strict --file data.csv --level=2 --last")
    assert found.type == "tidy-data"
    assert found.inputs == {"strict": "true", "file": "data.csv", "level": "2", "last": "true"}
    assert found.params == {}


def test_a_flag_that_an_open_node_reads_needs_its_value(tmp_path):
    code = 'class Bare(Node):\n    def prep(self, shared):\n        return shared["x"]\n'
    (tmp_path / "pflow" / "nodes").mkdir()
    (tmp_path / "pflow" / "nodes" / "bare.py").write_text(f"from pflow import Node\n\n\n{code}")
    assert step("bare --other --x=1").inputs == {"other": "true", "x": "1"}
    assert "cannot take --x: it needs a value" in refusal("bare --x")
    assert "cannot take --retries: it needs a value" in refusal("bare --retries")


def test_flags_of_a_flow_are_its_inputs_and_its_steps_params():
    found = step("flow:fix-issue --topic='Trees' --draft-it.temperature=0.5 --draft-it.max-tokens=7")
    assert found.inputs == {"topic": "Trees"}
    assert found.params == {"draft-it.temperature": 0.5, "draft-it.max_tokens": 7}


def test_a_flow_is_looked_for_from_the_directory_of_the_text(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sub.pflow.json").write_text(SUBFLOW)
    flow = parse_pipe(["./sub.pflow.json --topic=x"], FlowCatalog(str(tmp_path / "more")))
    assert flow.directory == str(tmp_path / "more")
    assert flow.steps[0].inputs == {"topic": "x"}


def test_tries_and_mappings_are_the_steps():
    found = step("llm --retries=2 --wait=0.5 --timeout=60 --map-in text=a/b.c --map-out=response=out.x")
    assert (found.retries, found.wait, found.timeout) == (2, 0.5, 60.0)
    assert found.input_mappings == {"text": "a/b.c"}
    assert found.output_mappings == {"response": "out.x"}
    assert step("llm --map-in=text=a --map-in=text=b").input_mappings == {"text": ["a", "b"]}
    assert (step("llm").retries, step("llm").wait, step("llm").cache) == (None, None, None)
    forms = {"--cache": True, "--cache=true": True, "--no-cache": False, "--cache=require": "require"}
    assert {form: step(f"llm {form}").cache for form in forms} == forms


def test_a_step_says_whether_it_repeats():
    said = {"": None, " --repeats": True, " --no-repeats": False, " --repeats=false": False}
    assert {words: step(f"shell ls{words}").repeats for words in said} == said
    assert step("unknown-thing --repeats --a=b").repeats


@pytest.mark.parametrize(
    "words",
    [
        ["read-file", "=>", "llm"],
        ["whatever", "=failed=>", "llm"],
        ["llm --prompt='x y' => write-file --path=o"],
        ["pflow llm => write-file"],
        ["llm\n  => write-file"],
        ["# why\n\nllm\n=> write-file"],
        ["judge =failed=> llm"],
        ["fix-issue => llm"],
        ["flow:nowhere => llm"],
        ["raed-file --path=a => llm"],
        ["read-file --path=a | llm"],
        ["pflow-read-file --path=a | pflow-llm"],
        ["cat a | pflow-llm"],
        ["llm => write-file", "--topic=x"],
        ["the file a.txt => llm"],
        ["raed-file a.txt => wirte-file b.txt"],
        ["llm --prompt=x"],
        ["llm 'Name a tree'"],
        ['llm "Name a tree"', "-r"],
        ["llm 'Name a tree' -m gpt -o seed 1"],
        ["llm -m gpt Summarize"],
        ["shell:count 'wc -l' --input=x"],
        ["pflow llm 'Name a tree'"],
        ["pflow-llm 'Name a tree'"],
        ["# why\nfix-issue --topic=x"],
        ["fix-issue 'a topic'"],
        ["llm --prompt='never closed"],
        ["read-file notes.txt"],
        ["read_file notes.txt"],
        ["pflow run list-files with 'a => b' in their names"],
        ["pflow-read-file notes.txt"],
        ["fix-issue of mine"],
        ["llm:draft Summarize"],
        ["github-get-issue #12"],
        ["pflow git-status # clean?"],
        ["git-diff HEAD~1 --stat"],
        ["llm T -s Brief"],
        ["llm Summarize -> shell cat"],
        ["lllm Summarize → shell cat"],
        ["llm Summarize && shell cat"],
        ["llm Summarize ==> shell cat"],
        ["llm Summarize > write-file"],
        ['llm "a question that is never closed', "-r"],
    ],
)
def test_pipe_syntax_is_recognized(words):
    assert is_pipe(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        [""],
        ["llm"],
        ["summarize a.txt"],
        ["translate 'a => b' to German"],
        ["llm, what is 'a => b' about"],
        ["translate a => b to German"],
        ["llm Summarize"],
        ["llm #12 is a riddle"],
        ["no-node #12"],
        ["llm 'Summarize' it"],
        ["llm - what is it"],
        ["llm isn't there, isn't it"],
        ["list files in docs and summarize"],
        ["shell out the data and summarize"],
        ["llm the data - or -5 of them"],
        ["llm: what is it"],
        ["analyze the data then ask me"],
        ["summarize a.txt -> b.txt"],
        ["my-data.json is broken, why"],
        ["summarize 'a.txt'"],
        ["run 'a.txt'"],
        ["shell | what does it do"],
        ["what is the difference of a | b"],
        ["="],
    ],
)
def test_sentences_and_commands_are_not_pipe_syntax(words):
    assert not is_pipe(words)


def test_a_flow_in_quotes_has_nothing_behind_it():
    assert refusal("read-file --path=a => llm", "--topic=x") == (
        "cannot take '--topic=x' after a flow in quotes; put it inside the quotes, after its step"
    )
    assert "it contains white space" in refusal("read-file --path=a", "::", "llm")


@pytest.fixture
def stdout_to():
    """Sends stdout to a file, as a shell does for a redirection."""
    saved = os.dup(1)

    def send(file):
        with open(file, "ab") as opened:
            os.dup2(opened.fileno(), 1)

    yield send
    os.dup2(saved, 1)
    os.close(saved)


@pytest.mark.parametrize("text", ["judge --text=a => prose", "list-files '*' => read-file --each => judge"])
def test_compiling_lays_a_flow_out_and_only_what_runs_it_wires_it(monkeypatch, text):
    wired = []
    monkeypatch.setattr(wiring, "name_flags", wired.append)
    flow = parse_pipe([text], FlowCatalog())
    assert wired == []
    assert [wire(flow)] == wired


def test_a_separator_that_the_shell_took_is_told(stdout_to):
    assert "'=': the shell took '=>' for a redirection; quotes around the flow" in refusal("read-file", "--path=a", "=")
    assert "the shell took '=failed=>'" in refusal("judge", "=failed=")
    stdout_to("llm")
    assert "into the file 'llm', which is now here" in refusal("read-file", "--path=a", "=")


def test_a_stdout_that_is_a_file_named_like_a_node_is_told(stdout_to):
    stdout_to("out.txt")
    assert taken_for_redirection(["read-file", "--path=a"]) is None
    stdout_to("judge:x")
    error = taken_for_redirection(["read-file", "--path=a", "--strict"])
    assert error is not None
    assert error.exit == 2
    assert error.message.startswith("cannot read 'judge:x': the shell took '>>' or '>' for a redirection into the file")
