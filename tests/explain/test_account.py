"""explain: an account of a flow, as data and as text, before anything of it runs."""

import json
from itertools import pairwise

import pytest

from pflow.explain.account import explain
from pflow.explain.text import account_text, graph_text, origins_text
from pflow.flow.flow import Batch, Edge, FlowSpec, Input, Step
from pflow.flow.pipe.write import write_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.values.jsontext import encode
from tests.flow.own_nodes import own_nodes

NODES = {
    "fetch": """
    - Reads: shared["issue_number"]: int [flag issue]  # the issue
    - Writes: shared["issue_data"]: dict{title: str, labels: list[str]} [pipe]  # what it says
    - Params: token: str = null [secret] [env FETCH_TOKEN]  # who asks
    - Effects: network""",
    "say": """
    - Reads: shared["prompt"]: str [pipe]  # what to ask
    - Reads: shared["tone"]: str = "dry"  # how
    - Writes: shared["response"]: str [pipe]  # the answer
    - Params: model: str = null  # which model
    - Effects: network""",
    "split": """
    - Reads: shared["text"]: str [pipe]  # what to split
    - Writes: shared["parts"]: list[str] [pipe]  # the parts""",
    "sum": """
    - Reads: shared["text"]: str = "none"  # of what""",
    "save": """
    - Reads: shared["content"]: any [pipe]  # what
    - Reads: shared["path"]: path [explicit]  # where
    - Reads: shared["key"]: str = null [secret] [own]  # what to seal it with
    - Effects: writes files""",
    "run": """
    - Reads: shared["command"]: str [explicit] [verbatim]  # the command
    - Writes: shared["stdout"]: str [pipe]  # what it printed
    - Actions: default, bad
    - Effects: runs commands""",
    "open_one": None,
}


@pytest.fixture(autouse=True)
def nodes(tmp_path, monkeypatch):
    monkeypatch.setattr("pflow.explain.pipe_form.write_pipe", lambda flow: " => ".join(step.id for step in flow.steps))
    with own_nodes(tmp_path, NODES):
        yield


def plan(*steps, edges="", **members):
    """The plan of a flow of these steps, with these edges: `a>b a>c:bad`."""
    parted = [edge.partition(":") for edge in edges.split()]
    flow = FlowSpec(list(steps), [Edge(*ends.split(">"), action or "default") for ends, _, action in parted])
    for at, step in enumerate(steps):
        step.location = f"nodes[{at}]"
    for name, value in members.items():
        setattr(flow, name, value)
    flow.catalog = FlowCatalog()
    return wire(flow)


def chain(*steps, **members):
    pairs = pairwise(step.id for step in steps)
    return plan(*steps, edges=" ".join(f"{one}>{other}" for one, other in pairs), **members)


def fix_issue():
    """Make a flow that fixes an issue, of stand-in nodes."""
    return chain(
        Step("fetch", "fetch"),
        Step(
            "analyze", "say", input_mappings={"prompt": "fetch.issue_data.labels[0]"}, retries=2, wait=1.5, cache=True
        ),
        Step(
            "fix",
            "say",
            params={"model": "big"},
            input_mappings={"prompt": "template:Fix ${fetch.issue_data.title}\n${analyze.response}"},
            output_mappings={"response": "answer"},
        ),
        Step("save", "save", inputs={"path": "out.md"}, input_mappings={"content": "answer"}),
        name="fix-issue",
        description="Fix an issue",
    )


def test_an_explanation_reads_like_this(assert_screen):
    assert_screen("fix-issue.txt", account_text(explain(fix_issue()), 80))


def read(plan, step, key):
    """What is said of where a read comes from."""
    account = next(each for each in explain(plan)["steps"] if each["id"] == step)
    return next(origins_text(each["from"]) for each in account["reads"] if each["key"] == key)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step("b", "say", inputs={"prompt": "hi"}), '"hi"'),
        (Step("b", "say", inputs={"prompt": "hi $who"}), 'the template "hi $who" of --who'),
        (Step("b", "say", input_mappings={"prompt": "topic"}), "--topic"),
        (Step("b", "say", input_mappings={"prompt": "topic.name"}), "--topic (topic.name)"),
        (Step("b", "say", input_mappings={"prompt": "stdin"}), "the pipe"),
        (Step("b", "say", input_mappings={"prompt": "a.parts[0]"}), "a.parts[0]"),
        (Step("b", "say", input_mappings={"prompt": "parts"}), "parts (a)"),
        (Step("b", "say", input_mappings={"prompt": ["a.parts", "topic"]}), "the latest of a.parts, --topic"),
        (Step("b", "say", input_mappings={"prompt": "a.nope"}), "nothing: no 'nope' in a; it has parts"),
        (Step("b", "say", params={"prompt": "hi"}), '--prompt, else the param "hi"'),
        (Step("b", "say"), "--prompt"),
        (Step("b", "say", batch=Batch("a.parts", "prompt")), "prompt of each in a.parts"),
        (
            Step("b", "say", batch=Batch("a.parts", "part"), input_mappings={"prompt": "template:On $part"}),
            'the template "On $part" of part of each in a.parts',
        ),
    ],
)
def test_each_read_says_where_its_value_comes_from(step, words):
    assert read(chain(Step("a", "split", inputs={"text": "x"}), step), "b", "prompt") == words


def test_a_param_beside_a_read_with_a_default_in_its_code_is_told_apart(tmp_path):
    code = 'def prep(self, shared): return self.params.get("tone") or shared.get("tone")'
    (tmp_path / "choose_tone.py").write_text(f"import pocketflow\nclass ChooseTone(pocketflow.Node):\n    {code}\n")
    flow = chain(Step("x", "choose-tone", params={"tone": "dry"}))
    assert read(flow, "x", "tone") == "the pipe, or --tone, else unset"
    assert step(flow, "x")["params"] == {"tone": {"from": "constant", "value": "dry"}}


def step(plan, id):
    return next(each for each in explain(plan)["steps"] if each["id"] == id)


def test_an_output_reads_too():
    found = chain(Step("a", "say", inputs={"prompt": "p"}), outputs={"answer": "a.response"})
    account = explain(found)
    assert account["steps"][0]["writes"][0]["read_by"] == ["output answer"]
    assert account["gives"]["outputs"]["answer"]["type"] == "str"
    assert "  answer    str  a.response" in account_text(account, 80)


def test_a_batch_over_what_the_pipe_brings_takes_it():
    account = explain(chain(Step("a", "say", batch=Batch("stdin", "prompt"))))
    assert account["piped"] == {"step": "a", "key": "batch.over"}
    assert account["steps"][0]["batch"]["over"] == {"from": "pipe", "path": "stdin"}


def test_edges_say_what_comes_next_by_action():
    found = plan(
        Step("a", "run", inputs={"command": "x"}),
        Step("b", "say"),
        Step("c", "say"),
        Step("d", "save", inputs={"path": "p"}),
        edges="a>b a>c b>d c>d d>a:again d>d:wait",
    )
    lines = lines_of(found)
    assert "· then b, c at the same time; they meet at d" in lines
    assert "· on bad the flow ends" in lines
    assert "· on again back to a" in lines
    assert "· on wait again" in lines


def lines_of(plan):
    """The lines of an explanation, without the spaces that align it."""
    return [" ".join(line.split()) for line in account_text(explain(plan), 100).split("\n")]


def test_how_a_step_runs_is_said_where_the_flow_says_it():
    found = chain(
        Step("s", "split", inputs={"text": "x"}),
        Step(
            "e",
            "say",
            timeout=60,
            max_visits=3,
            version="1.0",
            batch=Batch("s.parts", "prompt", jobs=4, on_error="keep", keep_item=True),
        ),
    )
    lines = lines_of(found)
    kept = "failed items become null; each result with its item"
    assert f"× once for each in s.parts, as prompt; 4 at a time; {kept}" in " ".join(lines)
    assert "· version at least 1.0, same major" in lines
    assert "· timeout 60 s" in lines
    assert "· visits at most 3" in lines


def test_what_repeats_only_when_told_to_is_said_and_a_step_says_otherwise():
    account = explain(
        chain(Step("f", "fetch", repeats=True), Step("s", "split"), Step("r", "run"), Step("x", "open-one"))
    )
    assert [step["repeats"] for step in account["steps"]] == [True, True, False, False]
    assert account_text(account, 80).count("repeats  ") == 2
    (step,) = explain(chain(Step("s", "split", repeats=False)))["steps"]
    assert not step["repeats"]


@pytest.mark.parametrize(
    ("type", "words"),
    [
        ("open-one", "! open it declares no interface: it may read and write any key"),
        ("no-such", "! not known there is no such node"),
        ("broken", "broken.py"),
    ],
)
def test_a_step_whose_interface_is_not_known_is_marked(tmp_path, type, words):
    (tmp_path / "broken.py").write_text("class (")
    text = "\n".join(lines_of(chain(Step("x", type))))
    assert words.replace(" ", "") in "".join(text.split())  # a long path is broken at the line's end
    assert "\nanything x\n" in text


def test_what_it_touches_is_said_worst_first_and_with_its_file_or_command():
    found = chain(
        Step("f", "fetch"),
        Step("where", "say", inputs={"prompt": "where to?"}),
        Step("s", "save", input_mappings={"path": "where.response"}),
        Step("t", "save", inputs={"path": "out/$name.md"}),
        Step("r", "run", inputs={"command": "rm -r $x"}),
        Step("q", "run"),
        Step("o", "open-one"),
    )
    touched = [
        (touch["effect"], touch["step"], {key: origins_text(each) for key, each in touch["what"].items()})
        for touch in explain(found)["touches"]
    ]
    assert touched == [
        ("anything", "o", {}),
        ("runs commands", "r", {"command": '"rm -r $x"'}),
        ("runs commands", "q", {"command": "--q.command (command)"}),
        ("writes files", "s", {"path": "where.response, which chooses the directory"}),
        ("writes files", "t", {"path": 'the template "out/$name.md" of --name'}),
        ("network", "f", {}),
        ("network", "where", {}),
    ]


def test_a_subflow_touches_what_its_steps_do_with_what_it_is_given(tmp_path):
    inner = {
        "inputs": {"file": {"type": "path"}, "text": {"type": "str"}},
        "nodes": [{"id": "keep", "type": "save"}, {"id": "log", "type": "save", "inputs": {"path": "log"}}],
        "mappings": {
            "keep": {"input_mappings": {"path": "file", "content": "text"}},
            "log": {"input_mappings": {"content": "template:${text} in $file"}},
        },
    }
    (tmp_path / "inner.pflow.json").write_text(json.dumps(inner))
    (tmp_path / "middle.pflow.json").write_text(
        json.dumps({"nodes": [{"id": "in", "type": "./inner.pflow.json", "inputs": {"file": "$name.md"}}]})
    )
    found = chain(Step("out", str(tmp_path / "middle.pflow.json"), inputs={"name": "a", "text": "x"}))
    touched = [(touch["step"], origins_text(touch["what"]["path"])) for touch in explain(found)["touches"]]
    assert touched == [("out/in/keep", 'the template "$name.md" of "a"'), ("out/in/log", '"log"')]
    assert "· a flow of 1 step, with a store of its own" in lines_of(found)


def test_what_it_needs_is_its_inputs_the_required_first():
    inputs = {
        "tone": Input("tone", type="str", description="how", default="warm", has_default=True),
        "text": Input("text", type="str", description="on what", pipe=True),
    }
    needs = explain(chain(Step("a", "split"), Step("b", "say"), inputs=inputs))["needs"]
    assert [(need["flag"], need["required"], need["pipe"], need["read_by"]) for need in needs] == [
        ("--text", True, True, ["a"]),
        ("--tone", False, False, ["b"]),
    ]
    assert needs[1]["default"] == "warm"
    text = account_text(explain(chain(Step("a", "split"), Step("b", "say"), inputs=inputs)), 80)
    assert "  --text  str  required, or the pipe  on what (a)\n" in text
    assert '  --tone  str  default "warm"         how (b)\n' in text


DECLARED = {"text": Input("text", type="str", pipe=True)}


@pytest.mark.parametrize(
    ("steps", "declared", "filled", "needs_flag", "rows"),
    [
        (["split"], {}, ["a"], False, ("--text", "the pipe")),
        (["split", "split"], {}, ["a"], True, ("--text", "the pipe")),
        (["split", "sum"], {}, ["a"], False, ("--text", "the pipe")),
        (["split", "split"], DECLARED, ["a", "b"], False, ("--text, the pipe", "")),
    ],
)
def test_the_pipe_fills_the_first_read_alone_or_all_of_a_declared_input(steps, declared, filled, needs_flag, rows):
    account = explain(chain(*map(Step, "ab", steps), inputs=declared))
    reads = [(step["id"], read) for step in account["steps"] for read in step["reads"] if read["key"] == "text"]
    assert [id for id, read in reads if "the pipe, or" in origins_text(read["from"])] == filled
    (need,) = [need for need in account["needs"] if need["name"] == "text"]
    assert (need["required"] and not need["pipe"]) == needs_flag
    written = {row["path"]: ", ".join(row["written_by"]) for row in account["store"]}
    assert (written["text"], written.get("stdin", "")) == rows


def store(plan):
    return {row["path"]: (row["type"], row["written_by"], row["read_by"]) for row in explain(plan)["store"]}


def test_the_layout_has_each_place_with_its_type_writers_and_readers():
    found = plan(
        Step("a", "split", inputs={"text": "x"}),
        Step(
            "b", "say", batch=Batch("a.parts", "prompt", on_error="keep"), output_mappings={"response": "all.answers"}
        ),
        Step("c", "save", inputs={"path": "f", "key": "k"}, input_mappings={"content": "all"}),
        Step("d", "say", params={"prompt": "p"}, output_mappings={"response": "all.answers"}),
        edges="a>b b>c b>d:error d>c",
    )
    assert store(found) == {
        "a.text": ("str", ["a"], []),
        "a.parts": ("list[str]", ["a"], ["b"]),
        "all.answers": ("list[str] or str", ["b", "d"], ["c"]),
        "b.error": ("dict{exit: int, message: str}", ["b"], []),
        "b.errors": ("list[dict{index: int, item: any, exit: int, message: str}]", ["b"], []),
        "path": ("path", ["c"], []),
        "prompt": ("str", ["[--prompt]"], ["d"]),
        "tone": ("str", ["[--tone]"], ["b", "d"]),
    }


def test_no_secret_is_ever_shown(monkeypatch):
    monkeypatch.setattr("pflow.explain.pipe_form.write_pipe", write_pipe)
    found = chain(
        Step("f", "fetch", inputs={"issue_number": 1}, params={"token": "hush-1"}),
        Step("s", "save", inputs={"path": "p", "key": "hush-2"}),
        Step("t", "save", inputs={"path": "p"}, params={"key": "hush-3"}),
        Step("u", "save", inputs={"path": "p"}, input_mappings={"key": "template:hush-4$x"}),
        Step("v", "save", inputs={"path": "p"}, input_mappings={"key": "seal"}),
        inputs={"seal": Input("seal", default="hush-5", has_default=True)},
    )
    account = explain(found)
    everything = account_text(account, 100) + encode(account).decode()
    assert "hush" not in everything
    assert str(account["steps"]).count("'secret'") == 4


def test_what_a_terminal_would_obey_is_escaped():
    evil = "\x1b[31mred\x07\u202e\x9b"
    found = chain(Step("a" + evil, "say", inputs={"prompt": evil}), name=evil, description=evil, warnings=[evil])
    text = account_text(explain(found), 80)
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert "\\x1b[31mred" in text


def test_a_graph_lists_the_steps_and_the_edges_that_do_not_lead_to_the_next():
    fork = plan(*[Step(id, "say") for id in "abcde"], edges="a>b a>c b>d c>d d>a:again")
    assert graph_text(explain(fork), 80).splitlines() == [
        "1 a (say)",
        "    then: b, c at the same time; they meet at d",
        "2 b (say)",
        "    then: d",
        "3 c (say)",
        "4 d (say)",
        "    on again: back to a",
        "5 e (say), never runs",
    ]


def test_a_flow_without_steps_has_an_empty_graph():
    assert graph_text({"steps": []}, 80) == ""


def test_a_flow_of_many_steps_walks_all_its_references_no_more_often_than_a_small_one():
    def walks_of(count):
        walks = []

        class References(list):
            def __iter__(self):
                walks.append(self)
                return super().__iter__()

        flow = chain(*(Step(f"s{n}", "save", inputs={"path": f"${{s{n - 1}.x}}"}) for n in range(count)))
        flow.references = References(flow.references)
        explain(flow)
        return len(walks)

    assert walks_of(30) == walks_of(3)
