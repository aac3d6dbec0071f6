"""A stand-in for seed 000's Store, which it only names: a file with the summaries."""

import json
from pathlib import Path

from pocketflow import Node


class Store(Node):
    """Keep the summaries in a file.

    Interface:
    - Reads: shared["summaries"]: dict  # the texts by name
    - Effects: writes files
    """

    def post(self, shared, prepared, result):
        Path("stored.json").write_text(json.dumps(shared["summaries"]))
