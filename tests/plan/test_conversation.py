"""Asking a model until its answer passes, and the one flow in an answer, whatever stands around it."""

from __future__ import annotations

import json

import llm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.models.ask import Answer
from pflow.plan.conversation import PlanRequest, converse, read_flow


class Counting(llm.Model):
    """Says how often it was asked, and keeps what it heard."""

    model_id = "counting"

    def __init__(self):
        self.heard = []

    def execute(self, prompt, stream, response, conversation):
        self.heard.append(prompt.prompt)
        yield str(len(self.heard))


def faults(number):
    return [Finding("PL00", ("the answer",), f"fault {each}", "mend it") for each in range(number)]


def again(findings):
    return f"{len(findings)} faults"


@pytest.mark.parametrize(
    ("judged", "best", "tries"),
    [
        ([("a", 0)], "a", 1),
        ([("a", 1), ("b", 0)], "b", 2),
        ([("a", 1), ("b", 2), ("c", 2)], "a", 3),
        ([("a", 1), ("b", 1), (None, 1)], "b", 3),
        ([(None, 1), ("b", 3), (None, 1)], "b", 3),
        ([(None, 1), (None, 2), (None, 1)], None, 3),
        ([("a", 3), ("b", 2), ("c", 0)], "c", 3),
    ],
)
def test_the_best_answer_is_kept_and_what_is_wrong_goes_back(judged, best, tries):
    model, left = Counting(), iter(judged)

    def judge(said):
        result, wrong = next(left)
        return result, faults(wrong)

    heard = converse(model, PlanRequest("the system", "the task", again, dict), judge, lambda line: None)

    wrong = next((number for result, number in reversed(judged) if result == best), None)
    assert (heard.result, heard.tries, heard.is_right) == (best, tries, judged[tries - 1][1] == 0)
    assert len(heard.findings) == wrong
    assert model.heard == ["the task", *(f"{number} faults" for _, number in judged[: tries - 1])]


def test_a_task_with_a_secret_in_it_is_not_sent():
    model = Counting()
    with pytest.raises(PflowError) as caught:
        converse(
            model,
            PlanRequest("the system", "use sk-abcdefghijklmnop0123", again, dict),
            lambda said: (1, []),
            lambda line: None,
        )
    assert (caught.value.exit, model.heard) == (2, [])
    assert "sk-" not in caught.value.message + caught.value.hint


FLOW = '{"nodes": [{"id": "a", "type": "llm"}]}'
OTHER = '{"nodes": [{"id": "b", "type": "llm"}]}'


def read(text, **more):
    return read_flow(Answer(text, **more))


@pytest.mark.parametrize(
    "text",
    [
        FLOW,
        f"\n\n {FLOW} \n",
        f"```json\n{FLOW}\n```",
        f"```\n{FLOW}\n```",
        f"Here is {{your}} flow:\n```json\n{FLOW}\n```\nIt uses ${{a.response}}, and {{}}.",
        f"Here it is: {FLOW} Does it please you?",
        f'{{"inputs": {{"path": "x"}}}}\n{FLOW}',
        f"{FLOW}\n\n{FLOW}",
        f"[{FLOW}]",
        f'{{"flow": {FLOW}',
        f"<think>perhaps {OTHER}</think>{FLOW}",
        f"\ufeff{FLOW}\0",
    ],
)
def test_the_flow_is_found(text):
    assert read(text) == (json.loads(FLOW), [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("I cannot do that.", "it holds no JSON: 'I cannot do that.'"),
        ("no\x1b[31m\nJSON", "it holds no JSON: 'no\\x1b[31m JSON'"),
        ("null", "it holds no JSON: 'null'"),
        ('{"steps": []}', 'its JSON has no "nodes"'),
        (FLOW[:-3], "its JSON cannot be read: it ends in the middle"),
        ('{"nodes": [{"id": "a', "its JSON cannot be read: it ends in the middle"),
        ('{"nodes": [{"id": NaN}]}', "its JSON cannot be read: "),
        ('{"nodes": [1,]}', "its JSON cannot be read: "),
        ("{'nodes': []}", "it holds no JSON: "),
        ('{"nodes": [], "nodes": []}', "its JSON cannot be read: "),
        ('{"nodes": ["\\ud800"]}', "its JSON cannot be read: "),
        ('{"nodes": [99999999999999999999999]}', "its JSON cannot be read: "),
        ('{"nodes": ' + "[" * 200 + "]" * 200 + "}", "its JSON cannot be read: it is nested"),
        ('{"nodes": ' * 100_000, "its JSON cannot be read: it is nested too deeply"),
        (f"{FLOW} or {OTHER}", "it holds 2 flows"),
        (f"<think>so {FLOW}", "it is empty"),
        ("\0\x01\x02" * 100, "it holds no JSON: "),
    ],
)
def test_what_holds_no_flow_is_a_finding(text, message):
    flow, (finding,) = read(text)

    assert flow is None
    assert (finding.rule, finding.place) == ("PL00", ("the answer",))
    assert finding.message.startswith(message)
    assert str(finding).isprintable()
    assert finding.remedy
    assert len(str(finding)) < 500


def test_an_answer_without_text_is_a_finding_with_its_reason():
    none = PflowError("cannot take the answer of 'm': it is all reasoning")
    assert read("", none=none)[1][0].message == "it is all reasoning"


@pytest.mark.parametrize("text", [FLOW[:-3], f"For example {OTHER}, so {FLOW[:-3]}"])
def test_an_answer_that_stopped_at_its_limit_is_told_so(text):
    flow, (finding,) = read(text, is_limited=True)
    assert flow is None
    assert "token limit" in finding.remedy


@given(st.text() | st.text('{}[]":,\\nodes <>/`0', max_size=60))
def test_any_text_is_a_flow_or_a_finding(text):
    flow, findings = read(text)
    assert (flow is None) == bool(findings)
    assert flow is None or isinstance(flow, dict)
