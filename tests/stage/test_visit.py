"""Running a node: tries, pauses, what it emits; and the same alone, in a pipe, in a flow and in a batch."""

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pocketflow
import pytest

from pflow.catalog.registry import names_in
from pflow.conformance.samples import OutputDocument, Samples, document
from pflow.errors import PflowError
from pflow.node import Node, declared_interface, load_bundled
from pflow.stage import visit
from pflow.stage.flags import flags_of
from pflow.values.usage import Calls
from tests.nodes.cases.case import NOTHING, Case, filled, load_cases
from tests.peers.warm import Warm
from tests.stage.running import run_node


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses between tries, in seconds, none of which is slept."""
    slept: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds, result=None):
        slept.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(visit.signals, "sleep", slept.append)
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
        (PflowError("x", exit=75, retry_after=99_999), 1),
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


def test_times_are_milliseconds_and_those_of_calls_count_from_the_visits_begin(monkeypatch):
    seen = visit.Visit()
    seen.begun = 10.0
    monkeypatch.setattr(visit.time, "monotonic", lambda: 11.2345678)
    assert seen.ms() == 1234.568
    runner, node = visit.NodeRunner(), SimpleNamespace(tells_budget=True, calls=Calls())
    made = [(10.5, 10.75, {"model": "m"}, None), (11.0, 11.0005004, {}, PflowError("no", exit=75))]
    monkeypatch.setattr(runner, "act", lambda node, *_: node.calls.made.extend(made))
    runner._act_counted(node, {}, seen)
    assert seen.more["asked"] == [{"at": 500.0, "ms": 250.0, "model": "m"}, {"at": 1000.0, "ms": 0.5, "exit": 75}]


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


CASES = load_cases()


class Tried:
    """A case in a directory of its own, and the ways to run it."""

    def __init__(self, case: Case, folder: Path, variables: Mapping[str, str], warm: Warm) -> None:
        names = {**variables, "here": str(folder)}
        self.case, self.folder, self.warm = case, folder, warm
        self.node = load_bundled(case.node)
        self.interface = declared_interface(self.node)
        self.flags, self.store, self.expected = (filled(each, names) for each in (case.flags, case.store, case.writes))
        flags = flags_of(list(self.flags), self.interface)
        self.params = {name: flag.value for name, flag in flags.params.items()}
        self.data = {name: flag.value for name, flag in flags.data.items()}
        self.piped = {}
        if case.pipe is not NOTHING:
            assert self.interface.pipe_read, "something is in the pipe, and no read of the node is [pipe]"
            self.piped = {self.interface.pipe_read.name: filled(case.pipe, names)}

    def start(self, *words: str, stdin: bytes | None) -> OutputDocument:
        """Run a program; the document that it printed."""
        done = self.warm.run([*words, "-j"], cwd=self.folder, env=os.environ, input=stdin, text=False)
        assert done.returncode == self.case.exit, done.stderr.decode()
        answer = OutputDocument(done.stdout)
        assert not answer.fault, f"{answer.fault}: {done.stderr.decode()}"
        return answer

    def stdin(self) -> bytes | None:
        """Raw where the pipe carries a text and nothing else is in the store, else a document."""
        carried = next(iter(self.piped.values()), None)
        if isinstance(carried, str | bytes) and not self.store:
            return carried.encode() if isinstance(carried, str) else carried
        return (
            document({**self.store, **self.piped}, next(iter(self.piped), None)) if self.store or self.piped else None
        )

    def written(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {key: members[key] for key in self.interface.writes if key in members and not self.case.exit}


def alone(tried: Tried) -> dict[str, Any]:
    answer = tried.start(f"pflow-{tried.case.node}", *tried.flags, stdin=tried.stdin())
    assert answer.action == tried.case.action
    return tried.written(answer.members)


def in_a_flow(tried: Tried) -> dict[str, Any]:
    line = shlex.join([tried.case.node, *tried.flags])
    return tried.written(tried.start("pflow", "run", line, stdin=tried.stdin()).members)


def in_a_batch(tried: Tried) -> dict[str, Any]:
    """Run it over two equal items and return what the first one wrote; over one if it writes a file.

    An item is what the pipe would bring, else the value of the first flag.
    """
    assert tried.piped or tried.data, "a batch needs a read: give one by a flag"
    key, item = next(iter({**tried.piped, **tried.data}.items()))
    items = [item] * (1 if tried.case.once or "writes files" in tried.interface.effects else 2)
    words = Samples(tried.interface, list(tried.flags)).words_without(key)
    line = shlex.join([tried.case.node, *words, "--each=items", f"--as={key}"])
    answer = tried.start("pflow", "run", line, stdin=document({**tried.store, "items": items}))
    written = tried.written(answer.members)
    assert written == {key: [tried.expected.get(key)] * len(items) for key in written}
    return {key: values[0] for key, values in written.items()}


def under_pocketflow(tried: Tried) -> dict[str, Any]:
    node, shared = tried.node(), {**tried.store, **tried.data, **tried.piped}
    node.set_params(tried.params)
    if tried.case.exit:
        with pytest.raises(PflowError) as caught:
            node.run(shared)
        assert caught.value.exit == tried.case.exit
    else:
        assert (node.run(shared) or "default") == tried.case.action
    return tried.written(shared)


@pytest.mark.parametrize("way", [alone, in_a_flow, in_a_batch, under_pocketflow], ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_node_gives_the_same_everywhere(tmp_path, monkeypatch, warm, case, way):
    folder = tmp_path / "here"
    with case.laid_out(folder) as variables:
        for name, value in {"HOME": str(tmp_path), **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        tried = Tried(case, folder, variables, warm)
        assert way(tried) == tried.expected
    assert {name: content_of(folder / name) for name in case.left} == case.left


def test_every_node_has_a_case():
    assert {case.node for case in CASES.values()} == {*names_in("nodes")}


def content_of(file: Path) -> str | bytes | None:
    """A text, bytes where it is not UTF-8, None where nothing is there."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return file.read_bytes()
