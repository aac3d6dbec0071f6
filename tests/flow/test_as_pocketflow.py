"""A flow of plain pocketflow code does in pflow what pocketflow does with it."""

from __future__ import annotations

import copy

import pocketflow
import pytest
from pocketflow import Flow, Node

import pflow
from pflow.catalog.kinds import forget_kinds


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


def with_params(flow: Flow, **params: object) -> Flow:
    flow.set_params(params)
    return flow


FLOWS = {
    "a param and no key": (with_params(Flow(start=Greet()), tone="dry"), {}),
    "a param and a key of one name": (with_params(Flow(start=Greet()), tone="dry"), {"tone": "warm"}),
    "a key and an empty param": (with_params(Flow(start=Greet()), tone=""), {"tone": "warm"}),
}


@pytest.mark.parametrize(("flow", "store"), FLOWS.values(), ids=FLOWS)
def test_the_store_is_that_of_pocketflow(flow: pocketflow.Flow, store: dict[str, object]):
    plain = copy.deepcopy(store)
    flow.run(plain)
    assert pflow.run(flow, **store) == plain
