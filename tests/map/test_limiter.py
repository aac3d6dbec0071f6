"""The limiter of a map against a simulated provider, in simulated time."""

import heapq
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.driver.budget import Budget
from pflow.map.limiter import Limiter

SPENT = {"model": "m", "tokens": {"in": 1, "out": 1}}


class Provider:
    """A bucket of `burst` calls that fills at `rate` a second, or `most` calls at once; and workers that ask it.

    So many calls as `flaky` says are refused by chance, with a `pause` to wait.
    """

    flaky, pause = 0.0, None

    def __init__(self, *, rate=0.0, burst=1.0, most=0, latency=0.05, hint=True, seed=0, exit=None, cost=None):
        self.rate, self.bucket, self.burst, self.most, self.latency = rate, burst, burst, most, latency
        self.hint, self.exit, self.cost, self.random = hint, exit, cost, random.Random(seed)
        self.now = self.filled = self.live = self.peak = self.asked = self.refused = self.done = self.failed = 0
        self.spent = 0.0
        self.events = []

    def run(self, items, **options):
        question = {"model": "m", "size": 40, "owner": (), "most": options.pop("most", {})}
        self.limiter = Limiter(Budget(options.pop("limits", {})), clock=lambda: self.now, **options)
        left = items
        while True:
            inside = items - left - self.done - self.failed
            while left and not self.limiter.stopped and inside < self.limiter.items():
                left, inside = left - 1, inside + 1
                self.limiter.begin(question, self.begun)
            wait = self.limiter.begin_due()
            inside = items - left - self.done - self.failed
            if not inside:
                return self
            soonest = self.events[0][0] if self.events else float("inf")
            if wait is not None and self.now + wait < soonest:
                self.now += wait
                continue
            self.now, _, about = heapq.heappop(self.events)
            self.live -= not about["is_cut"]
            if self.limiter.end(about):
                self.limiter.begin(question, self.begun)
            else:
                self.done, self.failed = self.done + (not about["is_cut"]), self.failed + about["is_cut"]

    def begun(self, ticket):
        if not isinstance(ticket, int):
            self.failed += 1
            return
        self.asked += 1
        self.bucket = min(self.bucket + (self.now - self.filled) * self.rate, self.burst) if self.rate else 1
        self.filled = self.now
        about = {"ticket": ticket, "spent": {}, "is_cut": True, "message": "no", "hint": "", "exit": self.exit}
        is_unlucky = self.flaky and self.random.random() < self.flaky
        if self.exit is None and (is_unlucky or self.bucket < 1 or 0 < self.most <= self.live):
            self.refused += 1
            wait = (1 - self.bucket) / self.rate if self.rate and self.hint else self.pause
            self.end_after(0.003, {**about, "exit": 75, "refusal": "429 from m", "retry_after": wait})
        elif self.exit is not None:
            self.end_after(0.003, about)
        else:
            self.bucket, self.live = self.bucket - 1, self.live + 1
            self.peak = max(self.peak, self.live)
            cost = self.cost(self.random) if self.cost else 0
            self.spent += cost
            self.end_after(self.latency, {**about, "is_cut": False, "spent": {**SPENT, "cost": cost}})

    def end_after(self, seconds, about):
        seconds *= 0.5 + self.random.random()
        heapq.heappush(self.events, (self.now + seconds, about["ticket"], about))


@pytest.mark.parametrize("hint", [True, False])
@pytest.mark.parametrize(("latency", "jobs"), [(0.02, None), (0.5, None), (0.5, 16)])
def test_a_provider_of_600_a_minute_is_used_and_refuses_little(latency, jobs, hint):
    provider = Provider(rate=10, burst=10, latency=latency, hint=hint).run(2000, jobs=jobs)
    assert provider.done == 2000
    assert 2000 / provider.now >= 9.5
    assert provider.refused / provider.asked <= 0.02


@pytest.mark.parametrize("rate", [0.01, 0.1, 1])
@pytest.mark.parametrize("hint", [True, False])
def test_a_slow_provider_is_not_taken_for_a_flaky_one(rate, hint):
    provider = Provider(rate=rate, hint=hint).run(60)
    assert (provider.done, provider.refused / provider.asked <= 0.2) == (60, True)


@pytest.mark.parametrize("flaky", [0.02, 0.05, 2 / 7])
@pytest.mark.parametrize("pause", [1, None])
def test_refusals_by_chance_do_not_drive_the_rate_to_nothing(flaky, pause):
    provider = Provider()
    provider.flaky, provider.pause = flaky, pause
    provider.run(3000)
    assert provider.done == 3000
    assert provider.done / provider.now >= 0.9


def test_jobs_that_a_person_names_are_in_flight_within_seconds():
    provider = Provider(latency=10).run(3000, jobs=1000)
    assert (provider.peak, provider.done) == (1000, 3000)
    assert provider.now < 45


def test_a_limit_of_calls_at_once_is_found_and_kept():
    provider = Provider(most=64, latency=1).run(4000)
    assert provider.done == 4000
    assert provider.refused / provider.asked < 0.02
    assert provider.peak == 64


def test_calls_and_tokens_a_minute_are_spread_evenly():
    assert Provider(latency=0.1).run(300, rpm=300).now == pytest.approx(60, rel=0.03)
    assert Provider(latency=0.1).run(300, tpm=600).now == pytest.approx(60, rel=0.25)  # 2 tokens each, 10 were expected


@settings(max_examples=40)
@given(st.integers(0, 1000), st.floats(0.1, 30), st.sampled_from([1, 8, 64]))
def test_money_is_never_overspent_and_less_than_a_call_is_left(seed, limit, jobs):
    provider = Provider(seed=seed, latency=1, cost=lambda rnd: min(rnd.expovariate(20), 0.2))
    provider.run(4000, limits={"cost": limit}, jobs=jobs, most={"cost": 0.2})
    assert limit - 0.2 < provider.spent <= limit
    assert provider.limiter.stopped.exit == 79
    assert provider.limiter.budget.used["cost"] == pytest.approx(provider.spent)


def test_calls_that_are_limited_are_counted_and_refused_ones_are_not():
    provider = Provider(rate=10, burst=5, latency=0.1).run(200, limits={"calls": 50})
    assert (provider.done, provider.limiter.budget.used["calls"], provider.limiter.stopped.exit) == (50, 50, 79)
    assert provider.asked == 50 + provider.refused


@pytest.mark.parametrize("exit", [77, 78, 69])
def test_three_failures_that_no_other_item_can_avoid_stop_the_map(exit):
    provider = Provider(exit=exit).run(1000)
    assert (provider.limiter.stopped.exit, provider.limiter.stopped.message) == (exit, "no")
    assert provider.asked <= 16


def test_nothing_but_refusals_for_ten_minutes_stop_the_map():
    provider = Provider(rate=1e-6, burst=0.5, hint=False).run(100)
    assert (provider.limiter.stopped.exit, provider.done) == (75, 0)
    assert "429 from m" in provider.limiter.stopped.message
    assert 600 <= provider.now < 800


def test_the_calls_of_a_process_that_is_gone_count_no_more():
    clock, begun = [0], []
    limiter = Limiter(Budget({}), jobs=1, clock=lambda: clock[-1])
    for owner in ([1], [3, 1], [1, 4], [2]):
        limiter.begin({"model": "m", "owner": owner}, begun.append)
    assert begun == [1]
    limiter.lost(1)
    clock.append(1)
    limiter.begin_due()
    assert (begun, limiter.has_waiting()) == ([1, 2], False)
