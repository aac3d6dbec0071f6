"""A budget as the installed programs hold it, against a server whose answers of 20 tokens cost $2 each."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pflow.driver.budget import Budget
from pflow.errors import PflowError
from tests.map.server import Server
from tests.peers.warm import Warm

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

    def __init__(self, server: Server, home: Path, warm: Warm) -> None:
        self.server, self.warm, self.before = server, warm, server.counts()["answers"]
        places = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
        env = {**os.environ, **places, "HOME": str(home), "PFLOW_PLAN_MODEL": server.model()}
        self.given = {"cwd": home, "env": env}
        (home / "CONFIG" / "pflow").mkdir(parents=True)
        costs = {"m": 100_000, "stalled": 100_000, "cut": 100_000, "silent": 100_000, "billed": 1, "later": 1}
        prices = "".join(f'"{server.model(m)}" = {{ input = 0, output = {cost} }}\n' for m, cost in costs.items())
        (home / "CONFIG" / "pflow" / "prices.toml").write_text(prices)
        for name, flow in FLOWS.items():
            (home / f"{name}.json").write_text(self.filled(json.dumps({"pflow": 1, **flow})))

    def filled(self, text: str) -> str:
        for name in ("BILLED", "STALLED", "CUT", "SILENT", "LATER"):
            text = text.replace(name, self.server.model(name.lower()))
        return text.replace("MODEL", self.server.model())

    def words(self, words: tuple[str, ...]) -> list[str]:
        return [str(Path(sys.executable).parent / "pflow"), *map(self.filled, words)]

    def run(self, *words: str, items: str = ITEMS) -> tuple[int, int, str]:
        """Return the exit code, how many answers were paid, and what was said."""
        done = self.warm.run(self.words(words), input=items, **self.given)
        before, self.before = self.before, self.server.counts()["answers"]
        return done.returncode, self.before - before, done.stderr + done.stdout


@pytest.fixture(scope="module")
def server():
    with Server(ms=100) as server:
        yield server


@pytest.fixture
def shop(server, tmp_path, warm):
    return Shop(server, tmp_path, warm)


@pytest.mark.parametrize(
    ("words", "asked", "left"),
    [
        (("map", "llm Name -m MODEL", "--max-cost=0.5"), 0, "take $409.60, and the map has $0.50 of $0.50 left"),
        (("map", "llm Name -m MODEL", "--max-tokens-total=20"), 0, "the map has 20 of 20 tokens left"),
        (("map", ASK, "--max-cost=6", "--jobs=9"), 3, "the map has spent $6.00 of $6.00"),
        (("map", "llm Name -m BILLED", "--max-cost=3", "--jobs=9"), 1, "a call may take $2.00, and the map has $1.00"),
        (("run", "./batch.json", "-n", "--max-cost=5"), 2, "a call may take $2.00, and the run has $1.00 of $5.00"),
        (("run", "./fork.json", "-n", "--max-cost=5"), 2, "a call may take $2.00, and the run has $1.00 of $5.00"),
        (("map", "llm Name -m CUT --max-tokens=20", "--max-cost=6"), 3, "the map has spent $6.00 of $6.00"),
        (("Name trees for me, one each", "--yes", "--max-cost=0.5"), 0, "take $409.60, and the plan has $0.50"),
    ],
)  # fmt: skip
def test_no_call_begins_that_may_pass_the_budget(shop, words, asked, left):
    code, paid, said = shop.run(*words)
    assert (code, paid, left in said, "--max-" in said.partition(left)[2]) == (79, asked, True, True), said


def test_a_stage_behind_a_map_ends_with_79_at_its_budget(shop):
    stage = str(Path(sys.executable).parent / "pflow-write-file")
    words = ["sh", "-c", f"{shlex.join(shop.words(('map', ASK, '--max-cost=4')))} | {stage} o"]
    done = subprocess.run(words, input=ITEMS, stdout=subprocess.PIPE, check=False, text=True, **shop.given)
    assert (done.returncode, json.loads(done.stdout)["stdin"].count("response")) == (79, 2)


def test_a_resume_has_what_its_map_left_and_each_shard_its_share(shop):
    for words in (("map", ASK, "--max-cost=5"), ("resume", "last", "--max-cost=9")):
        code, paid, said = shop.run(*words)
        assert (code, paid, "; … | pflow resume 0" in said, said.count("goes on")) == (79, 2, True, 1), said
        assert " --max-cost=… goes on" in said
    code, paid, said = shop.run("map", ASK, "--max-cost=7", "--shard=2/3")
    assert (code, paid, "shard 2/3 of the map has $0.3333 of $2.3333 left" in said) == (79, 1, True), said


@pytest.mark.parametrize("where", ["the map", "its step"])
def test_calls_that_run_out_of_time_count_as_they_were_reserved(shop, where):
    words = ["llm Name -m STALLED --max-tokens=20", "--timeout=1"]
    words = words if where == "the map" else [" ".join(words)]
    code, paid, said = shop.run("map", *words, "--max-cost=4", "--jobs=1", items="\n".join(map(str, range(60))))
    assert (code, paid <= 2, "the map has spent $4.00 of $4.00" in said) == (79, True, True), said
    assert "cost unknown" in shop.run("runs")[2]


BATCH = "shell 'seq 9' => llm Name --each --jobs=3 --keep-going -m"


@pytest.mark.parametrize("words", [("map", "llm Name -m BILLED"), ("run", f"{BATCH} BILLED", "-n")])
def test_a_resume_knows_what_an_answer_has_cost(shop, words):
    assert shop.run(*words, "--max-cost=3")[:2] == (79, 1)
    for _ in range(2):
        code, paid, said = shop.run("resume", "last", "-q")
        assert (code, paid, "a call may take $2.00" in said) == (79, 0, True), said


@pytest.mark.parametrize("words", [("map", ASK), ("run", "./batch.json", "-n")])
def test_the_limits_that_were_given_last_count(shop, words):
    assert shop.run(*words, "--max-calls=2", "--max-cost=100")[:2] == (79, 2)
    assert shop.run("resume", "last", "-q", "--max-calls=4")[:2] == (79, 2)
    code, paid, said = shop.run("resume", "last", "-q")
    assert (code, paid, "used 4 of 4 calls" in said) == (79, 0, True), said


@pytest.mark.parametrize("words", [("map", "llm Name -m SILENT", "--jobs=9"), ("run", f"{BATCH} SILENT", "-n")])
def test_one_answer_without_its_tokens_is_enough_to_end_it_and_is_shown(shop, words):
    assert shop.run(*words, "--max-cost=9000")[:2] == (78, 1)
    assert json.loads(shop.run("runs", "--json")[2])[0]["usage"]["unpriced"] == 1


def test_a_provider_that_takes_no_call_for_an_hour_stops_the_map_and_its_items_stay_to_do(shop):
    code, paid, said = shop.run("map", "llm Name -m LATER", "--ledger=l.db")
    assert (code, paid, ": 429 from 127.0.0.1; … | pflow resume" in said) == (75, 0, True), said
    assert shop.run("runs")[2].count("failed") == 1


def test_equal_items_of_a_batch_with_the_cache_are_asked_once(shop):
    assert shop.run("run", BATCH.replace("9", "2; seq 2") + " MODEL", "-n", "--cache")[:2] == (0, 2)


LEDGER = ("map", ASK, "--jobs=2", "--ledger=l.db", "--max-cost=9", "--resume")


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (("map", ASK, "--jobs=2"), ("resume", "last")),
        (("run", "./batch.json", "-n"), ("resume", "last")),
        (LEDGER, LEDGER),
    ],
)
def test_calls_that_kill_9_ended_count_as_they_were_reserved(shop, words, again):
    command, none = shop.words((*words, "--max-cost=9")), subprocess.DEVNULL
    killed = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=none, stderr=none, text=True, **shop.given)
    killed.stdin.write(ITEMS)
    killed.stdin.close()
    before = shop.server.counts()["requests"]
    while shop.server.counts()["requests"] == before and killed.poll() is None:
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    while (counts := shop.server.counts())["requests"] != counts["answers"] + counts["refused"]:
        time.sleep(0.005)
    code, paid, _ = shop.run(*again)
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


def test_a_map_typed_again_goes_on_with_its_budget_if_it_is_unfinished_and_its_items_are_the_same(shop, tmp_path):
    def typed(count, *words):
        (tmp_path / "t.txt").write_text("\n".join(TREES[:count]))
        code, paid, said = shop.run("map", ASK, "t.txt", "--ledger=l.db", "--jobs=1", *words, items="")
        return code, paid, "resuming the run" in said

    assert typed(9, "--max-cost=5") == (79, 2, False)
    assert typed(9, "--max-cost=5", "--resume") == (79, 0, True)
    assert typed(9, "--max-calls=3", "--max-cost=99") == (79, 1, True)
    assert "used 3 of 3 calls" in shop.run("resume", "last")[2]
    assert typed(8, "--max-cost=3") == (79, 1, False)  # other items
    assert typed(9, "--max-cost=3") == (79, 1, False)  # not the last of this ledger any more
    assert typed(5, "--max-cost=3") == (0, 0, False)
    assert typed(6, "--max-cost=3") == (0, 1, False)
    assert typed(6, "--max-cost=3") == (0, 0, False)  # it was finished
    runs = [run["usage"].get("cost") for run in json.loads(shop.run("runs", "--json")[2])]
    assert runs == [None, 2, None, 2, 2, 6]


def test_of_items_from_stdin_only_resume_says_that_they_are_the_same(shop):
    words = ("map", ASK, "--ledger=l.db", "--max-cost=3")
    assert [shop.run(*words, *more)[:2] for more in ([], ["--resume"], [])] == [(79, 1), (79, 0), (79, 1)]
    assert "this map has a budget of its own, --resume goes on" in shop.run(*words)[2]


def test_shares_of_a_budget_are_the_whole(shop):
    paid = [shop.run("map", ASK, "--max-calls=2", "--max-tokens-total=500", f"--shard={i}/3")[1] for i in (1, 2, 3)]
    assert paid == [1, 1, 0]


@pytest.fixture(scope="module")
def begun(server, tmp_path_factory, warm):
    """A shop in which a map has asked for nine items of a ledger."""
    home = tmp_path_factory.mktemp("begun")
    (home / "t.txt").write_text(ITEMS)
    (home / "o.txt").write_text("ash\ntree 3\nash")
    shop = Shop(server, home, warm)
    assert shop.run("map", ASK, "t.txt", "--ledger=l.db", items="")[1] == 9
    return shop


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("o.txt",), "0 done, 3 to do, about $6.00"),
        (("o.txt", "--ledger=l.db"), "1 done, 2 to do, about $4.00"),
        (("o.txt", "--ledger=l.db", "--limit=1"), "0 done, 1 to do, about $2.00"),
        (("t.txt", "--ledger=l.db"), "9 done, 0 to do, about $0"),
        (("t.txt", "--ledger=l.db", "--sample=4"), "4 done, 0 to do, about $0"),
        (("t.txt", "--shard=1/2"), "0 done, 3 to do, about $6.00"),
        (("t.txt", "--shard=2/2", "--ledger=l.db"), "6 done, 0 to do, about $0"),
        (("-", "--sample=2"), "0 done, 2 to do, about $4.00"),
        (("-", "--limit=2"), "at most 2 to do, about $4.00"),
    ],
)
def test_a_map_says_what_is_done_of_its_items_and_asks_and_so_does_estimate(begun, words, told):
    assert told.replace("at most", "0 done,") in begun.run("map", ASK, *words, "--estimate")[2]
    done = begun.warm.run(begun.words(("map", ASK, *words)), input=ITEMS, typed="n\n", **begun.given)
    assert told in done.stdout
    assert ("Begin? [y/N]" in done.stdout, begun.run("runs")[1]) == ("about $0" not in told, 0)


def test_a_refused_call_is_seen_to_take_more_than_is_left():
    with pytest.raises(PflowError, match=r"take \$4.1041, and the run has \$4.1012 of \$4.50 left"):
        Budget({"cost": 4.5}, {"cost": 0.3988}).begin({"model": "m", "most": {"cost": 4.1041}})
