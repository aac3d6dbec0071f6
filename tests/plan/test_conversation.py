"""Asking a model until its answer passes, and the one flow in an answer, whatever stands around it."""

from __future__ import annotations

import json

import llm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.ir import flow_to_ir
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.models.ask import ModelAnswer
from pflow.plan.conversation import UserTurns, converse, plan_line, read_plan


class Counting(llm.Model):
    """Says how often it was asked, and keeps what it heard."""

    model_id = "counting"

    def __init__(self):
        self.heard = []

    def execute(self, prompt, stream, response, conversation):
        self.heard.append([part.text for message in prompt.messages for part in message.parts])
        yield str(len(self.heard))


def faults(number):
    return [Finding("PL00", ("the answer",), f"fault {each}", "mend it") for each in range(number)]


def doubts(number):
    return [Finding("PL10", (), f"doubt {each}", is_warning=True) for each in range(number)]


class Told:
    """A prompt, of which the conversation needs this much."""

    system = "the system"

    def correction(self, task, line, findings):
        return f"not {line}: {len(findings)} faults; {task}"


def turns(task="the task"):
    return UserTurns(Told(), lambda attempt: f"{task} {attempt}")


@pytest.mark.parametrize(
    ("judged", "best", "tries"),
    [
        ([("a", [])], "a", 1),
        ([("a", faults(1)), ("b", [])], "b", 2),
        ([("a", faults(1)), ("b", faults(2)), ("c", faults(3))], "a", 3),
        ([(None, faults(1)), ("b", faults(3)), (None, faults(2))], "b", 3),
        ([(None, faults(3)), (None, faults(2)), (None, faults(1))], None, 3),
        ([("a", faults(3)), ("b", faults(2)), ("c", [])], "c", 3),
        # the same findings come again
        ([("a", faults(1)), ("b", faults(1))], "b", 2),
        ([("a", faults(2)), ("b", faults(1)), ("c", faults(2))], "b", 3),
        ([(None, faults(1)), ("b", faults(1))], "b", 2),
        # doubts make one more question, and then the plan stands with its doubts
        ([("a", doubts(2)), ("b", [])], "b", 2),
        ([("a", doubts(2)), ("b", doubts(1))], "b", 2),
        ([("a", doubts(1)), ("b", doubts(2))], "a", 2),
        ([("a", doubts(1)), (None, faults(1))], "a", 2),
        ([(None, faults(1)), ("b", doubts(2)), ("c", doubts(1))], "c", 3),
    ],
)
def test_the_best_answer_is_kept_and_what_is_wrong_goes_back(judged, best, tries):
    model, left = Counting(), iter(judged)

    heard = converse(model, turns(), lambda said: next(left), lambda line: None)

    findings = next(found for result, found in reversed(judged) if result == best)
    is_right = best is not None and all(each.is_warning for each in findings)
    assert (heard.result, heard.findings, heard.tries, heard.is_right) == (best, findings, tries, is_right)
    told = [f"not {n}: {len(found)} faults; the task {n}" for n, (_, found) in enumerate(judged[: tries - 1], 1)]
    assert model.heard == [["the system", each] for each in ["the task 0", *told]]


def test_a_plan_in_doubt_is_no_way_out_of_one_that_cannot_be_done_here():
    model, cannot = Counting(), [Finding("PL12", (), "it cannot run here")]
    for second, best in ((doubts(1), "a"), ([], "b")):
        judged = iter([("a", cannot), ("b", second), ("c", doubts(2))])
        heard = converse(model, turns(), lambda said, left=judged: next(left), lambda line: None)
        assert (heard.result, heard.is_right) == (best, best == "b")


class Held(Counting):
    """A model that a grammar holds; it hears the options of each answer, too."""

    class Options(llm.Options):
        grammar: str | None = None
        temperature: float | None = None
        max_tokens: int | None = None
        stop: str | None = None
        seed: int | None = None

    def execute(self, prompt, stream, response, conversation):
        yield from super().execute(prompt, stream, response, conversation)
        self.heard[-1] = [self.heard[-1][-1], prompt.options.temperature, prompt.options.seed]


def test_a_model_that_a_grammar_holds_draws_other_answers_to_the_same_question():
    model, told = Held(), turns()
    told.grammar = lambda attempt: f"root ::= {attempt}"  # a second one gives way
    judged = iter([("a", doubts(2)), (None, faults(1)), ("c", doubts(1)), ("d", []), ("e", [])])
    heard = converse(model, told, lambda said: next(judged), lambda line: None)
    assert (heard.result, heard.tries) == ("d", 4)
    assert model.heard == [["the task 0", 0, 0], ["the task 0", 0.8, 1], ["the task 0", 0.8, 2], ["the task 0", 0.8, 3]]


def test_a_task_with_a_secret_in_it_is_not_sent():
    model = Counting()
    with pytest.raises(PflowError) as caught:
        converse(model, turns("use sk-abcdefghijklmnop0123"), lambda said: (1, []), lambda line: None)
    assert (caught.value.exit, model.heard) == (2, [])
    assert "sk-" not in caught.value.message + caught.value.hint


FLOW = '{"nodes": [{"id": "a", "type": "llm"}]}'
OTHER = '{"nodes": [{"id": "b", "type": "llm"}]}'


def read(text, **more):
    return read_plan(ModelAnswer(text, **more), FlowCatalog())


@pytest.mark.parametrize(
    "text",
    [
        FLOW,
        f"\n\n {FLOW} \n",
        f"```json\n{FLOW}\n```",
        f"```\n{FLOW}\n```",
        f"Here is {{your}} flow:\n```json\n{FLOW}\n```\nIt uses ${{a.response}}, and {{}}.",
        f"Here it is: {FLOW} Does it please you?",
        f"{FLOW}\n\n{FLOW}",
        f"\ufeff{FLOW}\0",
    ],
)
def test_the_flow_is_found(text):
    assert read(text) == (json.loads(FLOW), [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("I cannot do that.", "it holds no flow: 'I cannot do that.'"),
        ("no\x1b[31m\nJSON", "it holds no flow: 'no\\x1b[31m JSON'"),
        ('{"steps": []}', "it holds no flow: "),
        (FLOW[:-3], "its JSON cannot be read: it is not JSON: "),
        (f"[{FLOW}]", "its JSON cannot be read: "),
        ('{"nodes": [], "nodes": []}', "its JSON cannot be read: "),
        ('{"nodes": ' + "[" * 200 + "]" * 200 + "}", "its JSON cannot be read: it is nested"),
        ('{"nodes": ' * 100_000, "its JSON cannot be read: it is not JSON: line 1, column 1: nested too deeply"),
        (f"{FLOW}\n{OTHER}", "its JSON cannot be read: two values are in it"),
        ("\0\x01\x02" * 100, "it holds no flow: "),
    ],
)
def test_what_holds_no_flow_is_a_finding(text, message):
    flow, (finding,) = read(text)

    assert flow is None
    assert (finding.rule, finding.location) == ("PL00", ("the answer",))
    assert finding.message.startswith(message)
    assert str(finding).isprintable()
    assert finding.remedy
    assert len(str(finding)) < 500


def test_an_answer_without_text_is_a_finding_with_its_reason():
    none = PflowError("cannot take the answer of 'm': it is all reasoning")
    assert read("", no_text=none)[1][0].message == "it is all reasoning"


@pytest.mark.parametrize("text", [FLOW[:-3], f"For example {OTHER}, so {FLOW[:-3]}"])
def test_an_answer_that_stopped_at_its_limit_is_told_so(text):
    flow, (finding,) = read(text, is_limited=True)
    assert flow is None
    assert "token limit" in finding.remedy


LINE = "read-file --path=a.txt => llm --prompt='Sum it up'"


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"Here is the flow:\n\n{LINE}\n\nIt reads the file, and llm sums it up.",
        f"Flow: {LINE}",
        f"**Flow:** `{LINE}`",
        f"git-status => llm --prompt=x alone would not do\n```\n# the flow: it reads\n{LINE}\n```",
        f"~~~\n{LINE}",
        f"```bash\n$ {LINE}\n```\n1. `read-file --path=a.txt` reads\n2. `llm --prompt='Sum it up'` sums it up",
        f"{LINE}\n\n1. read-file reads a.txt.\n2. llm --prompt sums it up.",
        f"{LINE}\n{LINE}",
        f"{LINE} # sums it up",
        f"{LINE}\nTask: what has changed?\nFlow: git-diff => llm --prompt='What has changed?'",
        f"pflow run {LINE}",
        LINE.replace("=>", "|"),
        "pflow-read-file --path=a.txt | pflow-llm --prompt='Sum it up'",
        LINE.replace("=> ", "=>\n  "),
        LINE.replace("=>", "\n=>") + "\n\nThis sums it up.",
        "```sh\n" + LINE.replace("=>", "\\\n  =>") + "\n```",
    ],
)
def test_the_line_of_a_flow_is_found_whatever_stands_around_it(text):
    assert read(text) == (flow_to_ir(parse_pipe([LINE], FlowCatalog())), [])
    assert plan_line(ModelAnswer(text))


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("read-file notes.txt => llm 'Sum up'", ["read-file", "llm"]),
        ("git-diff HEAD --repo=~/x => llm 'Sum up'", ["git-diff", "llm"]),
        ("llm --prompt='is “a => b” right? It’s $1'", ["llm"]),
        ("read-file --path=a => judge:j --criteria=x\nj =failed=> llm --prompt=x", ["read-file", "judge", "llm"]),
        ("list-files --pattern='*.md' => ( read-file => llm --prompt='x' ) --each", ["list-files", "flow"]),
        ("( read-file => llm --prompt='x' ) --each", ["flow"]),
        ("""write-file --path=f.json --content='{"nodes": []}'""", ["write-file"]),
        ("read-fil --path=a => lm --prompt=x", ["read-fil", "lm"]),
        ("./evil.pflow.json --x=1 => llm --prompt=x", ["./evil.pflow.json", "llm"]),
    ],
)
def test_a_line_is_read_as_pipe_syntax(text, types):
    ir, findings = read(text)
    assert ([node["type"] for node in ir["nodes"]], findings) == (types, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ask your admin to do it.", "it holds no flow: 'Ask your admin to do it.'"),
        ("It takes `read-file` and `llm`.", "it holds no flow: "),
        ("Step | Node\n--- | ---\nread | read-file", "it holds no flow: "),
        ("cannot:", "it holds no flow: 'cannot:'"),
        (f"```\n{LINE}\n```\nor\n```\ngit-diff => llm --prompt=x\n```", "it holds 2 flows"),
        (f"{LINE}\nor\ngit-status", "it holds 2 flows"),
        (LINE[:-1], "cannot read the flow at '…h=a.txt => llm --prompt='Sum it up': the ' here is never closed"),
        ("read-file -> llm", "cannot read the flow at 'read-file -> llm': '->' is not a separator"),
        ("llm --promt=x", "cannot read the flow at 'llm --promt=x': llm cannot take --promt: no such flag"),
        ("read-file --path=a => llm --prompt@.env", "cannot read the flow at "),
        ("cannot: no node orders food", "it says that the task cannot be done: no node orders food"),
        ("Sorry:\n**Cannot: no node.", "it says that the task cannot be done: no node."),
    ],
)
def test_what_is_no_line_of_a_flow_is_a_finding_with_a_remedy(text, message):
    flow, (finding,) = read(text)
    assert (flow, finding.rule, finding.location) == (None, "PL00", ("the answer",))
    assert finding.message.startswith(message)
    assert finding.remedy
    assert "no flow" not in message or "one line" in finding.remedy


@pytest.mark.parametrize("text", [LINE, f"Flow: {LINE}", f"```\n{LINE}"])
def test_a_line_that_stopped_at_the_limit_is_no_flow_even_if_it_parses(text):
    flow, (finding,) = read(text, is_limited=True)
    assert (flow, finding.message) == (None, "its flow ends in the middle")
    assert "token limit" in finding.remedy
    assert read(f"```\n{LINE}\n```\nIt reads", is_limited=True)[1] == []


def test_an_answer_of_blank_lines_is_read_at_once():
    assert read("\n \n" * 6_000 + "x")[1][0].message == "it holds no flow: 'x'"


@given(st.text() | st.text('{}[]":,\\nodes <>/`0', max_size=60) | st.text("llm =>|':-`\n(;#$", max_size=60))
def test_any_text_is_a_flow_or_a_finding(text):
    flow, findings = read(text)
    assert (flow is None) == bool(findings)
    assert flow is None or isinstance(flow, dict)
