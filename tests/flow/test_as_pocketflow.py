"""A flow of plain pocketflow code does in pflow what pocketflow does with it."""

from __future__ import annotations

import copy

import pocketflow
import pytest
from pocketflow import Flow, Node

import pflow
from pflow.catalog.kinds import forget_kinds
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.wiring import wire
from tests.engine.flows import Ran


@pytest.fixture(autouse=True)
def no_kinds_of_others():
    yield
    forget_kinds()


class Greet(Node):
    """Ask for a tone in each way, in the store and in the params."""

    def prep(self, shared):
        return [shared.get("tone"), "tone" in shared, dict(self.params), self.params.get("tone") or shared.get("tone")]

    def post(self, shared, found, done):
        shared["found"] = found


class Answer(Node):
    """Count its visits, and answer with an action that pocketflow takes, though it is no text."""

    def __init__(self, *answers: object) -> None:
        super().__init__()
        self.answers = answers

    def post(self, shared, found, done):
        shared["visits"] = shared.get("visits", 0) + 1
        return self.answers[shared["visits"] - 1]


class GivesUp(Node):
    def exec(self, found):
        raise ValueError(f"try {self.cur_retry}")

    def exec_fallback(self, found, error):
        return [str(error), self.cur_retry]

    def post(self, shared, found, done):
        shared["done"] = done


def around(answer: Answer) -> Flow:
    answer >> answer
    answer - "1" >> GivesUp()
    return Flow(start=answer)


def with_params(flow: Flow, **params: object) -> Flow:
    flow.set_params(params)
    return flow


FLOWS = {
    "a param and no key": (with_params(Flow(start=Greet()), tone="dry"), {}),
    "a param and a key of one name": (with_params(Flow(start=Greet()), tone="dry"), {"tone": "warm"}),
    "actions that are not texts": (around(Answer(0, False, "", 1)), {}),
    "a last action that is True": (Flow(start=Answer(True)), {}),
    "a fallback after three tries": (Flow(start=GivesUp(max_retries=3)), {}),
    "a key and an empty param": (with_params(Flow(start=Greet()), tone=""), {"tone": "warm"}),
}


@pytest.mark.filterwarnings("ignore:Flow ends")
@pytest.mark.parametrize(("flow", "store"), FLOWS.values(), ids=FLOWS)
def test_the_store_is_that_of_pocketflow(flow: pocketflow.Flow, store: dict[str, object]):
    plain = copy.deepcopy(store)
    flow.run(plain)
    assert pflow.run(flow, **store) == plain
    watched = Ran(wire(flow_from(flow, is_run_here=True)), dict(store))  # as `pflow run` does, which keeps a trace
    assert (watched.store, watched.error) == (plain, None)
