"""Every test here has the nodes of tests/engine/nodes.py."""

from tests.engine.nodes import nodes as nodes
