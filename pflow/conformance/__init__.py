"""`pflow test-node`: run a node in any language as its users do, and check it against pflow-node(7)."""
