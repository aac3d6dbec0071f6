"""A node of seed 000's form: its params name its keys."""

from pocketflow import Node


class Keyed(Node):
    """Write in capitals."""

    def prep(self, shared):
        return shared[self.params["input_key"]]

    def exec(self, text):
        return text.upper()

    def post(self, shared, text, upper):
        shared[self.params["output_key"]] = upper
