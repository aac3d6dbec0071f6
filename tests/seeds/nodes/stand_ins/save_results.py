"""A stand-in for save-results, which seed 003 names."""

import json

from pflow import Node


class SaveResults(Node):
    """Save results in results.json or results.txt.

    Interface:
    - Reads: shared["results"]: dict [pipe]  # what to save
    - Params: format: txt|json = "txt"  # as what
    - Effects: writes files
    """

    def post(self, shared, prepared, result):
        results = shared["results"]
        lines = "".join(f"{name}: {value}\n" for name, value in results.items())
        with open(f"results.{self.params['format']}", "w") as file:
            file.write(json.dumps(results) if self.params["format"] == "json" else lines)
