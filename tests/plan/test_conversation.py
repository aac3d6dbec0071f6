"""Asking a model until its answer passes."""

from __future__ import annotations

import llm
import pytest

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.plan.conversation import PlanRequest, converse


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
