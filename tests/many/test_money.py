"""A budget as the installed programs hold it, against a server whose answers of 20 tokens cost $2 each."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.many.server import Server

TREES = [f"tree {number}" for number in range(9)]
ITEMS = "\n".join(TREES)
ASK = "llm Name -m MODEL --max-tokens=20"
LLM = {"type": "llm", "params": {"model": "MODEL", "max_tokens": 20}, "inputs": {"prompt": "Name"}}
EACH = {**LLM, "id": "ask", "inputs": {}, "batch": {"over": "trees", "as": "prompt", "jobs": 3, "on_error": "keep"}}
FORK = [{"id": "first", "type": "shell", "inputs": {"command": "true"}}, *({"id": id, **LLM} for id in "abc")]
APART = {id: {"output_mappings": {key: f"{id}.{key}" for key in ("response", "usage")}} for id in "abc"}
FLOWS = {
    "batch": {"nodes": [EACH], "inputs": {"trees": {"type": "list", "default": TREES}}},
    "fork": {"nodes": FORK, "edges": [{"from": "first", "to": id} for id in "abc"], "mappings": APART},
}


class Shop:
    """The server, and pflow that pays it."""

    def __init__(self, server: Server, home: Path) -> None:
        self.server, self.before = server, server.counts()["answers"]
        places = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
        env = {**os.environ, **places, "HOME": str(home), "PFLOW_PLAN_MODEL": server.model()}
        self.given = {"cwd": home, "env": env, "text": True}
        (home / "CONFIG" / "pflow").mkdir(parents=True)
        prices = f'"{server.model()}" = {{ input = 0, output = 100_000 }}\n'
        prices += f'"{server.model("billed")}" = {{ input = 0, output = 1 }}\n'
        (home / "CONFIG" / "pflow" / "prices.toml").write_text(prices)
        for name, flow in FLOWS.items():
            (home / f"{name}.json").write_text(self.filled(json.dumps({"pflow": 1, **flow})))

    def filled(self, text: str) -> str:
        return text.replace("MODEL", self.server.model()).replace("BILLED", self.server.model("billed"))

    def words(self, words: tuple[str, ...]) -> list[str]:
        return [str(Path(sys.executable).parent / "pflow"), *map(self.filled, words)]

    def run(self, *words: str, items: str = ITEMS) -> tuple[int, int, str]:
        """Return the exit code, how many answers were paid, and what was said."""
        done = subprocess.run(self.words(words), input=items, capture_output=True, check=False, **self.given)
        before, self.before = self.before, self.server.counts()["answers"]
        return done.returncode, self.before - before, done.stderr + done.stdout


@pytest.fixture(scope="module")
def server():
    with Server(ms=100) as server:
        yield server


@pytest.fixture
def shop(server, tmp_path):
    return Shop(server, tmp_path)


@pytest.mark.parametrize(
    ("words", "asked", "left"),
    [
        (("map", "llm Name -m MODEL", "--max-cost=0.5"), 0, "take $409.60, and the map has $0.50 of $0.50 left"),
        (("map", "llm Name -m MODEL", "--max-tokens-total=20"), 0, "the map has 20 of 20 tokens left"),
        (("map", ASK, "--max-cost=6", "--jobs=9"), 3, "the map has spent $6.00 of $6.00"),
        (("map", "llm Name -m BILLED", "--max-cost=3", "--jobs=9"), 1, "a call may take $2.00, and the map has $1.00"),
        (("run", "./batch.json", "-n", "--max-cost=5"), 2, "a call may take $2.00, and the run has $1.00 of $5.00"),
        (("run", "./fork.json", "-n", "--max-cost=5"), 2, "a call may take $2.00, and the run has $1.00 of $5.00"),
        (("Name trees for me, one each", "--yes", "--max-cost=0.5"), 0, "take $409.60, and the plan has $0.50"),
    ],
)  # fmt: skip
def test_no_call_begins_that_may_pass_the_budget(shop, words, asked, left):
    code, paid, said = shop.run(*words)
    assert (code, paid, left in said, "--max-" in said.partition(left)[2]) == (79, asked, True, True), said


def test_a_resume_has_what_its_map_left_and_each_shard_its_share(shop):
    for words in (("map", ASK, "--max-cost=5"), ("resume", "last", "--max-cost=9")):
        code, paid, said = shop.run(*words)
        assert (code, paid, "; … | pflow resume 0" in said, said.count("goes on")) == (79, 2, True, 1), said
        assert " --max-cost=… goes on" in said
    code, paid, said = shop.run("map", ASK, "--max-cost=7", "--shard=2/3")
    assert (code, paid, "shard 2/3 of the map has $0.33 of $2.33 left" in said) == (79, 1, True), said


@pytest.mark.parametrize("words", [("map", ASK, "--jobs=2"), ("run", "./batch.json", "-n")])
def test_calls_that_kill_9_ended_count_as_they_were_held(shop, words):
    command, none = shop.words((*words, "--max-cost=9")), subprocess.DEVNULL
    killed = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=none, stderr=none, **shop.given)
    killed.stdin.write(ITEMS)
    killed.stdin.close()
    before = shop.server.counts()["requests"]
    while shop.server.counts()["requests"] == before and killed.poll() is None:
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    while shop.server.counts()["requests"] != shop.server.counts()["answers"]:
        time.sleep(0.005)
    code, paid, _ = shop.run("resume", "last")
    assert (code, paid <= 4) == (79, True)


def test_a_map_of_a_ledger_begins_with_nothing_used_and_shows_what_it_took_itself(shop):
    nights = ["\n".join(TREES[:count]) for count in (2, 3, 3)]
    assert [shop.run("map", ASK, "--ledger=l.db", "--max-cost=5", items=each)[:2] for each in nights] == [
        (0, 2), (0, 1), (0, 0),
    ]  # fmt: skip
    runs = json.loads(shop.run("runs", "--json")[2])[::-1]
    assert [run["usage"].get("cost") for run in runs] == [4, 2, None]
    told = [json.loads(shop.run("trace", run["run"], "--json")[2])["map"]["models"] for run in runs]
    assert [[each["calls"] for each in models] for models in told] == [[2], [1], []]
    assert "no model has answered" in shop.run("trace", runs[2]["run"], "--html")[2]
    assert "in an earlier map" in shop.run("why", runs[2]["run"], "1")[2]
    assert "$2.00" in shop.run("why", runs[0]["run"], "1")[2]
