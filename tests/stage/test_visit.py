"""Running a node: tries, pauses, and what it emits."""

import asyncio
import signal

import pocketflow
import pytest

from pflow.errors import PflowError
from pflow.node import Node
from pflow.stage import visit
from pflow.stage.visit import run_node


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses between tries, in seconds, none of which is slept."""
    slept: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds, result=None):
        slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(visit.time, "sleep", slept.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


class Failing:
    """exec fails as often as `failures` says, then answers."""

    failures = 99
    error: Exception = ValueError("no")
    parts: tuple[str, ...] = ()

    def __init__(self, *args):
        super().__init__(*args)
        self.calls: list = []

    def answer(self, prepared):
        self.calls.append(prepared)
        if len(self.calls) <= self.failures:
            for part in self.parts:
                self.emit(part)
            raise self.error
        return f"answer to {prepared}"


class One(Failing, Node):
    def prep(self, shared):
        return "q"

    def exec(self, prepared):
        return self.answer(prepared)

    def post(self, shared, prepared, answer):
        shared["out"] = answer
        return "went well"


class Plain(Failing, pocketflow.Node):
    prep, exec, post = One.prep, One.exec, One.post


class Async(Failing, pocketflow.AsyncNode):
    async def prep_async(self, shared):
        return "q"

    async def exec_async(self, prepared):
        return self.answer(prepared)

    async def post_async(self, shared, prepared, answer):
        shared["out"] = answer
        return "went well"


KINDS = [One, Plain, Async]


def made(kind, failures=99, error=None, parts=(), max_retries=1, wait=0):
    node = kind(max_retries, wait)
    node.failures, node.parts = failures, parts
    node.error = error or ValueError("no")
    return node


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("retries", "calls"), [(None, 1), (0, 1), (1, 2), (3, 4)])
def test_a_node_that_always_fails_is_tried_so_many_times_more_and_its_failure_gets_out(kind, retries, calls, pauses):
    node, shared = made(kind), {}
    with pytest.raises(ValueError, match="no"):
        run_node(node, shared, retries=retries, wait=2)
    assert len(node.calls) == calls
    assert pauses == [2] * (calls - 1)
    assert shared == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_that_succeeds_at_last_has_succeeded(kind, pauses):
    node, shared = made(kind, failures=2), {}
    assert run_node(node, shared, retries=2, wait=0.5) == "went well"
    assert (len(node.calls), shared, pauses) == (3, {"out": "answer to q"}, [0.5, 0.5])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_number_the_nodes_own_holds(kind, pauses):
    node = made(kind, max_retries=3, wait=7)
    with pytest.raises(ValueError, match="no"):
        run_node(node, {}, wait=7)
    assert len(node.calls) == 3
    assert pauses == [7, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_replaces_the_nodes_own(kind):
    for retries in (0, 1):
        node = made(kind, max_retries=5)
        with pytest.raises(ValueError, match="no"):
            run_node(node, {}, retries=retries)
        assert len(node.calls) == retries + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_that_says_max_retries_0_is_still_run_once(kind):
    node, shared = made(kind, failures=0, max_retries=0), {}
    run_node(node, shared)
    assert shared == {"out": "answer to q"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("asked", "wait", "pause"), [(None, 2, 2), (5, 2, 5), (1, 2, 2), (0, 0, 0), (0.5, 0, 0.5)])
def test_a_retry_after_is_honoured(kind, asked, wait, pause, pauses):
    node = made(kind, failures=1, error=PflowError("busy", exit=75, retry_after=asked))
    run_node(node, {}, retries=1, wait=wait)
    assert pauses == [pause]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (PflowError("x", exit=2), 1),
        (PflowError("x", exit=66), 1),
        (PflowError("x", exit=77), 1),
        (PflowError("x", exit=78), 1),
        (FileNotFoundError(2, "x"), 1),
        (PflowError("x", exit=1), 4),
        (PflowError("x", exit=69), 4),
        (PflowError("x", exit=75), 4),
        (TimeoutError("x"), 4),
        (ValueError("x"), 4),
    ],
    ids=repr,
)
def test_what_another_try_cannot_mend_is_not_tried_again(kind, error, calls):
    node = made(kind, error=error)
    with pytest.raises(type(error), match="x"):
        run_node(node, {}, retries=3)
    assert len(node.calls) == calls


def test_there_is_no_other_try_once_a_part_was_emitted():
    heard: list = []
    node = made(One, parts=("a", "b"))
    with pytest.raises(ValueError, match="no"):
        run_node(node, {}, retries=3, sink=heard.append)
    assert (heard, len(node.calls)) == (["a", "b"], 1)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_fallback_is_asked_once_after_the_last_try(retries):
    class Falling(One):
        def exec_fallback(self, prepared, error):
            return f"instead of {prepared}: {error}"

    node, shared = made(Falling), {}
    run_node(node, shared, retries=retries)
    assert (len(node.calls), shared) == (retries + 1, {"out": "instead of q: no"})


def test_each_item_of_a_batch_has_its_own_tries(pauses):
    class Batch(pocketflow.BatchNode):
        def prep(self, shared):
            return ["a", "b", "c"]

        def exec(self, item):
            calls.append(item)
            if calls.count(item) < 3:
                raise ValueError(item)
            return item.upper()

        def post(self, shared, items, answers):
            shared["out"] = answers

    calls: list = []
    shared: dict = {}
    run_node(Batch(), shared, retries=2, wait=1)
    assert shared == {"out": ["A", "B", "C"]}
    assert calls == [*"aaabbbccc"]
    assert pauses == [1] * 6


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_one_item_that_always_fails_fails_the_batch(retries):
    class Batch(pocketflow.BatchNode):
        def prep(self, shared):
            return ["a", "b"]

        def exec(self, item):
            if item == "b":
                raise ValueError(item)
            return item

        def post(self, shared, items, answers):
            shared["out"] = answers

    shared: dict = {}
    with pytest.raises(ValueError, match="b"):
        run_node(Batch(), shared, retries=retries)
    assert shared == {}


@pytest.mark.parametrize("base", [pocketflow.AsyncBatchNode, pocketflow.AsyncParallelBatchNode])
def test_each_item_of_an_async_batch_has_its_own_tries(base):
    class Batch(base):
        async def prep_async(self, shared):
            return ["a", "b"]

        async def exec_async(self, item):
            calls.append(item)
            if calls.count(item) < 2:
                raise ValueError(item)
            return item.upper()

        async def post_async(self, shared, items, answers):
            shared["out"] = answers

    calls: list = []
    shared: dict = {}
    run_node(Batch(), shared, retries=1)
    assert shared == {"out": ["A", "B"]}
    assert sorted(calls) == [*"aabb"]


def test_prep_and_post_are_never_tried_again():
    class Bad(Node):
        def prep(self, shared):
            calls.append("prep")

        def post(self, shared, prepared, answer):
            calls.append("post")
            raise ValueError("in post")

    calls: list = []
    with pytest.raises(ValueError, match="in post"):
        run_node(Bad(), {}, retries=3)
    assert calls == ["prep", "post"]


@pytest.mark.parametrize("failures", [0, 99])
def test_a_time_limit_is_set_for_the_run_and_lifted_after_it(failures):
    class Timed(One):
        def exec(self, prepared):
            limits.append(signal.getitimer(signal.ITIMER_REAL)[0])
            return super().exec(prepared)

    limits: list = []
    try:
        run_node(made(Timed, failures=failures), {}, timeout=500)
    except ValueError:
        assert failures
    assert 0 < limits[0] <= 500
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
