"""A stand-in for custom-analysis, which seed 003 names."""

from pflow import Node


class CustomAnalysis(Node):
    """Say what is in a table.

    Interface:
    - Reads: shared["rows"]: list [pipe]  # its rows
    - Writes: shared["figures"]: dict [pipe]  # what is in it
    """

    def post(self, shared, prepared, result):
        shared["figures"] = {"rows": len(shared["rows"])}
