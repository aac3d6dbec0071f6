"""A stand-in for clean-data, which seed 003 names."""

from pflow import Node


class CleanData(Node):
    """Leave bad rows out.

    Interface:
    - Reads: shared["rows"]: list [pipe]  # all rows
    - Writes: shared["clean_rows"]: list [pipe]  # the good ones
    - Params: strict: bool = false  # one empty cell makes a row bad, not only all of them
    """

    def post(self, shared, rows, result):
        is_good = all if self.params["strict"] else any
        shared["clean_rows"] = [row for row in shared["rows"] if is_good(row.values())]
