"""A stand-in for load-csv, which seed 003 names."""

import csv

from pflow import Node


class LoadCsv(Node):
    """Read a table.

    Interface:
    - Reads: shared["file"]: path [explicit]  # the file to read
    - Writes: shared["rows"]: list [pipe]  # its rows
    - Effects: reads files
    """

    def post(self, shared, prepared, result):
        with open(shared["file"], newline="") as file:
            shared["rows"] = list(csv.DictReader(file))
