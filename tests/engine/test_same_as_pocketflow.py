"""Flows that are drawn by lot end alike under PocketFlow's own Flow and Node and under pflow's."""

from __future__ import annotations

import asyncio
import random
import warnings
from types import SimpleNamespace

import pocketflow
import pytest

import pflow
from pflow.catalog.kinds import forget_kinds

OURS = SimpleNamespace(**{**vars(pocketflow), "Node": pflow.Node, "Flow": pflow.Flow})
ACTIONS = ["default", "default", "a", "b", "", None]


def note(shared, entry):
    shared["log"].append(entry)
    if len(shared["log"]) > 60:
        raise RuntimeError("it goes round and round")


class Work:
    """Fails as often as it is told, then gives back its item. Its lists are one for all copies of a node."""

    def __init__(self, name, fails, is_saved, items, actions, max_retries):
        super().__init__(max_retries)
        self.name, self.is_saved, self.items = name, is_saved, items
        self.failures, self.actions = list(range(fails)), actions

    def begin(self, shared):
        note(shared, [self.name, dict(self.params), hasattr(self, "was_here")])
        return self.items

    def work(self, item):
        if self.failures:
            raise ValueError(f"{self.name} fails, {self.failures.pop()} more to come")
        return [self.name, item]

    def save(self, prepared, error):
        if not self.is_saved:
            raise error
        return ["saved", prepared, str(error)]

    def end(self, shared, prepared, done):
        self.was_here = True
        shared["done"] = {**shared.get("done", {}), self.name: done}
        return self.actions.pop() if self.actions else "stop"


class Sync(Work):
    prep, exec, exec_fallback, post = Work.begin, Work.work, Work.save, Work.end


class Async(Work):
    async def prep_async(self, shared):
        return self.begin(shared)

    async def exec_async(self, item):
        await asyncio.sleep(0)
        return self.work(item)

    async def exec_fallback_async(self, prepared, error):
        return self.save(prepared, error)

    async def post_async(self, shared, prepared, done):
        return self.end(shared, prepared, done)


class Drawing:
    """Flows of one house's classes. The same lots make the same flow of another's."""

    def __init__(self, seed, house, *, as_steps=False):
        self.draw = random.Random(seed)
        self.house = house
        self.as_steps = as_steps

    def root(self):
        is_async = self.draw.random() < 0.4
        start = self.start(is_async, "", 0)
        flow = self.house.AsyncFlow(start) if is_async else self.house.Flow(start)
        flow.set_params({} if self.as_steps or self.draw.random() < 0.5 else {"of": "root"})
        return flow

    def start(self, is_async, name, depth):
        """The first node of some, and edges between them."""
        nodes = [self.node(is_async, f"{name}n{number}", depth) for number in range(self.draw.randint(1, 4))]
        for _ in range(self.draw.randint(0, 2 * len(nodes))):
            source, target, action = self.draw.choice(nodes), self.draw.choice(nodes), self.draw.choice(ACTIONS[1:4])
            if action not in source.successors:
                source.next(target, action)
        return nodes[0]

    def node(self, is_async, name, depth):
        if depth < 2 and self.draw.random() < 0.25:
            return self.flow(is_async, name, depth)
        bases = ["Node", "Node", "BatchNode"]
        if is_async or self.draw.random() < 0.02:  # in a Flow that is not, it is an error
            bases += ["AsyncNode", "AsyncBatchNode", "AsyncParallelBatchNode"]
        base = self.draw.choice(bases)
        made = type(base, (Async if "Async" in base else Sync, getattr(self.house, base)), {})(
            name,
            fails=self.draw.choice([0, 0, 0, 1, 2]),
            is_saved=self.draw.random() < 0.7,
            items=self.draw.choice([[], [1], [1, 2, 3], None]),
            actions=self.draw.choices(ACTIONS, k=self.draw.randint(0, 3)),
            max_retries=self.draw.randint(1 if self.as_steps else 0, 3),
        )
        return pflow.step(made, name) if self.as_steps and self.house is OURS else made

    def flow(self, is_async, name, depth):
        bases = ["Flow", "Flow"] if self.as_steps else ["Flow", "Flow", "BatchFlow"]
        if is_async:
            bases += ["AsyncFlow"] if self.as_steps else ["AsyncFlow", "AsyncBatchFlow", "AsyncParallelBatchFlow"]
        base = self.draw.choice(bases)
        params = [{"of": number} for number in range(self.draw.randint(0, 2))]

        def prep(self, shared):
            note(shared, [name, dict(self.params)])
            return params

        async def prep_async(self, shared):
            return prep(self, shared)

        own = {"prep": prep, "prep_async": prep_async} if "Batch" in base else {}
        return type(base, (getattr(self.house, base),), own)(self.start("Async" in base, name, depth + 1))


def ended(flow):
    """How a flow ends on a new store: its action or what it raises, the store, and what is warned of."""
    shared = {"log": []}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            is_async = isinstance(flow, pocketflow.AsyncNode)
            outcome = asyncio.run(flow.run_async(shared)) if is_async else flow.run(shared)
        except Exception as error:
            outcome = error
    return outcome, shared, [str(each.message) for each in warned]


@pytest.mark.parametrize("start", range(0, 500, 100))
def test_actions_loops_retries_fallbacks_batches_and_flows_in_flows_are_the_same(start):
    for seed in range(start, start + 100):
        plain, ours = (ended(Drawing(seed, house).root()) for house in (pocketflow, OURS))
        assert repr(ours) == repr(plain), seed


def test_in_steps_they_are_too_where_no_batch_of_flows_is(monkeypatch):
    """An engine of pflow's awaits what is to be awaited, in any Flow."""
    monkeypatch.setattr("pflow.driver.flow.say", lambda *words: None)
    for seed in range(80):
        forget_kinds()
        action, shared, _ = ended(Drawing(seed, pocketflow, as_steps=True).root())
        got, store, _ = ended(pflow.Flow(Drawing(seed, OURS, as_steps=True).root().start_node))
        if not isinstance(action, Exception):
            assert (got or None, store) == (action or None, shared), seed
        elif not isinstance(action, RuntimeError):
            assert isinstance(got, pflow.PflowError), seed
    forget_kinds()


def test_edges_that_are_overwritten_and_nodes_that_are_run_alone_are_warned_of_alike():
    said = []
    for house in (pocketflow, OURS):
        one, two = house.Node(), house.Node()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert (one >> two, one - "a" >> two, one >> one) == (two, two, one)
            assert one.run({}) is None
        said.append([str(each.message) for each in warned])
        with pytest.raises(TypeError, match="Action must be a string"):
            one - 5
    assert said[0] == said[1]
    assert len(said[0]) == 2


@pytest.mark.filterwarnings("ignore:Flow ends")
def test_a_param_that_a_node_changes_lives_for_one_run():
    def seen(house):
        class Count(house.Node):
            def post(self, shared, prepared, done):
                self.params["visits"] = self.params.get("visits", 0) + 1
                shared["visits"].append(self.params["visits"])
                return "again" if len(shared["visits"]) % 3 else "stop"

        node, shared = Count(), {"visits": []}
        node - "again" >> node
        for params in ({}, {}, {"of": "root"}):
            flow = house.Flow(node)
            flow.set_params(params)
            flow.run(shared)
        return shared["visits"]

    assert seen(OURS) == seen(pocketflow) == [1, 2, 3] * 3
