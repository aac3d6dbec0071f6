"""The rows of a map, and the line behind them that says how the map failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.stage.layout import split_rows

FAILED = b'{"$pflow":{"v":1,"failed":2}}'
ERROR = b'{"$pflow":{"v":1,"error":{"step":"a","exit":5}}}'
ROWS = st.lists(st.sampled_from([b'{"a":1}\n', b"x\n", b"\n", b"row\0", b"$\n", b'{"$pflow":\n']), max_size=5)


@given(ROWS, ROWS, st.booleans())
def test_a_mark_is_taken_off_and_the_rows_stay(before, after, ends):
    rows = b"".join(before), b"".join(after)
    mark = FAILED + b"\n" * (ends or bool(after))
    assert split_rows(rows[0] + mark + rows[1]) == (rows[0] + rows[1], {"v": 1, "failed": 2})
    assert split_rows(rows[0] + rows[1]) == (rows[0] + rows[1], {})


def test_the_marks_of_several_maps_are_one():
    data = b"1\n" + FAILED + b"\n2\n" + ERROR + b"\n"
    assert split_rows(data) == (b"1\n2\n", {"v": 1, "failed": 2, "error": {"step": "a", "exit": 5}})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x " + FAILED + b"\n",
        FAILED + b" x\n",
        b'{"$pflow":{"v":1}}\n',
        b'{"$pflow":{"v":1,"failed":2},\n"a":1\n}\n',
        b'{"$pflow":{"v":1,"failed":2},"a":1}\n',
        FAILED[:-1] + b"\n",
        FAILED[:-2],
    ],
)
def test_what_resembles_a_mark_is_a_row(data):
    assert split_rows(data) == (data, {})


def test_a_mark_of_another_version_is_refused():
    with pytest.raises(PflowError, match="version"):
        split_rows(FAILED.replace(b'"v":1', b'"v":99'))
