"""A hundred points of `make faults`: each family, and each kind of fault in it."""

import pytest

from tests.faults.points import hold
from tests.faults.run import find_families, share_out
from tests.peers.warm import load_pflow

SEED, COUNT = 28, 100
FAMILIES = find_families()
POINTS = [pytest.param(point, id=point.id) for point in share_out(FAMILIES, COUNT, SEED)]
POINTS += [
    pytest.param(None, id=family.name, marks=pytest.mark.skip(reason=family.skipped))
    for family in FAMILIES
    if family.skipped
]


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    load_pflow()  # once, before the forks
    return tmp_path_factory.mktemp("faults")


@pytest.mark.parametrize("point", POINTS)
def test_nothing_is_lost_at(point, shared):
    assert hold(point, shared / point.id.replace("/", "-")) == ""
