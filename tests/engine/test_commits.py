"""Runs that are killed and resumed, through the installed program. `make kills` does it at every point, and longer."""

import random

import pytest

from tests.kills import outside
from tests.kills.run import FLOWS, kill_at_random, kill_everywhere, nights
from tests.peers.github import GitHub

NAMES = [f"{flow}-{kind}" for flow in FLOWS for kind in ("twice", "once")]


@pytest.mark.parametrize("flow", NAMES)
def test_a_run_that_is_killed_at_a_commit_point_ends_as_if_it_was_not(tmp_path, flow):
    assert list(kill_everywhere(tmp_path, flow, first=random.Random(flow).randrange(5, 14), by=15)) == []


@pytest.mark.parametrize("flow", ["batch-twice", "subflow-once"])
def test_a_run_that_is_killed_at_any_time_ends_as_if_it_was_not(tmp_path, flow):
    seed = random.randrange(1_000_000)
    assert list(kill_at_random(tmp_path, flow, 4, seed)) == [], f"seed {seed}"


def test_a_cron_line_that_is_killed_each_night_does_every_item(tmp_path):
    seed = random.randrange(1_000_000)
    assert list(nights(tmp_path, "batch-twice", 4, seed)) == [], f"seed {seed}"


def test_a_run_that_is_killed_outside_of_pflow_commits_and_comments_once(tmp_path):
    seed = random.randrange(1_000_000)
    dice = random.Random(seed)
    with GitHub() as github:
        scene = outside.Outside(tmp_path, github)
        wrong = [*outside.kill_inside(scene, dice.sample(outside.INSIDE, 4))]
        wrong += outside.kill_at_commit_points(scene, first=dice.randrange(8, 14), by=9)
    assert wrong == [], f"seed {seed}"
