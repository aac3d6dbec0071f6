"""A stand-in for analyze, which seed 003 names."""

from pflow import Node


class Analyze(Node):
    """Say what is in a table.

    Interface:
    - Reads: shared["table"]: list [pipe]  # its rows
    - Writes: shared["results"]: dict [pipe]  # what is in it
    - Params: method: brief|detailed = "brief"  # how much to say
    """

    def post(self, shared, prepared, result):
        table = shared["table"]
        more = {"names": [row["name"] for row in table]} if self.params["method"] == "detailed" else {}
        shared["results"] = {"rows": len(table), **more}
