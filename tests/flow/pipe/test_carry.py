"""Compiling pipe syntax: what is carried, what moves, what a name means."""

import pytest

from pflow.errors import PflowError
from pflow.flow.ir import flow_hash, flow_to_ir, load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.write import write_pipe
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes

NODES = {
    "judge": """
    - Reads: shared["text"]: any [pipe]  # what to judge
    - Writes: shared["verdict"]: str [pipe]  # what is to be said of it
    - Actions: default, failed, error""",
    "fetch": """
    - Reads: shared["number"]: int [flag n]  # which issue
    - Writes: shared["issue"]: dict{title: str, votes: int} [pipe]  # what it says
    - Writes: shared["count"]: int  # how many there are""",
    "commit": """
    - Reads: shared["message"]: str [pipe]  # what to say
    - Reads: shared["depth"]: int = 1  # how deep
    - Reads: shared["files"]: list[str] = []  # which""",
    "quiet": """
    - Reads: shared["message"]: str = "" [own]  # what to say
    - Reads: shared["depth"]: int = 1 [own]  # how deep
    - Reads: shared["ratio"]: float = 1 [own]  # how much
    - Reads: shared["deep"]: bool = false [own]  # whether
    - Reads: shared["code"]: str = "" [own] [verbatim]  # what to run""",
    "report": """
    - Reads: shared["text"]: any = null [pipe]  # what it is about
    - Reads: shared["exit_code"]: int  # how it ended
    - Reads: shared["usage"]: any = null  # what it took
    - Writes: shared["page"]: str [pipe]  # the report""",
    "title": """
    - Reads: shared["text"]: str [pipe]  # what for
    - Writes: shared["text"]: str [pipe]  # the title and the text""",
    "guess": """
    - Reads: shared["text"]: any  # unmarked, so it is inferred
    - Writes: shared["guess"]: str""",
    "prose": None,
}

TWO = {"g": ["verdict", "issue"]}
REPORT = "report --text=x --exit-code=0"
TAKES = "'{}' takes 'text' from the store; --map-in text={} takes what is carried"
"""The message of PF18."""


@pytest.fixture(autouse=True)
def nodes(tmp_path):
    with own_nodes(tmp_path, NODES):
        yield


@pytest.mark.parametrize(
    ("text", "soft", "told"),
    [
        ("judge => guess", {"guess": "verdict"}, ()),
        ("title => guess", {}, ()),  # it is the store's own key
        ("judge => guess --map-in=text=verdict", {}, ()),
        ("judge => judge:b --map-in=text=verdict => guess", {"guess": "b.verdict"}, ()),
        (f"{REPORT} => judge => guess", {"guess": "verdict"}, ("guess", "verdict")),
        (f"{REPORT} => judge --id=j => guess", {"guess": "j.verdict"}, ("guess", "j.verdict")),
        (f"{REPORT} => judge => guess => llm --prompt='$verdict'", {"guess": "verdict"}, ()),
        (f"{REPORT} --id=r => judge => guess", {"guess": "verdict"}, ()),  # r.text is not text
        ("title => judge =failed=> fetch --n=1 => guess", {"guess": "issue"}, ("guess", "issue")),
        ("judge:j =failed=> title => fetch:f --n=1; f => guess:g --map-out=guess=g; j => g", TWO, ()),
    ],
)
def test_an_inferred_read_prefers_the_stores_own_key_and_says_what_is_left_then(text, soft, told):
    flow = parse_pipe([text])
    assert {each.id: each.input_mappings[key] for each in flow.steps for key in each.soft or ()} == soft
    found = [each for each in check(wire(flow)) if each.rule == "PF18"]
    assert [f"{each.message}; {each.remedy}" for each in found] == [TAKES.format(*each) for each in [told] if each]
    written = load_document(flow_to_ir(flow), "it")
    assert [each.soft for each in written.steps] == [each.soft for each in flow.steps]
    shown = parse_pipe([write_pipe(flow)])
    assert flow_hash(wire(shown)) == flow_hash(wire(flow))


def sources(text):
    """The input mappings of each step that has any."""
    return {step.id: step.input_mappings for step in parse_pipe([text]).steps if step.input_mappings}


def targets(text):
    return {step.id: step.output_mappings for step in parse_pipe([text]).steps if step.output_mappings}


def inputs(text):
    return {step.id: step.inputs for step in parse_pipe([text]).steps if step.inputs}


def warnings(text):
    return parse_pipe([text]).warnings


def wired(text):
    """Where each read of each step comes from, in the end; constants left out."""
    plan = wire(parse_pipe([text]))
    return {id: {key: " ".join(map(".".join, source.paths)) for key, source in each.sources.items() if source.paths}
            for id, each in plan.steps.items()}  # fmt: skip


def troubles(text):
    return [reference.trouble for reference in wire(parse_pipe([text])).references if reference.trouble]


WHOLE = {"response": "llm.response", "usage": "llm.usage"}


def test_what_a_step_hands_on_goes_into_the_read_of_the_next():
    assert sources("read-file --path=a => llm --prompt=x => write-file --path=o") == {
        "llm": {"text": "content"}, "write-file": {"content": "response"},
    }  # fmt: skip
    assert targets("read-file --path=a => llm --prompt=x => write-file --path=o") == {}
    assert troubles("read-file --path=a => llm --prompt=x => write-file --path=o") == []


def test_a_step_that_hands_nothing_on_works_like_tee():
    assert sources("read-file --path=a => write-file --path=b => llm => write-file --path=c") == {
        "write-file": {"content": "content"}, "llm": {"text": "content"}, "write-file-2": {"content": "response"},
    }  # fmt: skip
    assert sources("write-file --path=a => llm") == {"llm": {"text": "stdin"}}
    assert sources("write-file --path=a --content=x => llm") == {}
    assert sources("prose => llm") == {}
    assert sources("read-file --path=a => nothing-known => llm") == {"llm": {"text": "content"}}


@pytest.mark.parametrize(
    ("text", "mappings"),
    [
        ("read-file --path=a => llm --text=mine", {}),
        ("read-file --path=a => llm --prompt='Say $content'", {"llm": {"prompt": "template:Say $content"}}),
        ("read-file --path=a => llm --system='$content'", {}),
        ("fetch --n=1 => report --exit-code='${issue.votes}'", {}),
        ("fetch:f --n=1 => report --usage='${f.issue}'", {}),
        ("llm:a => llm:b => report --usage='$b' --exit-code=1", {"b": {"text": "a.response"}}),
        (
            "llm:a => llm:b => report --usage='$a' --exit-code=1",
            {"b": {"text": "a.response"}, "report": {"text": "b.response"}},
        ),
        ("fetch --n=1 => llm --prompt='${issue.title}'", {"llm": {"prompt": "issue.title"}}),
        ("fetch:f --n=1 => llm --prompt='${f.count}'", {"llm": {"prompt": "f.count", "text": "issue"}}),
        ("fetch --n=1 => llm --prompt='$count'", {"llm": {"prompt": "count", "text": "issue"}}),
        ("fetch --n=1 => llm --map-in=prompt=issue.title", {"llm": {"prompt": "issue.title", "text": "issue"}}),
        ("llm:a => llm:b --prompt='$a'", {"b": {"prompt": "a"}}),
        ("fetch --n=1 => llm --prompt=x --map-in=text=", {}),
        ("read-file a => llm:a x => llm:b y --map-in=text=", {"a": {"text": "content"}}),
    ],
)
def test_nothing_is_carried_into_a_read_that_is_given_or_spoken_for(text, mappings):
    assert sources(text) == mappings


def test_where_several_edges_arrive_the_one_written_last_counts():
    text = "read-file:r --path=a => judge:check =failed=> llm:fix => check; check => write-file --path=o"
    assert sources(text) == {
        "check": {"text": ["content", "response"]}, "fix": {"text": "verdict"}, "write-file": {"content": "verdict"},
    }  # fmt: skip
    assert wired(text)["check"] == {"text": "content response"}


def test_nothing_is_carried_out_of_a_fork():
    text = "fetch:f --n=1 => llm:a; f => llm:b; a => judge:m => write-file --path=o; b => m"
    assert sources(text) == {"a": {"text": "issue"}, "b": {"text": "issue"}, "write-file": {"content": "verdict"}}
    tee = "fetch:f --n=1 => llm:a; f => llm:b; a => write-file:m --path=o --content=x => llm:c; b => m"
    assert "c" not in sources(tee)


def test_nothing_is_carried_out_of_a_step_that_failed():
    text = "read-file:r --path=a => judge:j =error=> llm --prompt=x"
    assert sources(text)["llm"] == {"text": ["content", "verdict"]}
    assert "llm" not in sources("read-file:r --path=a =error=> llm --prompt=x")
    assert sources("shell:s --command=x =error=> llm --prompt='$exit_code'") == {"llm": {"prompt": "exit_code"}}
    assert sources("fetch:f --n=1 => llm =error=> write-file --path=o")["write-file"] == {"content": "issue"}


def test_steps_whose_writes_meet_move_whole_under_their_ids():
    text = "read-file --path=a => llm --prompt=X => llm --prompt=Y => write-file --path=o"
    assert targets(text) == {"llm": WHOLE, "llm-2": {"response": "llm-2.response", "usage": "llm-2.usage"}}
    assert sources(text) == {
        "llm": {"text": "content"}, "llm-2": {"text": "llm.response"}, "write-file": {"content": "llm-2.response"},
    }  # fmt: skip
    assert troubles(text) == []


def test_a_write_that_meets_another_steps_data_moves_its_step():
    assert targets("read-file --path=a => write-file --content=x --path=o") == {
        "read-file": {"content": "read-file.content"}
    }
    assert targets("title --text=x => llm --text=y") == {"title": {"text": "title.text"}}
    assert targets("title --text=x") == {}
    assert targets("read-file --path=a => read-file:b --path=b => write-file --path=o").keys() == {"read-file", "b"}
    templated = "read-file --path=a => write-file --content='$content' --path=o"
    assert targets(templated) == {"read-file": {"content": "read-file.content"}}
    assert inputs(templated)["write-file"] == {"content": "${read-file.content}", "path": "o"}
    assert wired(templated)["write-file"] == {"content": "read-file.content"}
    assert targets("llm --prompt=a => write-file --path=a => write-file --path=b") == {}


def test_what_is_mapped_by_hand_stays_there():
    text = "llm:a --map-out=response=first --map-out=usage=cost => llm:b => write-file --path=o"
    assert targets(text) == {"a": {"response": "first", "usage": "cost"}}
    assert sources(text) == {"b": {"text": "first"}, "write-file": {"content": "response"}}
    assert targets("llm:a --map-out=response=first => llm:b") == {
        "a": {"response": "first", "usage": "a.usage"}, "b": {"response": "b.response", "usage": "b.usage"},
    }  # fmt: skip


def test_a_name_means_the_latest_earlier_write_wherever_it_moved():
    text = "llm:a => llm:b --system='$response, ${response.x[0]} of $5' => write-file --path='$response'"
    text += " --content='see $usage'"
    flow = parse_pipe([text])
    assert flow.step("b").params == {"system": "${a.response}, ${a.response.x[0]} of $$5"}
    assert flow.steps[2].inputs == {"path": "${b.response}", "content": "see ${b.usage}"}
    assert flow.steps[2].input_mappings == {}
    assert wired(text)["write-file"] == {"path": "b.response", "content": "b.usage"}
    assert troubles(text) == []
    assert sources("llm:a => llm:b --map-in=prompt=response.x --map-in=text=usage")["b"] == {
        "prompt": "a.response.x", "text": "a.usage",
    }  # fmt: skip


def test_a_step_and_its_key_mean_that_write_as_in_a_flows_json():
    text = "llm:a --prompt=x => fetch --n=1 => write-file --path='${a.response}' --content='${a.usage.model}'"
    assert sources(text) == {}
    assert wired(text)["write-file"] == {"path": "a.response", "content": "a.usage.model"}
    assert targets(text) == {}
    assert wire(parse_pipe([text])).steps["a"].targets == {"response": ("a", "response"), "usage": ("a", "usage")}
    assert troubles(text) == []


def test_what_several_steps_may_have_written_last_is_a_list_where_it_is_all_of_a_flag():
    loop = "llm:draft => judge:check =failed=> llm:fix --prompt='{}' => check"
    whole = sources(loop.format("$response"))["fix"]
    assert whole == {"prompt": ["draft.response", "fix.response"], "text": "verdict"}
    inside = parse_pipe([loop.format("Fix $response")])
    assert inside.step("fix").input_mappings["prompt"] == "template:Fix $response"
    assert inside.warnings == ["'response' in --prompt of 'fix' may mean draft.response or fix.response: name one"]


def test_a_name_that_two_branches_of_a_fork_write_is_not_chosen():
    text = "fetch:f --n=1 => llm:a; f => llm:b; a => write-file:w --path='$response'; b => w"
    flow = parse_pipe([text])
    assert flow.step("w").inputs == {"path": "$response"}
    assert flow.warnings == [
        "'response' in --path of 'w' may mean a.response or b.response, which run at the same time: name one"
    ]


def test_a_read_by_its_name_follows_the_latest_write_that_moved():
    text = "shell:a --command=x => shell:b --command=y => report"
    assert sources(text)["report"] == {"text": "b.stdout", "exit_code": "b.exit_code"}
    maybe = "judge:j =failed=> shell:a --command=x => shell:b --command=y => report:r; j => r"
    assert "exit_code" not in sources(maybe)["r"]


def test_a_templated_flag_that_is_stored_stays_an_input():
    text = "fetch --n='$topic' => commit --message='Re: ${issue.title}' --depth='$count' --files='$names'"
    assert sources(text) == {}
    assert inputs(text) == {
        "fetch": {"number": "$topic"},
        "commit": {"message": "Re: ${issue.title}", "depth": "$count", "files": "$names"},
    }
    assert wired(text) == {
        "fetch": {"number": "topic"}, "commit": {"message": "issue.title", "depth": "count", "files": "names"},
    }  # fmt: skip
    assert wire(parse_pipe([text])).inputs["topic"].required


@pytest.mark.parametrize(
    ("given", "source"),
    [
        ("--depth='$count'", "template:$count"),
        ("--depth='${issue.title}'", "template:${issue.title}"),
        ("--depth='1$count'", "template:1$count"),
        ("--message='$count'", "count"),
        ("--message='a $count'", "template:a $count"),
        ("--deep='$count'", "template:$count"),
    ],
)
def test_a_templated_flag_that_is_not_stored_becomes_a_mapping_of_its_type(given, source):
    key = given[2:].partition("=")[0]
    assert sources(f"fetch --n=1 => quiet {given}") == {"quiet": {key: source}}
    assert inputs(f"fetch --n=1 => quiet {given}") == {"fetch": {"number": 1}}


def test_params_and_verbatim_flags_keep_what_is_written():
    flow = parse_pipe(["read-file --path=a => llm --verbatim --prompt='$content' --system='${x}'"])
    assert flow.steps[1].inputs == {"prompt": "$$content"}
    assert flow.steps[1].params == {"system": "$${x}"}
    assert flow.steps[1].input_mappings == {"text": "content"}
    shell = parse_pipe(["llm => llm => shell --command='echo $response $commit_message $$'"])
    assert shell.steps[2].inputs == {"command": "echo $response $commit_message $$"}
    assert shell.warnings == []


def test_a_step_of_which_nobody_knows_what_it_writes_is_told_where_one_takes_what_came_before_it():
    said = "'prose' may write any key: 'write-file' takes 'read-file'; --map-in=content=PATH names the value"
    text = "read-file --path=a => prose => write-file --path=b"
    assert warnings(text) == [said]
    assert warnings("prose => llm --prompt=x") == [
        "'prose' may write any key: 'llm' takes nothing; --map-in=text=PATH names the value"
    ]
    assert warnings("prose => llm --prompt='$it'") == []
    assert warnings(f"{text} --content=c") == warnings("prose => write-file --path=b") == []


def test_an_unknown_name_after_an_untaken_write_names_that_write():
    text = "llm --prompt=x => commit --message='$commit_message'"
    assert inputs(text)["commit"] == {"message": "${response}"}
    assert wired(text)["commit"] == {"message": "response"}
    assert warnings(text) == [
        "nothing writes '$commit_message' in --message of 'commit'; it is read as the output of 'llm': ${response}"
    ]
    moved = "llm => llm => commit --message='Re: $commit_message'"
    assert inputs(moved)["commit"] == {"message": "Re: ${llm-2.response}"}
    assert wired(moved)["commit"] == {"message": "llm-2.response"}
    assert sources("llm --prompt=x => quiet --message='$commit_message'") == {"quiet": {"message": "response"}}
    assert warnings("llm --prompt=x => template 'Dear $nmae'") == []  # an input, as in a stage


def test_an_unknown_name_that_ends_as_a_write_is_called_names_it_where_the_step_takes_it_anyway():
    text = "read-file --path=a => llm --prompt='Sum up $file_content'"
    assert sources(text) == {"llm": {"prompt": "template:Sum up ${content}"}}
    assert len(warnings(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "read-file --path=a => llm --prompt='Translate to $language'",
        "read-file --path=a => llm --prompt='Translate to $discontent'",
        "read-file --path=a => llm --each --prompt='Sum up $file_content'",
        "llm => commit --message='$first' --files='$second'",
        "llm => write-file --path=a => commit --message='$topic'",
        "llm => commit --message='$response, $topic'",
        "llm => commit --message='${topic.sub}'",
        "llm => commit --message='$depth'",
        "llm => commit:c --message='$topic' => llm --text='$topic'",
        "llm:a => commit --message='$topic'; a => write-file --path=o",
    ],
)
def test_an_unknown_name_is_an_input_anywhere_else(text):
    assert not [warning for warning in warnings(text) if "is read as" in warning]


def test_a_name_that_is_a_slip_is_refused_with_the_right_one():
    with pytest.raises(PflowError) as caught:
        parse_pipe(["fetch --n=1 => llm --prompt='About $isue'"])
    assert caught.value.exit == 2
    assert caught.value.message == "cannot find 'isue' in --prompt of 'llm': nothing writes it"
    assert caught.value.hint == "did you mean issue?"
    with pytest.raises(PflowError, match="cannot find 'drafd"):
        parse_pipe(["llm:draft => llm --system='${drafd.response}'"])
