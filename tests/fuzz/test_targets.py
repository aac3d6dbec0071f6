"""Each target of `make fuzz` with a few examples, so that none rots."""

import pytest

from tests.fuzz.run import play
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_examples_of_a_target_pass_and_leave_no_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert play(name, 1, examples=25) >= 25
    assert [*tmp_path.iterdir()] == []
