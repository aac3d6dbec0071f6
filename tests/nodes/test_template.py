"""template: its text comes filled."""

import pytest

from pflow.nodes.template import Template
from tests.nodes.values import run


@pytest.mark.parametrize(
    ("value", "params", "result"),
    [
        ("Dear $name", {}, "Dear $name"),  # filling is the work of who runs the node
    ],
)
def test_a_value_becomes(value, params, result):
    assert run(Template, value, **params) == result
