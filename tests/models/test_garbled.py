"""An answer that is not what the protocol says is garbled, and none is lost for what stands beside or behind it."""

import pytest

from tests.faults.families.models import points
from tests.faults.points import hold

NAMES = (
    "value-null-body",
    "value-text",
    "choices-0-body",
    "text-int",
    "no-utf8",
    "gzip-body",
    "number-reason",
    "bom",
    "usage-0-body",
    "stalls-at-end",
    "models/map/drips",
)
POINTS = [point for point in points(10_000, 0) if point.id.removeprefix("models/stage/") in NAMES]


@pytest.mark.parametrize("point", [pytest.param(point, id=point.id) for point in POINTS])
def test_a_stage_ends_as_it_should(point, tmp_path):
    assert hold(point, tmp_path / "point") == ""
