"""A hundred points of `make faults`: each family, and each kind of fault in it."""

import pytest

from tests.faults.points import hold
from tests.faults.run import find_families, share_out

SEED, COUNT = 28, 100
FAMILIES = find_families()
POINTS = [*share_out(FAMILIES, COUNT, SEED)]


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.id)
def test_nothing_is_lost_at(point, shared):
    assert hold(point, shared / point.id.replace("/", "-")) == ""


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.skipped], ids=lambda family: family.name)
def test_a_family_is_skipped_where_the_machine_has_no(family):
    pytest.skip(family.skipped)
