"""The budget of a run: calls, tokens and dollars, counted in the driver, however many processes ask models."""

import json
from contextlib import suppress
from types import SimpleNamespace

import pocketflow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.driver.budget import Budget, limited_calls, read_budget
from pflow.engine.context import Context
from pflow.engine.engine import Engine
from pflow.errors import PflowError
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.wiring import wire
from pflow.nodes.llm import Llm
from tests.engine.flows import plan_of, run, write_flow
from tests.peers.openai_server import REPLY

PRICES = (
    '"silent" = { input = 1, output = 1 }\n"misbilled" = { input = 1, output = 1 }\n'
    '"misused" = { input = 1, output = 1 }\n'
    '"reply" = { input = 100, output = 0.0 }\n"priced" = { input = 1, output = 1.0 }\n'
)


@pytest.fixture
def limited(server, tmp_path, monkeypatch):
    """Runs a flow on the server's models under limits."""
    from pflow.models import choose

    choose.warm()  # or each process would do it
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "pflow").mkdir(parents=True)
    (tmp_path / "config" / "pflow" / "prices.toml").write_text(PRICES)

    def start(ir, limits, store=None, events=(), **options):
        lines = []
        log = SimpleNamespace(write_line=lines.append, directory="/r/01JD", journal=True)
        ran = run(ir, store, str(tmp_path), calls=limited_calls(limits, log, events), **options)
        ran.noted = [*map(json.loads, lines)]
        ran.used, *_ = read_budget(ran.noted)
        return ran

    return start


def llm(id, model="reply", **more):
    return {"id": id, "type": "llm", "params": {"model": model}, "inputs": {"prompt": "Name three trees"}, **more}


def flow(*steps, edges=None, **more):
    return {"pflow": 1, "nodes": list(steps), **({"edges": edges} if edges else {}), **more}


ITEMS = {"items": [str(number) for number in range(40)]}
BATCH = {"over": "items", "as": "prompt", "jobs": 8}


@pytest.mark.parametrize("how", [{"on_error": "keep"}, {"jobs": 1}])
def test_many_at_once_make_as_many_calls_as_there_may_be_and_what_runs_ends(limited, server, how):
    ran = limited(flow({**llm("b", "echo"), "inputs": {}, "batch": {**BATCH, **how}}), {"calls": 10}, ITEMS)
    assert (ran.error.exit, ran.error.message) == (79, "cannot ask 'echo': the run has used 10 of 10 calls")
    assert len(server.requests("echo")) == 10
    assert [event.get("exit") for event in ran.events if event["event"] == "item"] == [None] * 10
    assert ran.ends("exit", "items") == [(79, {"done": 10, "failed": 0})]


def test_no_error_edge_takes_it_in_a_flow_a_branch_or_a_subflow(limited, server, tmp_path):
    inner = write_flow(tmp_path, "inner", flow(llm("ask"), outputs={"r": "ask.response"}))
    caught = [{"from": "x", "to": "y", "action": "error"}]
    for step in (llm("x"), {"id": "x", "type": inner}, llm("x", retries=3, wait=0)):
        ran = limited(flow(llm("a"), step, llm("y"), edges=[{"from": "a", "to": "x"}, *caught]), {"calls": 1})
        assert (ran.error.exit, ran.error.step.partition("/")[0], ran.ends("step")[-1]) == (79, "x", "x")
    fork = [{"from": "a", "to": "x"}, {"from": "a", "to": "z"}, *caught]
    ran = limited(flow(llm("a"), llm("x"), llm("z"), llm("y"), edges=fork), {"calls": 1})
    assert (ran.error.exit, sorted(ran.ends("step", "exit"))) == (79, [("a", None), ("x", 79), ("z", 79)])
    assert len(server.requests()) == 4


def test_each_try_is_a_call_a_failed_one_too(limited, server):
    ran = limited(flow(llm("a", "rate-limited", retries=9, wait=0)), {"calls": 3})
    assert (ran.error.exit, len(server.requests()), ran.used["calls"]) == (79, 3, 3)


@pytest.mark.parametrize(
    ("limits", "words", "calls", "isolate"),
    [
        ({"tokens": 4099}, "a call may take 4,100 tokens, and the run has 4,099 of 4,099 tokens left", 0, True),
        ({"tokens": 4119}, "a call may take 4,100 tokens, and the run has 4,099 of 4,119 tokens left", 2, True),
        ({"cost": 0.0001}, "a call may take $0.0004, and the run has $0.0001 of $0.0001 left", 0, False),
        ({"cost": 0.001}, "a call may take $0.0006, and the run has $0.0004 of $0.001 left", 1, False),
        ({"cost": 0.0012}, "the run has spent $0.0012 of $0.0012", 2, False),
        ({"cost": 0.002, "calls": 1}, "the run has used 1 of 1 calls", 1, False),
    ],
)
def test_what_a_call_may_take_ends_a_run_before_it(limited, server, limits, words, calls, isolate):
    ran = limited(flow(llm("a"), llm("b"), llm("c"), llm("d")), limits, isolate=isolate)
    assert (ran.error.message, ran.error.exit) == (f"cannot ask 'reply': {words}", 79)
    assert (len(server.requests()), ran.used["calls"]) == (calls, calls)


def test_what_a_provider_bills_counts_and_a_model_without_a_price_is_not_asked(limited, server):
    ran = limited(flow(llm("a", "priced"), llm("b", "priced"), llm("c", "priced")), {"cost": 0.5})
    assert (ran.error.message, ran.used["cost"]) == ("cannot ask 'priced': the run has spent $0.50 of $0.50", 0.5)
    here = f"http://127.0.0.1:{server.port}/v1#"
    for model in ("priced", "priced-in-parts", "priced-by-two", "proxied"):  # a proxy here stands for a provider
        ran = limited(flow(*(llm(id, here + model) for id in "abc")), {"cost": 0.5})
        assert (ran.error.exit, ran.used["cost"], ran.used["calls"]) == (79, 0.5, 2)
    ran = limited(flow(llm("a", "echo")), {"cost": 0.5})
    assert (ran.error.exit, ran.error.message) == (78, "cannot ask 'echo' under --max-cost: its price is not known")
    assert "prices.toml" in ran.error.hint
    assert len(server.requests()) == 10
    assert limited(flow(llm("a", "echo")), {"calls": 5}).store["response"] == "Name three trees"


def test_an_answer_without_a_text_counts_as_its_provider_said(limited, server):
    ran = limited(flow(llm("a", "filtered")), {"tokens": 10**6})
    assert (ran.error.exit, ran.used["calls"], ran.used["tokens"]) == (1, 1, 6)
    assert [event["tokens"] for event in ran.events if event["event"] == "end"] == [{"in": 6, "out": 0}]


@pytest.mark.parametrize("model", ["silent", "misbilled", "misused"])
def test_a_model_whose_answer_does_not_say_what_it_took_ends_a_run_that_money_limits(limited, server, model):
    batch = {"over": "items", "as": "prompt", "on_error": "keep"}
    ran = limited(flow({**llm("a", model), "inputs": {}, "batch": batch}), {"cost": 0.5}, ITEMS)
    assert (ran.error.exit, len(server.requests())) == (78, 1)
    assert ran.error.message == f"cannot hold '{model}' to --max-cost: its answer does not say how many tokens it took"


def test_a_run_goes_on_with_what_its_earlier_parts_used(limited, server):
    first = limited(flow(llm("a"), llm("b"), llm("c")), {"calls": 2, "tokens": 10**6})
    assert first.error.hint == "pflow resume 01JD --max-calls=… goes on"
    again = limited(flow(llm("a"), llm("b")), {"calls": 3}, events=first.noted)
    assert (again.error.message, again.store["response"]) == (
        "cannot ask 'reply': the run has used 3 of 3 calls",
        REPLY,
    )
    assert again.noted[-1]["limits"] == {"calls": 3, "tokens": 10**6}
    assert limited(flow(llm("a")), {}, events=again.noted).error.exit == 79
    assert limited(flow(llm("a")), {"calls": 4}, events=again.noted).used["calls"] == 4
    assert [event["used"]["calls"] for event in first.noted] == [0, 1, 1, 2, 2]  # each is there before it begins


def test_what_earlier_parts_used_and_their_limits_are_in_the_log():
    asked = {"event": "end", "model": "m", "tokens": {"in": 3, "out": 4}, "cost": 0.5}
    counted = {"event": "budget", "used": {"calls": 9, "tokens": 20, "cost": 1}, "limits": {"calls": 10}}
    events = [{"event": "run"}, asked, {"event": "item", "model": "m", "tokens": {"in": 1}}, {**asked, "items": {}}]
    assert read_budget(events) == ({"calls": 2, "tokens": 8, "cost": 0.5}, {}, {})
    events += [{"event": "resume"}, counted, asked]
    assert read_budget(events) == ({"calls": 9, "tokens": 20, "cost": 1}, {"calls": 10}, {})
    assert read_budget([*events, {"event": "resume"}, asked])[0] == {"calls": 10, "tokens": 27, "cost": 1.5}
    assert read_budget([]) == ({"calls": 0, "tokens": 0, "cost": 0}, {}, {})


def test_a_step_that_asks_many_times_is_held_to_the_budget_between_two_of_them(limited, server):
    text = "\n\n".join(f"Paragraph {number} has a few words of its own." for number in range(40))
    step = {"id": "s", "type": "summarise-text", "params": {"model": "reply", "chunk": 200}, "inputs": {"text": text}}
    ran = limited(flow(step), {"tokens": 4300})
    assert ran.error.exit == 79
    calls = len(server.requests("reply"))
    assert 0 < calls < 9
    assert (ran.used["calls"], ran.used["tokens"] <= 4300) == (calls, True)
    whole = limited(flow(step), {"tokens": 100_000})
    assert whole.used["calls"] == len(server.requests("reply")) - calls
    assert whole.used["tokens"] == sum(whole.store["usage"][side] for side in ("input", "output"))


def test_a_run_without_a_log_and_a_flow_that_is_one_step_are_held_to_the_budget(limited, server):
    class Asks(pocketflow.Flow):
        """More than a walk.

        Interface:
        - Reads: shared["prompt"]: str  # the question
        - Writes: shared["response"]: any  # the answer
        - Writes: shared["usage"]: dict  # its tokens
        """

        def post(self, shared, prepared, result):
            shared["response"] = shared["response"].upper()

    step = Asks(start=Llm())
    step.set_params({"model": "reply"})
    root = pocketflow.Flow(start=step)
    for flow_ in (plan_of(flow(llm("a"), llm("b"))), wire(flow_from(root, is_run_here=True))):
        account = Budget({"calls": 1})
        engine = Engine(flow_, Context(calls=account.calls()))
        with suppress(PflowError):
            engine.run({"prompt": "Name a tree"})
        with pytest.raises(PflowError, match="the run has used 1 of 1 calls"):
            engine.run({"prompt": "Name a tree"})
        assert account.used["calls"] == 1


TOLD = [("model", "cost"), ("model",), ()]
"""What the end of a call tells; nothing if it failed: then the model has not answered yet."""


@given(
    limit=st.floats(0, 10),
    calls=st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(0, 4), st.floats(0, 2), st.integers(0, 5), st.sampled_from(TOLD))
    ),
)
def test_no_call_begins_that_with_all_that_is_used_and_held_may_pass_the_limit(limit, calls):
    """A call has a model, what it holds, its share of that, how many others are in flight, and what it tells."""
    account, seen, in_flight, over = Budget({"cost": limit}), {}, [], 0.0
    for model, most, share, others, told in calls:
        while len(in_flight) > others:
            ticket, other, hold, spent = in_flight.pop(0)
            account.end({"ticket": ticket, "spent": spent})
            cost = spent.get("cost", 0)
            seen |= {other: max(seen.get(other, 0), cost)} if spent else {}
            over += max(cost - hold, 0)
        hold = max(most, seen.get(model, 0))
        is_first = model not in seen and any(model == other for _, other, _, _ in in_flight)
        passes = account.used["cost"] + hold - limit
        try:
            ticket = account.begin({"model": model, "most": {"cost": most}})
        except PflowError as refused:
            ticket = refused.exit
        assert ticket is None or not is_first
        assert is_first or passes >= -1e-9 if ticket == (None if in_flight else 79) else passes <= 1e-9
        if ticket and (in_flight or ticket != 79):
            spent = {"model": model, "cost": round(hold * share, 12)}
            in_flight.append((ticket, model, hold, {name: spent[name] for name in told}))
    assert account.used["cost"] <= limit + over + 1e-9
