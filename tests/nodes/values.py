"""A node's run on the value of its first read, and what it writes."""

import pytest

from pflow.errors import PflowError


def run(node_class, value, **params):
    """What a node writes that gets a value for its first read; params that are called as reads stand in for them."""
    node, interface = node_class(), node_class.__doc__
    node.set_params(params)
    shared = {interface.partition('shared["')[2].partition('"')[0]: value}
    before = set(shared)
    node.run(shared)
    (written,) = set(shared) - before
    return shared[written]


def refuse(node_class, value, params, exit, words):
    with pytest.raises(PflowError) as caught:
        run(node_class, value, **params)
    assert caught.value.exit == exit
    assert words in f"{caught.value.message}; {caught.value.hint}"
