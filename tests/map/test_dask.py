"""A map on a dask cluster: a scheduler and workers of our own on 127.0.0.1."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import distributed
import pytest

from pflow.driver.driver import parse
from pflow.driver.initial_state import InitialState
from pflow.errors import PflowError
from pflow.flow.subflow import load_named
from pflow.flow.wiring import wire
from pflow.map.dask import DaskExecutor
from pflow.map.item import ITEM, ItemFlow
from pflow.map.remote import WorkerPools, _is_wanted, order_of
from pflow.process.pool import Lost
from pflow.stage.document import NOTHING, Document, Intake
from pflow.values.digest import digest_of
from pflow.values.secrets import Secrets
from tests.map.server import Server
from tests.map.test_money import Shop


class Cluster:
    """`dask scheduler`, and `dask worker` processes without nannies."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes = []
        file = directory / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host=127.0.0.1", "--port=0", f"--scheduler-file={file}")
        while not file.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]

    def _start(self, *words: str) -> subprocess.Popen:
        log = (self.directory / "log").open("ab")
        words = (sys.executable, "-m", "dask", *words, "--no-dashboard")
        self.processes.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=self.directory))
        return self.processes[-1]

    def worker(self) -> subprocess.Popen:
        return self._start("worker", self.address, "--no-nanny", "--nthreads=1")

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.worker()
    yield cluster
    cluster.end()


def a_map(text, *words):
    """The flow of a map, and the first record of its journal."""
    spec = load_named([text])
    spec.item_names = (ITEM,)
    flags, inputs = parse(wire(spec), list(words))
    secrets = Secrets()
    record = InitialState(inputs, Intake(Document(), NOTHING), secrets).record(flags)
    return ItemFlow(inputs, secrets, vars(flags), run_id="run"), record


def run(executor, items, on_result=lambda: None):
    """The results in the order of the items, and how many tries were lost."""
    waiting, tries, results, lost = list(enumerate(items))[::-1], {}, {}, 0
    try:
        while len(results) < len(items):
            while waiting and executor.has_room():
                index, item = waiting.pop()
                tries[len(tries)] = index, item
                executor.submit(len(tries) - 1, f"id{index}", item)
            for number, result in executor.wait(None):
                if isinstance(result, Lost):
                    waiting.append(tries[number])
                    lost += 1
                else:
                    results[tries[number][0]] = {**result, "ms": 0}
                    on_result()
    finally:
        executor.close()
    return [results[index] for index in range(len(items))], lost


def answer(name, about, reply):
    reply(None)


PRINTS = 'shell \'echo noise >&2; pwd; item=$(cat); echo "$item"; test "$item" != bad\''
TYPED = {"inputs": {"n": {"type": "int"}}, "nodes": [{"type": "template", "inputs": {"template": "$n"}}]}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (PRINTS, ["ä\u2028", b"\xff", "bad", 1.5e-7, {"item": ["x", None]}, *map(str, range(40))]),
        ("./typed.pflow.json", [{"n": "7"}, {"n": 7.0}, {"n": "x"}]),
    ],
)
def test_results_are_those_of_this_machine_whatever_nodes_print(cluster, tmp_path, monkeypatch, text, items):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "typed.pflow.json").write_text(json.dumps(TYPED))
    flow, record = a_map(text)
    here = [{**flow.run(f"id{index}", item), "ms": 0} for index, item in enumerate(items)]
    assert {each["status"] for each in here} == {"done", "failed"}
    here = [{**each, "claims": []} for each in here]
    assert run(DaskExecutor(cluster.address, flow, record, answer), items) == (here, 0)


def test_a_time_limit_ends_what_hangs_and_nothing_else(cluster):
    flow, record = a_map("shell 'sleep $(cat)'", "--timeout=0.5")
    results, lost = run(DaskExecutor(cluster.address, flow, record, answer), ["0", "600", "0"])
    assert ([each["exit"] for each in results], lost) == ([0, 124, 0], 0)


def test_a_worker_that_is_killed_costs_the_item_that_it_was_at(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        workers = [cluster.worker()]
        flow, record = a_map(f"shell 'tee -a {tmp_path}/began; sleep 0.15'")
        executor = DaskExecutor(cluster.address, flow, record, answer)
        ended = []

        def kill_at_times():
            ended.append(1)
            if len(ended) in (5, 15):
                workers.append(cluster.worker())
                workers[-2].kill()

        results, lost = run(executor, [f"{number} " for number in range(25)], kill_at_times)
        assert [each["outputs"]["stdout"] for each in results] == [f"{number} " for number in range(25)]
        assert lost <= 2
        assert len((tmp_path / "began").read_text().split()) <= 27
        executor = DaskExecutor(cluster.address, flow, record, answer)
        os.kill(cluster.scheduler.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(PflowError, match="is gone") as gone:
            run(executor, list(range(100)))
        assert (gone.value.exit, time.monotonic() - began < 60) == (75, True)
    finally:
        cluster.end()


def children_of(pid):
    """The processes below a process, those in sessions of their own too, as long as their parents are there."""
    own = [int(each) for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()]
    return [*own, *(below for each in own for below in children_of(each))]


def until(is_true):
    for _ in range(1200):
        if is_true():
            return True
        time.sleep(0.05)
    return False


def test_workers_end_what_they_do_for_a_map_that_is_over(cluster):
    flow, record = a_map("template 'of ${item}'")
    worker, seen = cluster.processes[1].pid, []
    assert run(DaskExecutor(cluster.address, flow, record, answer), ["a"], lambda: seen.extend(children_of(worker)))[0]
    assert seen
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in seen))


def test_a_worker_that_closes_ends_what_it_does_for_maps(monkeypatch):
    """As when its scheduler was killed: it waits half a minute for its threads, and nobody takes their results."""
    worker = SimpleNamespace(state=SimpleNamespace(tasks={"first": ...}), get_current_task=lambda: "first")
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    worker.status = distributed.Status.running
    is_wanted = _is_wanted()

    assert is_wanted()
    worker.status = distributed.Status.closing
    assert not is_wanted()


def test_workers_end_what_they_do_for_a_map_whose_process_was_killed(tmp_path):
    cluster = Cluster(tmp_path)
    try:
        worker = cluster.worker()
        words = ("map", "shell 'echo $$ >>began; sleep 600'", "--executor=dask", f"--scheduler={cluster.address}", "-q")
        pflow = Path(sys.executable).with_name("pflow")
        with subprocess.Popen([pflow, *words], stdin=subprocess.PIPE, cwd=tmp_path) as driver:
            driver.stdin.write(b"a\nb\n")
            driver.stdin.close()
            assert until(lambda: (tmp_path / "began").exists() and (tmp_path / "began").read_text().strip())
            left = children_of(worker.pid)
            assert len(left) >= 2
            driver.kill()
        assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
        assert worker.poll() is None
        assert len((tmp_path / "began").read_text().split()) == 1
    finally:
        cluster.end()


def test_the_files_that_an_item_writes_come_with_its_result(cluster, tmp_path):
    flow, record = a_map(f"template 'of ${{item}}' => write-file {tmp_path}/same")
    results, _ = run(DaskExecutor(cluster.address, flow, record, answer), ["a", "b"])
    one, other = (each["claims"] for each in results)
    assert one == other == [digest_of(os.fsencode(tmp_path / "same"))]


def test_what_does_not_repeat_is_noted_before_it_is_sent(cluster):
    noted = []
    flow, record = a_map("http --url=http://127.0.0.1:9/ --method=POST")
    executor = DaskExecutor(cluster.address, flow, record, lambda name, about, reply: noted.append((name, about)))
    assert not flow.repeats
    run(executor, ["a", "b"])
    assert noted == [("start", "id0"), ("start", "id1")]


def changed(**facts):
    flow, record = a_map("template $item")
    order = order_of(flow, record)
    return json.dumps({**order, "facts": {**order["facts"], **facts}})


def test_a_node_that_a_worker_does_not_have_is_named():
    order = json.loads(changed())
    order["ir"]["nodes"][0]["type"] = "no-such-node"
    before = {*children_of(os.getpid())}  # of which some may end meanwhile
    with pytest.raises(PflowError, match="it has no node 'no-such-node'"):
        WorkerPools(json.dumps(order)).run("")
    assert {*children_of(os.getpid())} <= before


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"pflow": "0.0.1"}, "pflow is .*, not 0.0.1"),
        ({"the code of 'template'": {}}, "the code of 'template' is another one here"),
        ({"the flow": "?"}, "the flow is .*, not \\?"),
        ({"the secret in NO_SUCH_KEY": "set"}, "the secret in NO_SUCH_KEY is None, not set"),
    ],
)
def test_a_process_where_something_differs_says_what(facts, words):
    with pytest.raises(PflowError, match=words):
        WorkerPools(changed(**facts)).run("")


@pytest.mark.parametrize(
    ("limit", "asked", "left"),
    [("cost=1", 0, "$1.00 of $1.00"), ("tokens-total=4150", 2, "4,050 of 4,150")],
)
def test_a_budget_holds_from_the_first_item(cluster, tmp_path, warm, limit, asked, left):
    with Server() as server:
        shop, there = Shop(server, tmp_path, warm), f"--scheduler={cluster.address}"
        code, paid, said = shop.run("map", "llm Name -m MODEL", "--executor=dask", there, f"--max-{limit}")
    assert (code, paid, f"the map has {left}" in said) == (79, asked, True), said
