import pytest

from pflow.driver.driver import parse
from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.map.estimate import estimate
from pflow.map.item import ItemFlow
from pflow.map.ledger import LedgerEntry
from pflow.map.loop import ItemPolicy
from pflow.values.secrets import Secrets


class Answers:
    """A ledger with answers of 30 and 50 tokens that took 2 s and 4 s, and what the provider billed."""

    def __init__(self, **billed):
        self.billed = billed

    def counts(self):
        return {"done": 90, "failed": 1}

    def states(self, keys):
        return [("done", 1, 0, 40), ("failed", 3, 0, 1), ("todo", 0, 0, len([*keys]) - 41)]

    def entries(self, status):
        for tokens, ms in ((30, 2000), (50, 4000)):
            yield LedgerEntry("id", "", 0, status, 0, usage={"tokens": {"in": 5, "out": tokens}, **self.billed}, ms=ms)


@pytest.fixture
def flow_of(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "pflow").mkdir(parents=True)
    (tmp_path / "config" / "pflow" / "prices.toml").write_text('"reply" = { input = 100, output = 1000 }\n')
    monkeypatch.chdir(tmp_path)

    def make(text, *flags):
        wired = wire(parse_pipe([text], FlowCatalog(), ("item",)))
        return ItemFlow(parse(wired, list(flags))[1], Secrets())

    return make


ASK = "llm 'Who answers?' -m reply"


@pytest.mark.parametrize(
    ("text", "items", "more", "account"),
    [
        (
            ASK,
            ["x" * 28] * 50,
            {"rpm": 10},
            "0 done, 50 to do, about $10.00, about 500 tokens in and 10,000 out, about 5m00s; 4 bytes are a token; "
            "an answer of 'llm' has 200 tokens (a budget reserves 4,096)",
        ),
        (
            ASK,
            ["x" * 28] * 50,
            {"ledger": Answers(), "jobs": 3},
            "40 done, 1 failed, 9 to do, about $0.37, about 90 tokens in and 360 out, about 9s; 4 bytes are a token",
        ),
        (
            f"{ASK} --max-tokens=7",
            ["x" * 28] * 50,
            {"ledger": Answers(cost=2.2)},
            "40 done, 1 failed, 9 to do, about $20.00, about 90 tokens in and 360 out, about 27s; 4 bytes are a token",
        ),
        (
            "read-file => llm 'Who answers?' -m echo --max-tokens=1",
            ["a.txt"] * 2,
            {},
            "0 done, 2 to do, about 512 tokens in and 2 out; 4 bytes are a token; "
            "the price of the model of 'llm' is not known",
        ),
        (
            "llm 'Is $item a tree?' -m reply --max-tokens=1",
            ["x" * 20] * 2,
            {},
            "0 done, 2 to do, about $0.0038, about 18 tokens in and 2 out; 4 bytes are a token",
        ),
        ("template '$item'", ["a"] * 3, {"rpm": 10}, "0 done, 3 to do"),
        (
            ASK,
            [],
            {},
            "0 done, 0 to do, about $0; 4 bytes are a token; an answer of 'llm' has 200 tokens "
            "(a budget reserves 4,096)",
        ),
    ],
)
def test_an_estimate_counts_what_is_sent_and_says_what_it_assumes(
    flow_of, tmp_path, server, text, items, more, account
):
    (tmp_path / "a.txt").write_text("é" * 506)
    flow = flow_of(text)
    for total in (None, len(items)):
        assert estimate(flow, enumerate(items), total, ItemPolicy(), **more).account() == account
    assert server.requests("reply") == server.requests("echo") == []


def test_many_items_are_like_the_first_thousand_and_a_faulty_one_brings_nothing(flow_of):
    flow, bad = flow_of("template '$text' => " + ASK, "--max-tokens=1"), PflowError("no JSON")
    few = estimate(flow, enumerate([{"text": "x" * 100}, {"other": 1}] * 500), None, ItemPolicy())
    many = ((n, {"text": "x" * 100} if n % 2 else bad) for n in range(1 << 60))
    many = estimate(flow, many, 1_000_000, ItemPolicy())
    assert (few.to_do, many.to_do, many.tokens_in) == (1000, 1_000_000, 1000 * few.tokens_in)


def test_a_model_that_is_not_there_is_refused_before_the_first_item(flow_of):
    with pytest.raises(PflowError, match="no-such"):
        estimate(flow_of("llm Hello -m no-such"), [(0, "x")], 1, ItemPolicy())
