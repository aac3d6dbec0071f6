"""Nodes' interfaces: the grammar of docstrings, inference from code, and the flags that all nodes share."""
